// One model used by several threads at once: right, or an Error that says so.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <thread>

#include "support/temp_dir.h"
#include "train/helpers.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {
namespace {

using test::Data;

constexpr int kThreads = 4, kRounds = 12;

// Runs body(thread) on `threads` threads that begin together; what one throws is thrown here.
void at_once(int threads, const std::function<void(int)>& body) {
  std::barrier start(threads);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(threads));
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      start.arrive_and_wait();
      try {
        body(i);
      } catch (...) {
        errors[size_t(i)] = std::current_exception();
      }
    });
  for (std::thread& thread : all) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Sequential classifier() {
  return Sequential({Input({8, 8, 3}), Conv2D(16, 3, {.activation = "relu"}), BatchNormalization(),
                     MaxPooling2D(2), Flatten(), Dense(32, {.activation = "relu"}), Dropout(0.5),
                     Dense(5, {.activation = "softmax"})});
}

Data images(int64_t count, uint64_t seed) {
  Tensor labels(DType::int32, {count});
  for (int64_t i = 0; i < count; ++i) labels.data_mut<int32_t>()[i] = int32_t(i % 5);
  return {test::normal({count, 8, 8, 3}, seed), labels};
}

void compile(const Model& model) {
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
}

class Threads : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(Threads);

// The input of a thread's round: of different sizes, so that programs are made meanwhile.
Tensor input_of(int thread, int round) {
  return images(3 + (thread + round) % 5, uint64_t(100 * thread + round)).x;
}

TEST_P(Threads, PredictTheSameTogetherAsOneAfterAnother) {
  Sequential model = classifier();
  std::vector<std::vector<Tensor>> serial(kThreads), parallel(kThreads);
  for (int thread = 0; thread < kThreads; ++thread)
    for (int round = 0; round < kRounds; ++round)
      serial[size_t(thread)].push_back(model.predict(input_of(thread, round), {.batch_size = 4}));
  at_once(kThreads, [&](int thread) {
    for (int round = 0; round < kRounds; ++round)
      parallel[size_t(thread)].push_back(model.predict(input_of(thread, round), {.batch_size = 4}));
  });
  EXPECT_EQ(parallel, serial);
}

TEST_P(Threads, CallTheModelTheSameTogetherAsOneAfterAnother) {
  Sequential model = classifier();
  std::vector<std::vector<Tensor>> serial(kThreads), parallel(kThreads);
  for (int thread = 0; thread < kThreads; ++thread)
    for (int round = 0; round < kRounds; ++round)
      serial[size_t(thread)].push_back(model(input_of(thread, round)));
  at_once(kThreads, [&](int thread) {
    for (int round = 0; round < kRounds; ++round)
      parallel[size_t(thread)].push_back(model(input_of(thread, round)));
  });
  EXPECT_EQ(parallel, serial);
}

// Which thread draws which numbers is chance; that each is drawn once is not.
TEST_P(Threads, DrawEveryRandomNumberOnce) {
  Tensor ones = Tensor::full({1, 64}, 1);
  auto drawn = [&](int threads) {
    Value x = Input({64});
    Model model(x, Dropout(0.5)(x, {.training = true}));
    std::vector<std::string> outputs(kThreads * kRounds);
    at_once(threads, [&](int thread) {
      for (size_t i = size_t(thread); i < outputs.size(); i += size_t(threads))
        outputs[i] = model.predict(ones).to_string(64);
    });
    std::ranges::sort(outputs);
    return outputs;
  };
  std::vector<std::string> serial = drawn(1);
  EXPECT_EQ(std::ranges::adjacent_find(serial), serial.end());
  EXPECT_EQ(drawn(kThreads), serial);
}

TEST_P(Threads, MayBeTheFirstToUseAModelTogether) {
  Sequential lazy({Flatten(), Dense(6, {.activation = "relu"}), Dense(2)});  // built by its data
  compile(lazy);
  std::vector<Tensor> outputs(kThreads);
  Tensor x = images(7, 3).x;
  at_once(kThreads, [&](int thread) { outputs[size_t(thread)] = lazy.predict(x); });
  for (const Tensor& output : outputs) EXPECT_EQ(output, lazy.predict(x));
}

