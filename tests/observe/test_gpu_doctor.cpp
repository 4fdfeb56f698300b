// The doctor on a GPU: what it says of a device beside the host, that its experiments leave no
// trace, and the settings that it tries.
#include <gtest/gtest.h>
#include <stoker/stoker.h>

#include <algorithm>

#include "observe/machine_peaks.h"
#include "support/gpu_test.h"
#include "train/fit/loops.h"
#include "train/model/weights_hash.h"
#include "train/step/steps.h"

namespace stoker::doctor {
namespace {

constexpr int64_t kBatch = 256, kFeatures = 1024;

class GpuDoctor : public test::GpuTest<> {
 protected:
  GpuDoctor() {
    context_.device = "cuda";
    context_.out = nullptr;
  }

  // The same weights, batches and random numbers every time.
  Sequential compiled(int layers = 1) {
    context_.seed.set(1);
    set_seed(1);
    std::vector<Layer> list = {Input({kFeatures})};
    for (int i = 0; i < layers; ++i) list.push_back(Dense(64, {.activation = "relu"}));
    list.push_back(Dropout(0.1));
    list.push_back(Dense(4, {.activation = "softmax"}));
    Sequential model(list);
    model.compile(
        {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .context = &context_});
    return model;
  }

  static std::vector<Tensor> rows() {
    Tensor x(DType::float32, {4 * kBatch, kFeatures}), y(DType::int64, {4 * kBatch});
    Rng rng(3);
    for (int64_t i = 0; i < x.elements(); ++i) x.data_mut<float>()[i] = rng.normal();
    for (int64_t i = 0; i < y.elements(); ++i) y.data_mut<int64_t>()[i] = i % 4;
    return {x, y};
  }
  // Made ahead, in page-locked memory.
  static data::Dataset dataset() { return data::from_slices(rows()).batch(kBatch); }
  // In ordinary memory.
  static std::vector<Batch> range() {
    std::vector<Batch> list;
    std::unique_ptr<BatchStream> walk =
        Batches(dataset().with_options({.seed = 1, .as_written = true})).begin_walk();
    while (const Batch* batch = walk->next()) list.push_back(*batch);
    return list;
  }

  static const Counterfactual* experiment(const Diagnosis& diagnosis, std::string_view name) {
    auto found = std::ranges::find(diagnosis.counterfactuals, name, &Counterfactual::name);
    return found == diagnosis.counterfactuals.end() ? nullptr : &*found;
  }

  static Program& step_of(const Model& model) {
    return *ModelAccess::base(model).trainer->programs.latest(int(StepKind::train))->program;
  }

  static void train(const Model& model, const Batch& batch, int steps) {
    ModelBase& base = ModelAccess::base(model);
    StepPlace place{.action = "fit", .epoch = 0, .step = 0};
    prepare(base, batch.tensors(), "fit");
    for (int i = 0; i < steps; ++i) run_training_step(base, batch.tensors(), place);
    finish_training_steps(base, place);
  }

