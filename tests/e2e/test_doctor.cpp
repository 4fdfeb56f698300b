// `stoker doctor` and `stoker monitor` as people call them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support/program.h"
#include "support/tiny_data.h"

namespace stoker {
namespace {

using nlohmann::json;
using test::contains;
using test::Ended;
using test::run_stoker;
using test::TempDir;

TEST(Doctor, SaysWhatLimitsAJobAndWritesItsReports) {
  TempDir folder;
  test::write_idx_folder(folder, "digits");
  std::string out = folder / "report";
  Ended ended = run_stoker("doctor --data idx:" + folder / "digits" +
                           " --model mlp --batch 4 --steps 60 --json - --out " + out);
  ASSERT_EQ(ended.status, 0) << ended.err;
  json said = json::parse(ended.out);  // nothing but JSON
  std::string sentence = said["verdict"]["sentence"];
  EXPECT_FALSE(sentence.empty());
  EXPECT_TRUE(contains(ended.err, sentence)) << ended.err;
  EXPECT_TRUE(contains(ended.err, out + "/doctor.html")) << ended.err;
  double sum = 0;
  for (const json& share : said["shares"]) sum += share.get<double>();
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(json::parse(read_text(out + "/doctor.json")), said);
  EXPECT_TRUE(contains(read_text(out + "/doctor.html"), "<html"));
  EXPECT_FALSE(local_files().exists(out + "/model.stoker"));  // it only looks
}

TEST(Doctor, ChecksTheInstallation) {
  Ended ended = run_stoker("doctor --env --json -");
  json checks = json::parse(ended.out);
  bool good = true;
  std::string names;
  for (const json& check : checks) {
    good = good && check["good"].get<bool>();
    names += check["what"].get<std::string>() + ",";
    EXPECT_TRUE(contains(ended.err, check["found"].get<std::string>())) << ended.err;
    EXPECT_TRUE(check["good"].get<bool>() || !check["advice"].get<std::string>().empty()) << check;
  }
  EXPECT_EQ(ended.status, good ? 0 : 1);
  for (const char* what : {"NVIDIA driver", "GPU engine", "cores", "memory", "disk"})
    EXPECT_TRUE(contains(names, what)) << names;
}

TEST(Monitor, ShowsHowATrainingStands) {
  TempDir folder;
  std::string run = folder / "run";
  local_files().create_directories(run);
  Ended early = run_stoker("monitor --once " + run);
  EXPECT_EQ(early.status, 0) << early.err;
  EXPECT_TRUE(contains(early.out, "no fit has told of itself")) << early.out;

  test::write_idx_folder(folder, "digits");
  Ended trained = run_stoker("train --data idx:" + folder / "digits" +
                             " --model mlp --batch 2 --epochs 6 --out " + run);
  ASSERT_EQ(trained.status, 0) << trained.err;
  Ended ended = run_stoker("monitor --once " + run);
  ASSERT_EQ(ended.status, 0) << ended.err;
  for (const char* part : {"/6", "ms a step", "limit: ", "compute", "pipeline: "})
    EXPECT_TRUE(contains(ended.out, part)) << part << "\n" << ended.out;
  EXPECT_TRUE(local_files().exists(run + "/doctor.html"));

  write_file_atomically(run + "/status.json", "{}");
  Ended broken = run_stoker("monitor --once " + run);
  EXPECT_EQ(broken.status, 1);
  EXPECT_TRUE(contains(broken.err, "status.json: it is not the status of a fit")) << broken.err;
}

}  // namespace
}  // namespace stoker
