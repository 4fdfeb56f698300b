// `stoker compress` and `stoker compare`, without the program around them.
#include "jobs/compress_job.h"

#include <sstream>

#include <gtest/gtest.h>
#include <stoker/model.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "jobs/run_folder.h"
#include "jobs/train_job.h"
#include "support/tiny_data.h"

namespace stoker::jobs {
namespace {

using test::TempDir;

// A trained run in folder/run.
std::string trained_run(const TempDir& folder, const char* model = "cnn-small") {
  test::write_idx_folder(folder, "digits");
  Job job;
  job.data = "idx:" + folder / "digits";
  job.model = model;
  job.epochs = 3;
  job.batch = {8};
  job.seed = 1;
  job.out = folder / "run";
  train(job, nullptr);
  return job.out;
}

nlohmann::json compressed(const std::string& run, const Compression& what) {
  Job job = compression_job(what, job_beside(run));
  job.verbose = 0;
  return compress_model(run, what, job, 0, nullptr);
}

TEST(CompressJob, PrunesChannelsAndComparesBoth) {
  TempDir folder;
  std::string run = trained_run(folder);
  nlohmann::json result = compressed(run, {.channels = 0.5});
  ASSERT_EQ(result["models"].size(), 2U);
  double before = result["models"][0]["flops"], after = result["models"][1]["flops"];
  EXPECT_LE(after, 0.5 * before);
  EXPECT_GT(result["models"][1]["predicted_speedup"].get<double>(), 0.5);
  EXPECT_TRUE(result["models"][1]["metrics"].contains("accuracy"));
  for (const char* file : {"model.stoker", "compare.json", "compare.html", "job.json"})
    EXPECT_TRUE(local_files().exists(run + "/channels/" + file)) << file;
  // The page of the run, with the comparison in it.
  std::string page = read_text(run + "/channels/compare.html");
  EXPECT_NE(page.find("\"comparison\""), std::string::npos);
  EXPECT_NE(page.find("\"verdict\""), std::string::npos);
  EXPECT_EQ(load_model(run + "/channels/model.stoker").count_params(),
            result["models"][1]["parameters"].get<int64_t>());
  // What it wrote is a run that can be compared again.
  std::ostringstream told;
  nlohmann::json again =
      compare_models({run, run + "/channels"}, job_beside(run), 0, folder / "page.html", &told);
  EXPECT_EQ(again["agreement"][0][1], result["agreement"][0][1]);
  EXPECT_NE(told.str().find("parameters"), std::string::npos);
  EXPECT_TRUE(local_files().exists(folder / "page.html"));
}

TEST(CompressJob, PrunesWeightsAndDistilsAStudent) {
  TempDir folder;
  std::string run = trained_run(folder);
  nlohmann::json pruned = compressed(run, {.prune = 0.8});
  EXPECT_GT(pruned["models"][1]["zero_share"].get<double>(), 0.7);
  EXPECT_FALSE(pruned["models"][1].contains("predicted_speedup"));
  nlohmann::json student = compressed(run, {.student = "mlp"});
  EXPECT_NE(student["models"][1]["parameters"], student["models"][0]["parameters"]);
  EXPECT_EQ(load_model(run + "/student/model.stoker").get_weights().empty(), false);
}

TEST(CompressJob, QuantisesToInt8) {
  TempDir folder;
  std::string run = trained_run(folder);
  nlohmann::json result = compressed(run, {.int8 = true});
  EXPECT_LT(result["models"][1]["file_bytes"].get<int64_t>(),
            result["models"][0]["file_bytes"].get<int64_t>());
  EXPECT_GT(result["agreement"][0][1].get<double>(), 0.9);
  EXPECT_GT(load_model(run + "/int8/model.stoker").count_params(), 0);
}

TEST(CompressJob, RefusesWhatCannotBe) {
  TempDir folder;
  std::string run = trained_run(folder, "mlp");
  EXPECT_THROW(compressed(run, {}), ValueError);
  EXPECT_THROW(compressed(run, {.prune = 0.5, .channels = 0.5}), ValueError);
  EXPECT_THROW(compressed(folder / "nothing", {.prune = 0.5}), FileError);
  EXPECT_THROW(compressed(run, {.student = "no such network"}), ValueError);
  EXPECT_THROW(compare_models({run}, job_beside(run), 0, "", nullptr), ValueError);
  for (const char* text : {"0", "1", "x", "0.5x", "-1", "nan"})
    EXPECT_THROW(share_option("--prune", text), ValueError) << text;
  EXPECT_EQ(share_option("--prune", "0.5"), 0.5);
  EXPECT_FALSE(share_option("--prune", ""));
}

}  // namespace
}  // namespace stoker::jobs
