// The TensorBoard callback, read back by TensorBoard itself: tests/formats/tensorboard/check.py.
#include <cerrno>

#include <nlohmann/json.hpp>

#include "formats/tfrecord.h"
#include "support/faulty_files.h"
#include "support/peer_python.h"
#include "support/temp_dir.h"
#include "train/callbacks/event_log.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::OnDevice;
using test::says;
using Json = nlohmann::json;

Json scalar(const Json& runs, const char* run, const char* tag, size_t index) {
  return runs.at(run).at("scalars").at(tag).at(index);
}

TEST(TensorBoard, IsReadByTensorBoard) {
  OnDevice device;
  test::TempDir dir;
  test::Data data = test::line(24, 1);
  Sequential model({Input({2}), Dense(3, {.name = "hidden"}), Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = 0.125}), .loss = "mse", .metrics = {"mae"}});
  std::vector<Tensor> weights;
  LambdaCallback spy({.on_epoch_end = [&](int64_t, const Logs&) {
    weights.push_back(model.get_layer("hidden").get_weights()[0]);
  }});
  History history =
      model.fit(data.x, data.y,
                {.epochs = 3,
                 .batch_size = 8,
                 .validation_data = {data.x, data.y},
                 .callbacks = {TensorBoard({.log_dir = dir / "logs",
                                            .histogram_freq = 2,
                                            .write_steps_per_second = true,
                                            .update_freq = 2,
                                            .hparams = {{"units", int64_t(3)},
                                                        {"rate", 0.125},
                                                        {"name", std::string("a \"b\" ü")},
                                                        {"bias", true}}}),
                               spy}});
  test::PeerResult seen = test::run_peer("formats/tensorboard/check.py", dir / "logs");
  if (seen.skipped) STOKER_SKIP_WITHOUT_PACKAGE(seen.output);
  ASSERT_EQ(seen.code, 0) << seen.output;
  Json runs = Json::parse(seen.last_line());
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    for (const char* name : {"loss", "mae"}) {
      std::string tag = std::string("epoch_") + name;
      EXPECT_EQ(scalar(runs, "train", tag.c_str(), epoch),
                Json({epoch, double(float(history[name][epoch]))}));
      EXPECT_EQ(scalar(runs, "validation", tag.c_str(), epoch),
                Json({epoch, double(float(history[std::string("val_") + name][epoch]))}));
    }
    EXPECT_EQ(scalar(runs, "train", "epoch_learning_rate", epoch), Json({epoch, 0.125}));
    EXPECT_EQ(scalar(runs, "validation", "evaluation_loss_vs_iterations", epoch)[0], 3 * epoch + 3);
    EXPECT_GT(scalar(runs, "train", "epoch_steps_per_second", epoch)[1], 0);
  }
  const Json& batches = runs["train"]["scalars"]["batch_loss"];
  ASSERT_EQ(batches.size(), 4U);  // nine batches, every second
  EXPECT_EQ(batches[0][0], 1);
  EXPECT_EQ(batches[3][0], 7);
  const Json& histograms = runs["train"]["histograms"]["hidden/kernel/histogram"];
  ASSERT_EQ(histograms.size(), 2U);  // epochs 0 and 2
  EXPECT_EQ(histograms[1]["step"], 2);
  EXPECT_EQ(histograms[1]["num"], 6);
  double smallest = 1e9;
  for (float weight : weights[2].values<float>()) smallest = std::min(smallest, double(weight));
  EXPECT_EQ(histograms[1]["min"], smallest);
  EXPECT_EQ(runs["."]["hparams"],
            Json({{"units", 3.0}, {"rate", 0.125}, {"name", "a \"b\" ü"}, {"bias", true}}));
  EXPECT_EQ(runs["."]["status"], 1);  // succeeded
}

TEST(TensorBoard, CountsOnWhereItStood) {
  TensorBoard board;
  board.restore({.values = {{"batches", int64_t(12)}}});
  EXPECT_EQ(board.state().values.get<int64_t>("batches"), 12);
  EXPECT_TRUE(says(error_of<ValueError>([&] { board.restore({}); }), {"TensorBoard", "batches"}));
}

TEST(TensorBoard, RefusesWhatItCannotDo) {
  EXPECT_TRUE(says(error_of<ValueError>([] { TensorBoard({.update_freq = "day"}); }),
                   {"update_freq", "day", "batch"}));
  EXPECT_THROW(TensorBoard({.update_freq = 0}), ValueError);
  EXPECT_TRUE(says(error_of<ValueError>([] {
                     TensorBoard({.hparams = {{"list", Ints{1}}}});
                   }),
                   {"list", "no number"}));
}

TEST(EventLog, KeepsTheOrderAndEverythingThatWasAdded) {
  test::TempDir dir;
  std::string path;
  {
    EventLog log(dir / "a/b");
    path = log.path();
    for (int i = 0; i < 5000; ++i) log.add([i] { return std::to_string(i); });
  }
  auto file = local_files().open(path);
  TFRecordReader reader(*file);
  ASSERT_TRUE(reader.next());  // the version
  for (int i = 0; i < 5000; ++i) {
    auto record = reader.next();
    ASSERT_TRUE(record);
    EXPECT_EQ(
        std::string(reinterpret_cast<const char*>(record->bytes.data()), record->bytes.size()),
        std::to_string(i));
  }
  EXPECT_FALSE(reader.next());
}

TEST(EventLog, TellsOfADiskThatIsFull) {
  test::TempDir dir;
  test::FaultyFiles files;
  files.fail_from(2, ENOSPC);  // the folder and the file are made before
  EventLog log(dir / "logs", files);
  log.add([] { return std::string("event"); });
  EXPECT_THROW(log.finish(), FileError);
}

}  // namespace
}  // namespace stoker
