// A training in a process of its own that can be killed at any moment, and what came out of it. The
// process that calls must never have trained itself: children are made by fork, which OpenMP's
// threads do not survive.
#pragma once

#include <gtest/gtest.h>
#include <stoker/stoker.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "base/clock.h"
#include "fault/data.h"
#include "support/killing_files.h"
#include "support/temp_dir.h"
#include "train/model/weights_hash.h"

namespace stoker::test {

// Where a training kills itself; a kill from outside comes after a time (run()).
struct Kill {
  enum class At : uint8_t { nowhere, file_operation, validation_batch, cached_element };
  At at = At::nowhere;
  int count = 0;  // so many of them pass before
};
inline constexpr std::array<const char*, 4> kKillNames = {"any moment", "writing a checkpoint",
                                                          "validation", "writing a cache"};

struct Job {
  std::string directory = {};  // checkpoints, cache, log and result
  std::string files = {};      // what write_files() made
  Source source = Source::slices;
  int pipeline_threads = 1;
  Kill kill = {};
};

// Counts down at every pass of a place, and kills the process when it reaches zero.
class Fuse {
 public:
  Fuse(const Kill& kill, Kill::At at) : left_(kill.at == at ? kill.count : -1) {}
  void pass() const {
    if (left_.load() >= 0 && left_.fetch_sub(1) == 0) raise(SIGKILL);
  }

 private:
  mutable std::atomic<int> left_;
};

// Remembers more than the epoch: a training that forgot it would take other turns.
class Moody : public Callback {
 public:
  void on_train_begin() override { steps_ = 0, best_ = Tensor(1e9F); }
  void on_train_batch_end(int64_t, const Logs&) override {
    if (++steps_ % 7 == 0)
      model().optimizer().set_learning_rate(model().optimizer().learning_rate() * 0.97);
  }
  void on_epoch_end(int64_t, const Logs& logs) override {
    double loss = logs["val_loss"];
    if (loss < best_.item())
      best_ = Tensor(float(loss));
    else
      model().optimizer().set_learning_rate(model().optimizer().learning_rate() * 0.5);
  }
  CallbackState state() const override {
    return {.values = {{"steps", steps_}}, .tensors = {{"best", best_}}};
  }
  void restore(const CallbackState& state) override {
    steps_ = state.values.get<int64_t>("steps");
    best_ = state.tensors.at(0).second;
  }