TEST_P(Threads, EvaluateAndPredictTogether) {
  Sequential model = classifier();
  compile(model);
  std::vector<Data> data;
  std::vector<double> losses, accuracies;
  std::vector<Tensor> outputs;
  for (int thread = 0; thread < kThreads; ++thread) {
    data.push_back(images(10 + thread, uint64_t(thread)));
    Logs logs = model.evaluate(data.back().x, data.back().y, {.batch_size = 4});
    losses.push_back(logs["loss"]);
    accuracies.push_back(logs["accuracy"]);
    outputs.push_back(model.predict(data.back().x));
  }
  at_once(kThreads, [&](int thread) {
    const Data& mine = data[size_t(thread)];
    for (int round = 0; round < kRounds / 2; ++round) {
      Logs logs = model.evaluate(mine.x, mine.y, {.batch_size = 4});
      EXPECT_EQ(logs["loss"], losses[size_t(thread)]);
      EXPECT_EQ(logs["accuracy"], accuracies[size_t(thread)]);
      EXPECT_EQ(model.predict(mine.x), outputs[size_t(thread)]);
    }
  });
}

TEST_P(Threads, ChangeWeightsBetweenPredictionsNotWithinThem) {
  Sequential model({Input({4}), Dense(3, {.activation = "relu"}), Dense(2)});
  Tensor x = test::normal({5, 4}, 1);
  std::vector<std::vector<Tensor>> weights;
  std::vector<Tensor> outputs;
  for (double factor : {1.0, 2.0}) {
    std::vector<Tensor> scaled = model.get_weights();
    for (Tensor& weight : scaled)
      for (float& value : std::span(weight.data_mut<float>(), size_t(weight.elements())))
        value = value * float(factor) + 0.1F;
    model.set_weights(scaled);
    weights.push_back(scaled);
    outputs.push_back(model.predict(x));
  }
  at_once(kThreads, [&](int thread) {
    for (int round = 0; round < kRounds; ++round)
      if (thread == 0)
        model.set_weights(weights[size_t(round) % 2]);
      else
        EXPECT_THAT(outputs, testing::Contains(model.predict(x)));
  });
}

TEST_P(Threads, TrainOneStepAfterAnotherOnOneModel) {
  Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
  compile(model);
  Data data = test::blobs(16, 4, 3, 1);
  at_once(kThreads, [&](int) {
    for (int round = 0; round < kRounds; ++round) model.train_on_batch(data.x, data.y);
  });
  EXPECT_EQ(model.optimizer().iterations(), kThreads * kRounds);
}

TEST_P(Threads, PredictWithModelsThatShareLayers) {
  Layer shared = Dense(8, {.activation = "relu"});
  Value a = Input({4}), b = Input({4});
  Model first(a, Dense(2)(shared(a))), second(b, Dense(3)(shared(b)));
  Tensor x = test::normal({6, 4}, 1);
  std::vector<Tensor> expected = {first.predict(x), second.predict(x)};
  at_once(kThreads, [&](int thread) {
    const Model& mine = thread % 2 == 0 ? first : second;
    for (int round = 0; round < kRounds; ++round)
      EXPECT_EQ(mine.predict(x), expected[size_t(thread % 2)]);
  });
}

TEST_P(Threads, TrainModelsOfTheirOwn) {
  Data data = test::blobs(32, 4, 3, 1);
  std::vector<Sequential> models;
  for (int i = 0; i < 2 * kThreads; ++i) {
    set_seed(uint64_t(i % kThreads));
    models.push_back(Sequential(
        {Input({4}), Dense(8, {.activation = "relu"}), Dense(3, {.activation = "softmax"})}));
    compile(models.back());
  }
  for (int i = 0; i < kThreads; ++i)
    models[size_t(i)].fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  at_once(kThreads, [&](int i) {
    models[size_t(kThreads + i)].fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  });
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(models[size_t(i)].get_weights(), models[size_t(kThreads + i)].get_weights());
}

// Calls `other` in another thread from inside a fit of `model`, and returns its error.
std::string error_during_fit(const Model& model, const std::function<void()>& other) {
  Data data = test::blobs(16, 4, 3, 1);
  std::string text;
  model.fit(data.x, data.y,
            {.verbose = 0, .callbacks = {LambdaCallback({.on_epoch_end = [&](int64_t, const Logs&) {
                             std::thread([&] { text = error_of(other); }).join();
                           }})}});
  return text;
}

