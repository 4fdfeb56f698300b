#include "jobs/train_job.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/folder_lock.h"
#include "jobs/data_spec.h"
#include "support/tiny_data.h"

namespace stoker::jobs {
namespace {

using test::TempDir;

Job tiny_job(const TempDir& folder) {
  test::write_idx_folder(folder, "digits");
  Job job;
  job.data = "idx:" + folder / "digits";
  job.model = "mlp";
  job.epochs = 4;
  job.batch = {8};
  job.seed = 1;
  return job;
}

TEST(TrainJob, LearnsAndReportsItsFigures) {
  TempDir folder;
  Job job = tiny_job(folder);
  job.out = folder / "run";
  std::ostringstream told;
  nlohmann::json result = train(job, &told);
  EXPECT_EQ(result["val_accuracy"], 1.0);
  for (const char* key : {"val_loss", "samples_per_second", "ms_per_step", "peak_memory_bytes",
                          "predicted_memory_bytes"})
    EXPECT_GT(result.at(key).get<double>(), 0) << key;
  EXPECT_EQ(result["final_weights_sha256"].get<std::string>().size(), 64);
  EXPECT_EQ(result["steps"], 20);
  EXPECT_EQ(result["history"]["loss"].size(), 4);
  EXPECT_EQ(result["run_plan"]["batch_size"], 8);
  EXPECT_NE(told.str().find("Epoch 4/4"), std::string::npos);

  Model saved = load_model(job.out + "/model.stoker");
  EXPECT_EQ(saved.inputs()[0].shape(), Shape({-1, 12, 12, 1}));
  EXPECT_EQ(read_job(job.out + "/job.json"), job);
}

TEST(TrainJob, TakesLossMetricsAndOptimizerByName) {
  TempDir folder;
  Job job = tiny_job(folder);
  job.loss = "categorical_generalized_cross_entropy";
  job.metrics = "sparse_top_k_categorical_accuracy,accuracy";
  job.optimizer = "nadam";
  nlohmann::json result = train(job, nullptr);
  EXPECT_EQ(result["val_sparse_top_k_categorical_accuracy"], 1.0);
  EXPECT_EQ(result["history"]["accuracy"].size(), 4);
  job.loss = "cross";
  EXPECT_THROW(train(job, nullptr), ValueError);
}

TEST(TrainJob, AnAutomaticBatchIsMeasuredAndSaid) {
  TempDir folder;
  Job job = tiny_job(folder);
  job.batch = {0};
  job.out = folder / "run";
  std::ostringstream told;
  nlohmann::json result = train(job, &told);
  EXPECT_NE(told.str().find("measured: "), std::string::npos) << told.str();
  EXPECT_GE(result["batch"], 8);
  EXPECT_LE(result["batch"], 32);
  EXPECT_EQ(read_job(job.out + "/job.json").batch.size, result["batch"]);
}

TEST(TrainJob, ThatGoesOnKeepsTheBatchThatItBeganWith) {
  TempDir folder;
  Job job = tiny_job(folder);
  job.out = folder / "run";
  job.batch = {5};  // no measurement would choose it
  train(job, nullptr);
  job.batch = {0};
  job.resume = "auto";
  job.epochs = 5;
  job.allow_differences = true;
  EXPECT_EQ(train(job, nullptr)["batch"], 5);
}

TEST(TrainJob, WithoutMemoryEnoughSaysWhatItNeeds) {
  TempDir folder;
  Job job = tiny_job(folder);
  job.memory_limit = 1000;
  for (const char* policy : {"fail", "halve"}) {
    job.on_out_of_memory = policy;
    try {
      train(job, nullptr);
      FAIL() << "it does not fit";
    } catch (const OutOfMemoryError& error) {
      EXPECT_NE(std::string(error.what()).find("not even one sample"), std::string::npos)
          << error.what();
    }
  }
  job.on_out_of_memory = "ask";
  EXPECT_THROW(train(job, nullptr), ValueError);
  default_context().memory_limit = 0;
}

TEST(TrainJob, TheSameSeedGivesTheSameWeights) {
  TempDir folder;
  Job job = tiny_job(folder);
  auto hash = [&] { return train(job, nullptr)["final_weights_sha256"].get<std::string>(); };
  std::string first = hash();
  EXPECT_EQ(hash(), first);
  job.pipeline_threads = 1;  // changes speed only
  EXPECT_EQ(hash(), first);
  job.as_written = true;
  EXPECT_EQ(hash(), first);
  job.seed = 2;
  EXPECT_NE(hash(), first);
}

TEST(TrainJob, ProfilesTheStepsThatAreAskedForAndLearnsTheSame) {
  TempDir folder;
  Job job = tiny_job(folder);
  std::string plain = train(job, nullptr)["final_weights_sha256"];
  job.out = folder / "run";
  update_job(job, {{"profile", "6-9"}});
  EXPECT_EQ(train(job, nullptr)["final_weights_sha256"], plain);
  for (const char* file : {"profile.json", "trace.json"})
    EXPECT_TRUE(std::filesystem::exists(job.out + "/tensorboard/" + file)) << file;
  EXPECT_EQ(read_job(job.out + "/job.json"), job);
}

TEST(TrainJob, RefusesADeviceThatDoesNotExistBeforeItReadsData) {
  for (const char* device : {"gpu", "cuda:0,cuda:1", "cuda:99"}) {
    Job job;
    job.data = "idx:missing";
    job.device = device;
    std::string before = default_context().device;
    EXPECT_THROW(train(job, nullptr), ValueError) << device;
    EXPECT_EQ(default_context().device, before);
  }
}

TEST(TrainJob, GoesOnWithASavedModel) {
  TempDir folder;
  Job job = tiny_job(folder);
  job.out = folder / "run";
  double first = train(job, nullptr)["loss"];
  job.model = job.out + "/model.stoker";
  job.out = "";
  EXPECT_LT(train(job, nullptr)["loss"].get<double>(), first);
  test::write_idx_folder(folder, "larger", {.side = 14});
  job.data = "idx:" + folder / "larger";
  EXPECT_THROW(train(job, nullptr), ShapeError);
}

// Every file of a run, by name.
std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) contents[entry.path().string()] = read_text(entry.path().string());
  return contents;
}

