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

TEST(Doctor, JudgesTheEnvironment) {
  Ended ended = run_stoker("doctor --env --json -");
  json checks = json::parse(ended.out);
  bool wrong = false;
  std::string names;
  for (const json& check : checks) {
    wrong = wrong || check["result"] == "wrong";
    names += check["what"].get<std::string>() + ",";
    EXPECT_TRUE(contains(ended.err, check["found"].get<std::string>())) << ended.err;
    EXPECT_EQ(check["result"] == "ok", check["advice"].get<std::string>().empty()) << check;
  }
  EXPECT_EQ(ended.status, wrong ? 1 : 0);
  for (const char* what : {"GPU engine", "cores", "threads", "memory", "shared memory", "disk"})
    EXPECT_TRUE(contains(names, what)) << names;
}

TEST(Monitor, ShowsTheMachineWithoutARun) {
  Ended screen = run_stoker("monitor --once");
  ASSERT_EQ(screen.status, 0) << screen.err;
  for (const char* part : {"this machine", "GPU", "cores", "memory", "space"})
    EXPECT_TRUE(contains(screen.out, part)) << part << "\n" << screen.out;
  EXPECT_FALSE(contains(screen.out, "\x1b")) << "it is no terminal";
  Ended figures = run_stoker("monitor --once --json -");
  ASSERT_EQ(figures.status, 0) << figures.err;
  json machine = json::parse(figures.out);
  EXPECT_GT(machine["cores"].size(), 0U);
  EXPECT_FALSE(machine.contains("run"));
}

TEST(Monitor, ShowsHowATrainingStandsAndEndsWithIt) {
  TempDir folder;
  std::string run = folder / "run";
  local_files().create_directories(run);
  Ended early = run_stoker("monitor --once " + run);
  EXPECT_EQ(early.status, 0) << early.err;
  EXPECT_TRUE(contains(early.out, "no fit has begun here yet")) << early.out;

  test::write_idx_folder(folder, "digits");
  std::string train =
      "train --data idx:" + folder / "digits" + " --model mlp --batch 2 --out " + run;
  Ended trained = run_stoker(train + " --epochs 6");
  ASSERT_EQ(trained.status, 0) << trained.err;
  Ended ended = run_stoker("monitor --once " + run);
  ASSERT_EQ(ended.status, 0) << ended.err;
  for (const char* part : {"finished", "epoch 6/6", "loss ", "val_accuracy ", "ms per step",
                           "limit: ", "compute", "pipeline"})
    EXPECT_TRUE(contains(ended.out, part)) << part << "\n" << ended.out;
  EXPECT_TRUE(local_files().exists(run + "/doctor.html"));

  Ended watched = run_stoker("monitor " + run);  // would go on if the run did
  EXPECT_EQ(watched.status, 0) << watched.err;
  EXPECT_TRUE(contains(watched.out, "  finished  epoch 6/6")) << watched.out;
  Ended lines = run_stoker("monitor --json - " + run);
  EXPECT_EQ(lines.status, 0) << lines.err;
  EXPECT_EQ(json::parse(lines.out)["run"]["state"], "finished");

  write_file_atomically(run + "/status.json", "{}");
  Ended broken = run_stoker("monitor --once " + run);
  EXPECT_EQ(broken.status, 1);
  EXPECT_TRUE(contains(broken.err, "status.json: it is not the status of a fit")) << broken.err;
}

TEST(Monitor, SaysThatARunFailed) {
  TempDir folder;
  test::write_idx_folder(folder, "digits");
  std::string run = folder / "run";
  Ended trained =
      run_stoker("train --data idx:" + folder / "digits" +
                 " --model mlp --batch 2 --optimizer sgd --learning-rate 1e30 --epochs 3"
                 " --schedule constant --out " +
                 run);
  ASSERT_EQ(trained.status, 1) << trained.out;
  Ended watched = run_stoker("monitor " + run);
  EXPECT_EQ(watched.status, 1) << watched.out;
  EXPECT_TRUE(contains(watched.out, "failed")) << watched.out;
  EXPECT_TRUE(contains(watched.out, "finite")) << watched.out;
}

}  // namespace
}  // namespace stoker