TEST_P(Threads, AreToldThatAModelIsBeingTrained) {
  test::TempDir folder;
  Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
  compile(model);
  Data data = test::blobs(16, 4, 3, 1);
  std::string path = folder / "model.stoker";
  std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"predict", [&] { model.predict(data.x); }},
      {"predict_on_batch", [&] { model(data.x); }},
      {"evaluate", [&] { model.evaluate(data.x, data.y); }},
      {"fit", [&] { model.fit(data.x, data.y, {.verbose = 0}); }},
      {"train_on_batch", [&] { model.train_on_batch(data.x, data.y); }},
      {"test_on_batch", [&] { model.test_on_batch(data.x, data.y); }},
      {"compile", [&] { compile(model); }},
      {"save", [&] { model.save(path); }},
      {"save_weights", [&] { model.save_weights(path); }},
      {"load_weights", [&] { model.load_weights(path); }},
      {"get_weights", [&] { model.get_weights(); }},
      {"set_weights", [&] { model.set_weights({}); }}};
  for (const auto& [name, call] : calls)
    EXPECT_THAT(error_during_fit(model, call),
                testing::StartsWith(name + ": this model is in use by fit in another thread"));
}

TEST_P(Threads, AreToldThatSharedLayersAreBeingTrained) {
  Layer shared = Dense(8, {.activation = "relu"});
  Value a = Input({4}), b = Input({4});
  Model first(a, Dense(3, {.activation = "softmax"})(shared(a)));
  Model second(b, Dense(3, {.activation = "softmax"})(shared(b)));
  compile(first);
  compile(second);
  Data data = test::blobs(16, 4, 3, 1);
  std::vector<std::function<void()>> calls = {[&] { second.predict(data.x); },
                                              [&] { second.evaluate(data.x, data.y); },
                                              [&] { second.train_on_batch(data.x, data.y); },
                                              [&] { second.fit(data.x, data.y, {.verbose = 0}); }};
  for (const auto& call : calls)
    EXPECT_THAT(error_during_fit(first, call), testing::HasSubstr("is being trained by a fit"));
  shared.set_trainable(false);  // a frozen layer may be part of several trainings
  compile(first);
  compile(second);
  for (const auto& call : calls) EXPECT_EQ(error_during_fit(first, call), "");
}

TEST_P(Threads, MayStopAFitFromOutside) {
  Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
  compile(model);
  EXPECT_EQ(error_during_fit(model, [&] { model.stop_training(); }), "");
}

TEST_P(Threads, DoNotKeepACallbackFromUsingItsModel) {
  test::TempDir folder;
  Sequential model({Input({4}), Dense(3, {.activation = "softmax"})});
  compile(model);
  Data data = test::blobs(16, 4, 3, 1);
  int calls = 0;
  model.fit(data.x, data.y,
            {.verbose = 0, .callbacks = {LambdaCallback({.on_epoch_end = [&](int64_t, const Logs&) {
                             model.predict(data.x);
                             model.evaluate(data.x, data.y);
                             model.save(folder / "model.stoker");
                             model.set_weights(model.get_weights());
                             ++calls;
                           }})}});
  EXPECT_EQ(calls, 1);
}

TEST_P(Threads, CallOneFunctionOneAfterAnotherOrGetAnError) {
  std::atomic<bool> inside = false, release = false;
  std::string second;
  auto twice = function([&](Value x) {
    inside = true;
    inside.notify_all();
    release.wait(false);
    return x * 2.0;
  });
  Tensor x = test::normal({3}, 1);
  std::thread first([&] { twice(x); });
  inside.wait(false);
  second = error_of([&] { twice(x); });
  release = true;
  release.notify_all();
  first.join();
  EXPECT_THAT(second, testing::HasSubstr("in use by a call that has not ended"));
}

TEST(ThreadsOfAnIterator, TakeTurnsOrGetAnError) {
  std::atomic<bool> inside = false, release = false;
  data::Dataset slow = data::range(4)
                           .map([&](const Tensor& x) {
                             inside = true;
                             inside.notify_all();
                             release.wait(false);
                             return x;
                           })
                           .prefetch(0);
  data::Iterator iterator = slow.iterate();
  std::thread first([&] { iterator.next(); });
  inside.wait(false);
  std::string second = error_of([&] { iterator.next(); });
  release = true;
  release.notify_all();
  first.join();
  EXPECT_THAT(second, testing::HasSubstr("Iterator::next: in use by a call that has not ended"));
  EXPECT_NE(iterator.next(), nullptr);
}

TEST(ThreadsOfOneCaller, HoldNoSecondSetOfPrograms) {
  test::OnDevice device;
  Sequential model({Input({4}), Dense(3)});
  for (int64_t rows : {1, 2, 3}) model.predict(test::normal({rows, 4}, 1));
  EXPECT_EQ(ModelAccess::base(model).trainer->lanes.size(), 1);
}

}  // namespace
}  // namespace stoker
