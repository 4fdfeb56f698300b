// A training in a process of its own that can be killed at any moment, and what came out of it. The
// process that calls must never have trained itself: children are made by fork, which OpenMP's
// threads do not survive.
#pragma once

#include <gtest/gtest.h>
#include <stoker/stoker.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "base/clock.h"
#include "support/killing_files.h"
#include "support/temp_dir.h"
#include "train/weights_hash.h"

namespace stoker::test {

struct Job {
  std::string directory;  // checkpoints, log and result
  int pipeline_threads = 1;
  int kill_at_operation = -1;  // on files; negative: none
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

inline data::Dataset images(int64_t count, uint64_t seed) {
  Tensor x(DType::float32, {count, 8, 8, 1}), y(DType::int32, {count});
  for (int64_t row = 0; row < count; ++row) {
    Rng rng(seed, uint64_t(row));
    auto label = int32_t(rng.integer(0, 3));
    y.data_mut<int32_t>()[row] = label;
    for (int64_t pixel = 0; pixel < 64; ++pixel)
      x.data_mut<float>()[row * 64 + pixel] = rng.normal() + (pixel / 8 == 2 * label ? 1.5F : 0.0F);
  }
  return data::from_slices({x, y});
}

inline void train(const Job& job) {
  Context& context = default_context();
  context.out = nullptr;
#ifdef STOKER_TSAN
  context.device = "reference";
#endif
  set_seed(11);
  set_threads({.pipeline = job.pipeline_threads, .compute = 1});
  auto noisy = [](const Tensor& image, int32_t label, Rng& rng) {
    Tensor out = image.clone();
    for (float& value : std::span(out.data_mut<float>(), 64)) value += 0.1F * rng.normal();
    return std::tuple(out, label);
  };
  data::Dataset training = images(120, 1).shuffle().map(noisy).batch(8);
  data::Dataset validation = images(40, 2).batch(16);
  Sequential model({Input({8, 8, 1}), Conv2D(6, 3, {.activation = "relu"}), BatchNormalization(),
                    Flatten(), Dropout(0.3), Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = Adam({.learning_rate = 0.01, .clipnorm = 1.0}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  KillingFiles files(job.kill_at_operation);
  BackupAndRestore backup(job.directory + "/checkpoints",
                          {.save_freq = 4, .keep = 2, .monitor = "val_loss"});
  backup.use_files(&files);
  LambdaCallback log({.on_epoch_begin = [&](int64_t epoch) {
    std::ofstream(job.directory + "/log", std::ios::app)
        << epoch << " " << backup.resumed_from() << "\n";
  }});
  History history = model.fit(
      training, {.epochs = 5,
                 .validation_data = validation,
                 .callbacks = {backup, Moody(), log, ReduceLROnPlateau({.patience = 1}),
                               EarlyStopping({.patience = 3, .restore_best_weights = true})}});
  std::ostringstream result;
  result << weights_sha256(model) << "\n" << std::hexfloat;
  for (const std::string& name : history.names()) {
    result << name;
    for (double value : history[name]) result << " " << value;
    result << "\n";
  }
  write_file_atomically(job.directory + "/result", result.str());
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

// Kills trainings at random moments, every other time inside the writing of a checkpoint, until
// `kills` have hit; every training goes on to its end and must come out as one that was never
// stopped.
inline void expect_kills_change_nothing(int kills, uint64_t seed) {
  TempDir undisturbed;
  Job job{.directory = undisturbed.path().string()};
  double seconds = run(job).seconds;
  std::string expected = result_of(job);
  ASSERT_NE(expected, "");
  Rng rng(seed);
  int hits = 0, inside = 0, trainings = 0, resumed = 0;
  for (; hits < kills; ++trainings) {
    TempDir dir;
    job.directory = dir.path().string();
    bool over = false;
    while (!over) {
      job.pipeline_threads = int(rng.integer(1, 5));
      bool in_write = hits < kills && rng.integer(0, 2) == 0;
      job.kill_at_operation = in_write ? int(rng.integer(0, 120)) : -1;
      std::optional<double> after;
      if (hits < kills && !in_write) after = double(rng.uniform()) * seconds;
      Ended ended = run(job, after);
      hits += ended.killed ? 1 : 0;
      inside += ended.killed && in_write ? 1 : 0;
      over = !ended.killed;
      if (testing::Test::HasFailure()) return;
    }
    ASSERT_EQ(result_of(job), expected) << "training " << trainings << ", seed " << seed;
    std::istringstream log(read_text(job.directory + "/log"));
    for (std::string line; std::getline(log, line);) resumed += line.find("ckpt-") != line.npos;
  }
  std::printf(
      "%d kills, %d of them while files were written, in %d trainings; an undisturbed one "
      "takes %.2f s\n",
      hits, inside, trainings, seconds);
  EXPECT_GT(inside, 0);
  EXPECT_GT(resumed, 0);
}

}  // namespace stoker::test