template <class E>
std::string refusal_of(const Job& job) {
  auto before = contents_of(job.out);
  try {
    train(job, nullptr);
  } catch (const E& error) {
    EXPECT_EQ(contents_of(job.out), before) << "a refusal changes no file";
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(TrainJob, ThatIsRefusedToGoOnChangesNothingAndSaysHowToGoOn) {
  TempDir folder;
  Job job = tiny_job(folder);
  job.out = folder / "run";
  job.resume = "auto";
  job.schedule = "constant";
  job.learning_rate = 0.01;
  train(job, nullptr);
  Job other = job;
  other.epochs = 5;
  other.learning_rate = 0.02;
  other.weight_decay = 0.1;
  other.augment = true;
  std::string text = refusal_of<ValueError>(other);
  for (const char* part : {"learning_rate: 0.02 here, 0.01 there", "weight_decay: 0.1 here",
                           "data: ", "random_crop", "--allow-differences", "another --out"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
  EXPECT_EQ(text.find("{.allow"), std::string::npos) << text;
  other.allow_differences = true;
  other.augment = false;  // the place in the data is that of another chain
  EXPECT_EQ(train(other, nullptr)["history"]["loss"].size(), 5U);
  EXPECT_FALSE(read_job(job.out + "/job.json").allow_differences) << "asked for again each time";
}

TEST(TrainJob, GoesOnWithMoreEpochsAndRefusesFewerThanAreDone) {
  TempDir folder;
  Job job = tiny_job(folder);
  job.out = folder / "run";
  job.resume = "auto";
  train(job, nullptr);
  job.epochs = 3;
  EXPECT_NE(refusal_of<ValueError>(job).find("epochs: 3 here"), std::string::npos);
  job.epochs = 6;
  std::ostringstream told;
  EXPECT_EQ(train(job, &told)["history"]["loss"].size(), 6U);
  EXPECT_NE(told.str().find("decay_steps: 30 here, 20 there"), std::string::npos) << told.str();
}

TEST(TrainJob, NoticesAnotherDatasetOfTheSameSize) {
  TempDir folder;
  Job job = tiny_job(folder);
  job.out = folder / "run";
  job.resume = "auto";
  train(job, nullptr);
  job.epochs = 5;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "digits"))
    if (entry.path().filename().string().starts_with("train-images")) {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-1, std::ios::end);
      file.put('\x7f');
    }
  EXPECT_NE(refusal_of<ValueError>(job).find("data: from_slices"), std::string::npos);
}

TEST(TrainJob, IsRefusedInAFolderThatAnotherRunUses) {
  TempDir folder;
  Job job = tiny_job(folder);
  job.out = folder / "run";
  train(job, nullptr);
  std::string holder;
  auto lock = FolderLock::try_lock(job.out, holder);
  for (const char* resume : {"auto", "never"}) {
    job.resume = resume;
    EXPECT_NE(refusal_of<FileError>(job).find("is in use by process"), std::string::npos);
  }
  lock = FolderLock::try_lock(job.out + "/checkpoints", holder);
  EXPECT_NE(refusal_of<FileError>(job).find("is in use by process"), std::string::npos);
}

TEST(TrainJob, TrainsOnAFolderOfImages) {
  TempDir folder;
  test::write_image_folder(folder, "photos", {.count = 60, .side = 20});
  Job job;
  job.data = folder / "photos";
  job.image_size = ImageSize{16, 16};
  job.model = "mlp";
  job.epochs = 6;
  job.batch = {8};
  job.augment = false;
  job.seed = 1;
  nlohmann::json result = train(job, nullptr);
  EXPECT_GT(result["val_accuracy"].get<double>(), 0.9);
  job.augment = true;
  job.epochs = 1;
  EXPECT_NO_THROW(train(job, nullptr));
}

TEST(DataSpec, SplitsTheSameWayEveryTime) {
  TempDir folder;
  test::write_image_folder(folder, "photos");
  Job job;
  job.data = folder / "photos";
  auto labels = [](const data::Dataset& elements) {
    std::vector<int64_t> all;
    for (const Batch& element : elements) all.push_back(element[1].data<int64_t>()[0]);
    return all;
  };
  JobData first = open_data(job), second = open_data(job);
  ASSERT_TRUE(first.validation);
  EXPECT_EQ(labels(first.validation->elements), labels(second.validation->elements));
  EXPECT_EQ(labels(first.validation->elements).size(), 8);
  EXPECT_EQ(labels(first.train.elements).size(), 32);
  EXPECT_EQ(first.names.classes.size(), 4);
}

TEST(DataSpec, TakesTrainAndValFolders) {
  TempDir folder;
  test::write_image_folder(folder, "photos/train");
  test::write_image_folder(folder, "photos/val", {.count = 12});
  Job job;
  job.data = folder / "photos";
  JobData data = open_data(job);
  EXPECT_EQ(*data.train.elements.cardinality().count, 40);
  EXPECT_EQ(*data.validation->elements.cardinality().count, 12);
  EXPECT_EQ(data.picture, (TensorSpec{DType::uint8, {96, 96, 3}}));
}

TEST(DataSpec, ResizesValidationPicturesOnlyWhenTold) {
  TempDir folder;
  auto write = [&](const std::string& name, const Shape& shape) {
    data::from_slices({Tensor::zeros(shape, DType::uint8), Tensor::zeros({4}, DType::int64)})
        .save(folder / name);
    return "shards:" + std::string(folder / name);
  };
  Job job;
  job.classes = 2;
  job.data = write("train", {4, 8, 8, 1});
  job.validation_data = write("wide", {4, 8, 16, 1});
  auto refusal = [&]() -> std::string {
    try {
      open_data(job);
    } catch (const ValueError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal().find("image_size"), std::string::npos) << refusal();
  EXPECT_NE(refusal().find("[8, 16, 1]"), std::string::npos) << refusal();
  job.image_size = ImageSize{8, 8};
  EXPECT_EQ(refusal(), "");
  job.validation_data = write("coloured", {4, 8, 8, 3});
  EXPECT_NE(refusal().find("3 channels"), std::string::npos) << refusal();
}

TEST(DataSpec, SaysWhatIsWrong) {
  TempDir folder;
  auto error = [](const std::string& spec) -> std::string {
    Job job;
    job.data = spec;
    try {
      open_data(job);
    } catch (const Error& wrong) {
      return wrong.what();
    }
    return "";
  };
  EXPECT_NE(error("").find("no data"), std::string::npos);
  EXPECT_NE(error("parquet:x").find("unknown kind \"parquet\"; a spec is"), std::string::npos);
  EXPECT_EQ(error(folder / "none"), folder / "none" + ": there is no such folder");
  EXPECT_NE(error("idx:" + folder.path().string()).find("train-images-idx3-ubyte"),
            std::string::npos);
  EXPECT_NE(error("shards:" + folder.path().string()), "");
  EXPECT_NE(error("tfrecord:" + folder / "*.tfrecord").find("no file"), std::string::npos);
  std::string file = folder.write("file", "x");
  EXPECT_EQ(error(file), file + ": not a folder");
  EXPECT_NE(error(folder.path().string()).find("one for each class"), std::string::npos);
}

}  // namespace
}  // namespace stoker::jobs