  Context context_;
};

TEST_F(GpuDoctor, ReplaysOneBatchWithItsCopyAndWithoutIt) {
  Sequential model = compiled();
  Diagnosis diagnosis = diagnose(model, dataset(), {.steps = 60});
  for (const char* name :
       {"host batch, replayed", "device batch, replayed", "pipeline alone", "batch × 2, replayed"})
    ASSERT_NE(experiment(diagnosis, name), nullptr) << name << "\n" << diagnosis.text();
  EXPECT_GT(experiment(diagnosis, "device batch, replayed")->seconds, 0);
  // What is on already is not tried.
  EXPECT_EQ(experiment(diagnosis, "captured, replayed"), nullptr);
  EXPECT_EQ(experiment(diagnosis, "pinned, replayed"), nullptr);
  EXPECT_NE(diagnosis.json().find("host batch, replayed"), std::string::npos);
  EXPECT_NE(diagnosis.html().find("host batch, replayed"), std::string::npos);
}

TEST_F(GpuDoctor, TriesWhatIsOffAndPutsItBack) {
  context_.capture = context_.pin = false;
  Sequential model = compiled();
  std::vector<Batch> batches = range();
  Diagnosis diagnosis = diagnose(model, batches, {.steps = 60});
  EXPECT_NE(experiment(diagnosis, "captured, replayed"), nullptr) << diagnosis.text();
  EXPECT_NE(experiment(diagnosis, "pinned, replayed"), nullptr) << diagnosis.text();
  EXPECT_EQ(*step_of(model).device_knobs(), (DeviceKnobs{.capture = false, .pin = false}));
}

TEST_F(GpuDoctor, LeavesEveryBitOfAModelAsItWas) {
  for (bool plain : {false, true}) {
    context_.capture = context_.pin = !plain;
    Sequential model = compiled();
    data::Dataset data = dataset();
    model.fit(data, {.steps_per_epoch = 5, .verbose = 0});
    std::string before = weights_sha256(model);
    diagnose(model, data, {.steps = 60, .fix = true});
    EXPECT_EQ(weights_sha256(model), before) << (plain ? "plain" : "captured and pinned");
    // Moments and random numbers too: what follows is what would have followed.
    model.fit(data, {.steps_per_epoch = 5, .verbose = 0});
    Sequential undisturbed = compiled();
    undisturbed.fit(data, {.steps_per_epoch = 5, .verbose = 0});
    undisturbed.fit(data, {.steps_per_epoch = 5, .verbose = 0});
    EXPECT_EQ(weights_sha256(model), weights_sha256(undisturbed)) << plain;
  }
}

TEST_F(GpuDoctor, ChangesNoResultByASetting) {
  std::vector<Batch> batches = range();
  auto trained_with = [&](const DeviceKnobs& knobs) {
    Sequential model = compiled();
    train(model, batches[0], 4);
    step_of(model).set_device_knobs(knobs);
    for (const Batch& batch : batches) train(model, batch, 3);
    return weights_sha256(model);
  };
  std::string usual = trained_with({});
  EXPECT_EQ(trained_with({.capture = false}), usual);
  EXPECT_EQ(trained_with({.pin = false}), usual);
  EXPECT_EQ(trained_with({.capture = false, .pin = false}), usual);
}

TEST_F(GpuDoctor, StartsAStepAtOnceOrKernelByKernelAsItIsTold) {
  Sequential model = compiled(20);
  std::vector<Batch> batches = range();
  train(model, batches[0], 4);
  auto launches_of_ten = [&](const DeviceKnobs& knobs) {
    step_of(model).set_device_knobs(knobs);
    EXPECT_EQ(*step_of(model).device_knobs(), knobs);
    train(model, batches[0], 4);
    int64_t before = step_of(model).device_counts().launches;
    train(model, batches[0], 10);
    return step_of(model).device_counts().launches - before;
  };
  EXPECT_EQ(launches_of_ten({.capture = true}), 10);
  EXPECT_GT(launches_of_ten({.capture = false}), 10 * 20);
  EXPECT_EQ(launches_of_ten({.capture = true}), 10) << "it goes back";
}

TEST_F(GpuDoctor, TrainsOnTheBatchThatLiesThereWhenInputsAreReused) {
  std::vector<Batch> batches = range();
  auto trained = [&](const DeviceKnobs& knobs, const Batch& then) {
    Sequential model = compiled();
    train(model, batches[0], 4);
    step_of(model).set_device_knobs(knobs);
    train(model, then, 4);
    return weights_sha256(model);
  };
  std::string again = trained({}, batches[0]);
  EXPECT_EQ(trained({.reuse_inputs = true}, batches[1]), again) << "the other was not copied";
  EXPECT_NE(trained({}, batches[1]), again);
}

TEST_F(GpuDoctor, TunesAFitWithoutChangingItsResult) {
  context_.capture = context_.pin = false;
  auto weights_after = [&](Tune tune) {
    Sequential model = compiled(30);
    model.fit(dataset(), {.epochs = 100, .verbose = 0, .tune = tune});
    if (tune == Auto) {
      std::optional<Diagnosis> diagnosis = last_diagnosis(model);
      EXPECT_TRUE(diagnosis && !diagnosis->prescriptions.empty() &&
                  diagnosis->prescriptions[0].tried);
      EXPECT_EQ(diagnosis->prescriptions[0].knob, Knob::capture);
    }
    return weights_sha256(model);
  };
  EXPECT_EQ(weights_after(Auto), weights_after(Tune::off));
}

TEST_F(GpuDoctor, AccountsForAllOfTheTime) {
  Sequential model = compiled();
  Diagnosis diagnosis = diagnose(model, dataset(), {.steps = 90, .counterfactuals = false});
  double sum = 0;
  for (double share : diagnosis.shares.share) sum += share;
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_LE(diagnosis.shares[Owner::unexplained], 0.03) << diagnosis.text();
  EXPECT_FALSE(diagnosis.device_name.starts_with("CPU")) << diagnosis.device_name;
}

TEST_F(GpuDoctor, MeasuresWhatTheGpuAndItsLinkReach) {
  const MachinePeaks& peaks = machine_peaks(context_);
  EXPECT_GT(peaks.flops, 1e12);
  EXPECT_GT(peaks.link_bytes, 1e9);
  EXPECT_LT(peaks.link_bytes, peaks.memory.copy);
  for (double rate : {peaks.memory.read, peaks.memory.copy, peaks.memory.update})
    EXPECT_GT(rate, 1e11);
  RecordProperty("peaks", std::to_string(peaks.flops * 1e-12) + " TFLOP/s");
}

}  // namespace
}  // namespace stoker::doctor
