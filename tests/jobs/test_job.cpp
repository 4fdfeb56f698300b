#include "jobs/job.h"

#include <gtest/gtest.h>
#include <stoker/error.h>
#include <nlohmann/json.hpp>

#include "support/temp_dir.h"

namespace stoker::jobs {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Job, IsReadFromJson) {
  Job job = parse_job_json(R"({
    "data": "idx:mnist",  // a comment is fine
    "model": "lenet", "epochs": 3, "batch": "auto", "learning_rate": 0.01,
    "image_size": "20x30", "seed": 18446744073709551615, "augment": true})");
  EXPECT_EQ(job.data, "idx:mnist");
  EXPECT_EQ(job.model, "lenet");
  EXPECT_EQ(job.epochs, 3);
  EXPECT_EQ(job.batch.size, 0);
  EXPECT_EQ(job.learning_rate, 0.01);
  EXPECT_EQ(job.image_size, (ImageSize{20, 30}));
  EXPECT_EQ(job.seed, UINT64_MAX);
  EXPECT_TRUE(job.augment);
}

TEST(Job, IsTheSameFromToml) {
  Job toml = parse_job_toml("data = 'photos'\nbatch = 64\nimage_size = 128\nweight_decay = 1e-4\n");
  Job json =
      parse_job_json(R"({"data": "photos", "batch": 64, "image_size": 128, "weight_decay": 1e-4})");
  EXPECT_EQ(toml, json);
}

TEST(Job, SurvivesBeingWritten) {
  Job job{.data = "photos", .image_size = ImageSize{32, 48}, .classes = 5, .augment = true};
  job.learning_rate = 0.25;
  job.batch = {0};
  EXPECT_EQ(parse_job_json(to_json(job).dump()), job);
}

TEST(Job, FieldsAreSetFromText) {
  Job job;
  set_field(job, "batch", "auto");
  set_field(job, "epochs", "7");
  set_field(job, "out", "2026");  // text, though it looks like a number
  set_field(job, "image_size", "64");
  EXPECT_EQ(job.batch.size, 0);
  EXPECT_EQ(job.epochs, 7);
  EXPECT_EQ(job.out, "2026");
  EXPECT_EQ(job.image_size, (ImageSize{64, 64}));
}

TEST(Job, AnUnknownKeyListsTheKnownOnes) {
  std::string text = error_of([] { parse_job_json(R"({"epoch": 3})"); });
  EXPECT_NE(text.find("unknown key \"epoch\"; there are data, "), std::string::npos) << text;
  EXPECT_NE(text.find("epochs"), std::string::npos) << text;
}

TEST(Job, AWrongValueNamesItsKey) {
  EXPECT_EQ(error_of([] { parse_job_json(R"({"epochs": "three"})"); }),
            "epochs: expected a whole number, got \"three\"");
  EXPECT_EQ(error_of([] { parse_job_json(R"({"batch": 0})"); }),
            "batch: expected a number from 1 on, or \"auto\", got 0");
  for (const char* text :
       {R"({"seed": -1})", R"({"seed": 1.5})", R"({"augment": 1})", R"({"image_size": "axb"})",
        R"({"image_size": "0x4"})", R"({"image_size": "64x64x3"})", R"({"image_size": 99999})",
        R"({"data": 7})", R"({"epochs": 9223372036854775808})", R"({"batch": 9999999999999999999})",
        R"([1, 2])", R"("text")", R"({"profile": "9-6"})", R"({"profile": "5-"})",
        R"({"profile": 0})", R"({"profile": true})"})
    EXPECT_THROW(parse_job_json(text), ValueError) << text;
  Job job;
  EXPECT_EQ(error_of([&] { set_field(job, "epochs", "many"); }),
            "epochs: expected a whole number, got \"many\"");
}

TEST(Job, ValuesAreChecked) {
  EXPECT_NO_THROW(check_job({}));
  EXPECT_THROW(check_job({.validation_split = 1}), ValueError);
  EXPECT_THROW(check_job({.classes = 1}), ValueError);
  EXPECT_THROW(check_job({.epochs = 0}), ValueError);
  EXPECT_THROW(check_job({.threads = -1}), ValueError);
  EXPECT_THROW(check_job(parse_job_json(R"({"profile": 5})")), ValueError) << "nowhere to write it";
}

TEST(Job, NestingIsBounded) {
  std::string dots = "a", lists(100'000, '[');
  for (int i = 0; i < 20'000; ++i) dots += ".a";
  EXPECT_EQ(error_of([&] { parse_job_json("{\"data\": " + lists); }), "nested more than 200 deep");
  for (const std::string& text :
       {dots + " = 1", "[" + dots + "]\nb = 1", "x = \"#\"\n" + dots + " = 1",
        "x = \"\"\"\n#\"\"\"\n" + dots + " = 1", "data = " + lists})
    EXPECT_THROW(parse_job_toml(text), Error) << text.substr(0, 20);
  std::string comment = "# ";
  for (int i = 0; i < 2'000; ++i) comment += "one. [two] ";
  EXPECT_EQ(parse_job_toml("  " + comment + "\nepochs = 3\n").epochs, 3);
  Job job;
  EXPECT_THROW(set_field(job, "epochs", lists + std::string(100'000, ']')), ValueError);
}

TEST(Job, ErrorsOfFilesBeginWithTheirPath) {
  test::TempDir folder;
  auto error = [](const std::string& path) { return error_of([&] { read_job(path); }); };
  std::string path = folder.write("a.json", "{\"epochs\": 3,}");
  EXPECT_TRUE(error(path).starts_with(path + ": not JSON: ")) << error(path);
  path = folder.write("b.toml", "epochs = 3\nbatch = = 4\n");
  EXPECT_TRUE(error(path).starts_with(path + ": not TOML: line 2, column 9: ")) << error(path);
  path = folder.write("c.toml", "[train]\nepochs = 3\n");
  EXPECT_TRUE(error(path).starts_with(path + ": unknown key \"train\"")) << error(path);
  path = folder.write("d.yaml", "");
  EXPECT_EQ(error(path), path + ": a job file ends in .json or .toml");
  EXPECT_TRUE(error(folder / "none.json").starts_with(folder / "none.json"));
}

}  // namespace
}  // namespace stoker::jobs
