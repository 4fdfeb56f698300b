#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "engine/plan_choices.h"
#include "support/temp_dir.h"

namespace stoker::test {
namespace {

using Choice = PlanChoices::Choice;

std::filesystem::path only_file(const TempDir& folder) {
  return std::filesystem::directory_iterator(folder.path())->path();
}

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

size_t lines_of(const std::filesystem::path& path) {
  std::string text = contents(path);
  return size_t(std::count(text.begin(), text.end(), '\n'));
}

TEST(PlanChoices, AreKeptForTheNextProcess) {
  TempDir folder;
  PlanChoices(folder.path(), "gpu 1").add("conv 3x3", {"2 engine 34"});
  PlanChoices later(folder.path(), "gpu 1");
  EXPECT_EQ(later.find("conv 3x3"), Choice{"2 engine 34"});
  EXPECT_EQ(later.find("conv 5x5"), std::nullopt);
}

TEST(PlanChoices, OfOtherDevicesAndVersionsDoNotCount) {
  TempDir folder;
  PlanChoices(folder.path(), "gpu 1, cuDNN 9.1").add("conv", {"2"});
  EXPECT_EQ(PlanChoices(folder.path(), "gpu 1, cuDNN 9.2").find("conv"), std::nullopt);
}

TEST(PlanChoices, RememberHowManyCandidatesWereTried) {
  TempDir folder;
  PlanChoices first(folder.path(), "gpu");
  first.add("conv", {"0 engine 1", 3});
  EXPECT_EQ(PlanChoices(folder.path(), "gpu").find("conv"), (Choice{"0 engine 1", 3}));
  first.add("conv", {"5 engine 2"});
  EXPECT_EQ(PlanChoices(folder.path(), "gpu").find("conv"), Choice{"5 engine 2"});
}

TEST(PlanChoices, WithoutAFolderLiveInTheProcess) {
  PlanChoices choices("", "gpu");
  choices.add("conv", {"1"});
  EXPECT_EQ(choices.find("conv"), Choice{"1"});
}

TEST(PlanChoices, InAFolderThatCannotBeMadeLiveInTheProcess) {
  TempDir folder;
  std::ofstream(folder.path() / "file") << "no folder";
  PlanChoices choices((folder.path() / "file").string(), "gpu");
  choices.add("conv", {"1"});
  EXPECT_EQ(choices.find("conv"), Choice{"1"});
}

TEST(PlanChoices, OfDamagedLinesAreMadeAnew) {
  TempDir folder;
  PlanChoices written(folder.path(), "gpu");
  written.add("first", {"1 engine 10"});
  written.add("second", {"2 engine 20"});
  written.add("third", {"3 engine 30"});
  std::filesystem::path path = only_file(folder);
  std::string text = contents(path);
  text.replace(text.find("engine 20"), 9, "engine 21");
  text.resize(text.size() - 4);  // a process was killed while it wrote
  std::ofstream(path) << text << "\nno line of ours\n\t\t\t\n" << std::string(1000, '\xff');
  PlanChoices read(folder.path(), "gpu");
  EXPECT_EQ(read.find("first"), Choice{"1 engine 10"});
  EXPECT_EQ(read.find("second"), std::nullopt);
  EXPECT_EQ(read.find("third"), std::nullopt);
  read.add("second", {"4"});
}

TEST(PlanChoices, OfADamagedFileAreWrittenAgain) {
  TempDir folder;
  PlanChoices(folder.path(), "gpu").add("conv", {"1"});
  std::filesystem::path path = only_file(folder);
  std::ofstream file(path, std::ios::app);
  for (int i = 0; i < 1000; ++i) file << "damage\n";
  file.close();
  EXPECT_EQ(PlanChoices(folder.path(), "gpu").find("conv"), Choice{"1"});
  EXPECT_EQ(lines_of(path), 1U);
}

TEST(PlanChoices, KeepTheLatestOfTooMany) {
  TempDir folder;
  {
    PlanChoices choices(folder.path(), "gpu");
    for (size_t i = 0; i < PlanChoices::kMost + 50; ++i)
      choices.add("conv " + std::to_string(i), {"1"});
  }
  PlanChoices read(folder.path(), "gpu");
  EXPECT_EQ(read.find("conv 49"), std::nullopt);
  EXPECT_EQ(read.find("conv 50"), Choice{"1"});
  EXPECT_EQ(lines_of(only_file(folder)), PlanChoices::kMost);
}

TEST(PlanChoices, OfProcessesThatWriteAtOnceAreAllKept) {
  TempDir folder;
  auto write = [&](const std::string& name) {
    PlanChoices choices(folder.path(), "gpu");
    for (int i = 0; i < 500; ++i) choices.add(name + std::to_string(i), {std::string(100, 'p')});
  };
  std::thread other([&] { write("a"); });
  write("b");
  other.join();
  PlanChoices read(folder.path(), "gpu");
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(read.find("a" + std::to_string(i)));
    ASSERT_TRUE(read.find("b" + std::to_string(i)));
  }
}

TEST(PlanChoices, OfARunGoBeforeTheFileAndAreFinal) {
  TempDir folder;
  PlanChoices choices(folder.path(), "gpu");
  choices.add("conv", {"7 of this machine", 2});
  choices.prefer({{"conv", "3 of the run"}, {"other", "1 of the run"}});
  EXPECT_EQ(choices.find("conv"), Choice{"3 of the run"});
  EXPECT_EQ(choices.find("other"), Choice{"1 of the run"});
  EXPECT_EQ(choices.used(),
            (PlanChoices::Map{{"conv", "3 of the run"}, {"other", "1 of the run"}}));
  EXPECT_EQ(PlanChoices(folder.path(), "gpu").find("conv"), (Choice{"7 of this machine", 2}));
}

}  // namespace
}  // namespace stoker::test