 private:
  int64_t steps_ = 0;
  Tensor best_;
};

// Elements (float32 [8, 8, 1], int32) of every source but arrays.
inline data::Dataset elements(const Job& job, const std::shared_ptr<const Fuse>& caching) {
  Arrays all = arrays(120, 1);
  if (job.source == Source::tfrecord)
    return data::tfrecord({job.files + "/images.tfrecord"})
        .map(data::parse_example(
            {{"image", {DType::float32, {8, 8, 1}}}, {"label", {DType::int64, {}}}}))
        .map([](const Tensor& image, int64_t label) { return std::tuple(image, int32_t(label)); });
  if (job.source == Source::csv) {
    data::CsvOptions options{
        .columns = {{"label", DType::int32}}, .label_name = "label", .pack = true};
    return data::sample_from_datasets({data::csv(job.files + "/first.csv", options).shuffle(),
                                       data::csv(job.files + "/second.csv", options).shuffle()},
                                      {.weights = {2, 1}})
        .map(
            [](const Tensor& row, int32_t label) {
              return std::tuple(row.reshape({8, 8, 1}), label);
            },
            {.spec = data::ElementSpec{{DType::float32, {8, 8, 1}}, {DType::int32, {}}}});
  }
  if (job.source == Source::slices) return data::from_slices({all.x, all.y});
  auto counted = [caching](const Tensor& image, int64_t label) {
    caching->pass();
    return std::tuple(image, int32_t(label));
  };
  return data::image_folder(job.files + "/pictures")
      .map(image::decode_jpeg({.channels = 1}) | image::rescale(1 / 64.0, -2))
      .map(counted, {.spec = data::ElementSpec{{DType::float32, {8, 8, 1}}, {DType::int32, {}}}})
      .cache(job.directory + "/cache");
}

inline data::Dataset training_data(const Job& job, const std::shared_ptr<const Fuse>& caching) {
  auto noisy = [](const Tensor& image, int32_t label, Rng& rng) {
    Tensor out = image.clone();
    for (float& value : std::span(out.data_mut<float>(), 64)) value += 0.1F * rng.normal();
    return std::tuple(out, label);
  };
  data::Dataset all = elements(job, caching);
  return (all.random_access() ? all.shuffle() : all.shuffle(40)).map(noisy).batch(8);
}

inline Sequential network() {
  Sequential model({Input({8, 8, 1}), Conv2D(6, 3, {.activation = "relu"}), BatchNormalization(),
                    Flatten(), Dropout(0.3), Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = Adam({.learning_rate = 0.01, .clipnorm = 1.0}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

inline void write_result(const Job& job, const Model& model, const History& history) {
  std::ostringstream result;
  result << weights_sha256(model) << "\n" << std::hexfloat;
  for (const std::string& name : history.names()) {
    result << name;
    for (double value : history[name]) result << " " << value;
    result << "\n";
  }
  write_file_atomically(job.directory + "/result", result.str());
}

inline void train(const Job& job) {
  Context& context = default_context();
  context.out = nullptr;
#ifdef STOKER_TSAN
  context.device = "reference";
#endif
  set_seed(11);
  set_threads({.pipeline = job.pipeline_threads, .compute = 1});
  Sequential model = network();
  KillingFiles files(job.kill.at == Kill::At::file_operation ? job.kill.count : -1);
  BackupAndRestore backup(job.directory + "/checkpoints",
                          {.save_freq = 4, .keep = 2, .monitor = "val_loss"});
  backup.use_files(&files);
  Fuse validating(job.kill, Kill::At::validation_batch);
  auto caching = std::make_shared<const Fuse>(job.kill, Kill::At::cached_element);
  LambdaCallback watch({.on_epoch_begin =
                            [&](int64_t epoch) {
                              std::ofstream(job.directory + "/log", std::ios::app)
                                  << epoch << " " << backup.resumed_from() << "\n";
                            },
                        .on_test_batch_begin = [&](int64_t) { validating.pass(); }});
  Arrays held_out = arrays(40, 2);
  FitArgs args{.epochs = 5,
               .validation_data = data::from_slices({held_out.x, held_out.y}).batch(16),
               .callbacks = {backup, Moody(), watch, ReduceLROnPlateau({.patience = 1}),
                             EarlyStopping({.patience = 3, .restore_best_weights = true})}};
  History history;
  if (job.source == Source::arrays) {
    Arrays all = arrays(120, 1);
    args.batch_size = 8;
    history = model.fit(all.x, all.y, args);
  } else {
    history = model.fit(training_data(job, caching), args);
  }
  write_result(job, model, history);
}

struct Ended {
  bool killed = false;
  double seconds = 0;
};

// Runs the job in a child, which is killed after so many seconds unless it has ended.
inline Ended run(const Job& job, std::optional<double> kill_after = {}) {
  int64_t begin = steady_clock().now();
  pid_t child = fork();
  if (child == 0) {
    try {
      train(job);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  if (kill_after) {
    std::this_thread::sleep_for(std::chrono::duration<double>(*kill_after));
    kill(child, SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  EXPECT_TRUE(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
  return {killed, double(steady_clock().now() - begin) * 1e-9};
}

inline std::string result_of(const Job& job) {
  std::string path = job.directory + "/result";
  return local_files().exists(path) ? read_text(path) : "";
}

// Where kills hit, and how often trainings went on from a checkpoint.
struct KillCount {
  std::array<int, 4> hits = {};  // by Kill::At; nowhere: from outside
  int trainings = 0, resumed = 0;
  int total() const { return hits[0] + hits[1] + hits[2] + hits[3]; }
};

// The next training's kill: from outside half of the time, else at one of the places it has.
inline Kill draw_kill(Source source, Rng& rng) {
  if (rng.integer(0, 2) == 0) return {};
  auto at = Kill::At(rng.integer(1, source == Source::pictures ? 4 : 3));
  int64_t most = at == Kill::At::validation_batch ? 15 : 120;  // as many as a training has
  return {at, int(rng.integer(0, most))};
}

inline int count_resumed(const Job& job) {
  std::istringstream log(read_text(job.directory + "/log"));
  int resumed = 0;
  for (std::string line; std::getline(log, line);) resumed += line.find("ckpt-") != line.npos;
  return resumed;
}

// Trains on one source again and again, kills every training at random moments and places until
// `enough` says so, and lets it go on; each must come out as one that was never stopped.
template <class Enough>
KillCount expect_kills_change_nothing(Source source, uint64_t seed, Enough enough) {
  KillCount count;
  TempDir undisturbed, files;
  write_files(files.path().string());
  Job job{
      .directory = undisturbed.path().string(), .files = files.path().string(), .source = source};
  double seconds = run(job).seconds;
  std::string expected = result_of(job);
  EXPECT_NE(expected, "");
  Rng rng(seed);
  while (!enough(count) && !testing::Test::HasFailure()) {
    TempDir dir;
    job.directory = dir.path().string();
    bool over = false;
    while (!over && !testing::Test::HasFailure()) {
      job.pipeline_threads = int(rng.integer(1, 5));
      bool spare = enough(count);
      job.kill = spare ? Kill{} : draw_kill(source, rng);
      bool outside = !spare && job.kill.at == Kill::At::nowhere;
      Ended ended =
          run(job, outside ? std::optional(double(rng.uniform()) * seconds) : std::nullopt);
      if (ended.killed) ++count.hits[size_t(job.kill.at)];
      over = !ended.killed;
    }
    if (testing::Test::HasFailure()) break;
    EXPECT_EQ(result_of(job), expected)
        << kSourceNames[size_t(source)] << ", training " << count.trainings << ", seed " << seed;
    count.resumed += count_resumed(job);
    ++count.trainings;
  }
  EXPECT_GT(count.resumed, 0);
  return count;
}

}  // namespace stoker::test
