// Distiller: what a student learns from a teacher, and what it leaves alone.
#include <stoker/distill.h>

#include <algorithm>

#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

Model teacher_of(const char* activation = "softmax") {
  return Sequential({Input({8}), Dense(24, {.activation = "relu", .name = "wide"}),
                     BatchNormalization({.name = "norm"}), Dropout(0.3, {.name = "drop"}),
                     Dense(3, {.activation = activation, .name = "head"})},
                    {.name = "teacher"});
}

Model student_of(const char* activation = "softmax") {
  return Sequential({Input({8}), Dense(5, {.activation = "relu", .name = "narrow"}),
                     Dense(3, {.activation = activation, .name = "head"})},
                    {.name = "student"});
}

Loss loss_from(bool logits) { return SparseCategoricalCrossentropy({.from_logits = logits}); }

std::vector<double> softmax_of(const Tensor& logits, int64_t row, double temperature) {
  std::vector<double> p;
  double sum = 0;
  for (int64_t i = 0; i < 3; ++i) p.push_back(std::exp(logits.at(row * 3 + i) / temperature));
  for (double each : p) sum += each;
  for (double& each : p) each /= sum;
  return p;
}

// T² KL, in double.
double divergence(const Tensor& teacher, const Tensor& student, double temperature) {
  double sum = 0;
  int64_t count = teacher.shape()[0];
  for (int64_t row = 0; row < count; ++row) {
    std::vector<double> p = softmax_of(teacher, row, temperature);
    std::vector<double> q = softmax_of(student, row, temperature);
    for (size_t i = 0; i < p.size(); ++i) sum += p[i] * std::log(p[i] / q[i]);
  }
  return temperature * temperature * sum / double(count);
}

double crossentropy(const Tensor& logits, const Tensor& y) {
  double sum = 0;
  for (int64_t row = 0; row < y.elements(); ++row)
    sum -= std::log(softmax_of(logits, row, 1)[size_t(y.at(row))]);
  return sum / double(y.elements());
}

// The same weights without the softmax.
Model logits_of(const Model& model) {
  Model plain = model.base().label() == "teacher" ? teacher_of("linear") : student_of("linear");
  plain.set_weights(model.get_weights());
  return plain;
}

class Distill : public DeviceTest {
 protected:
  Data data_ = blobs(96, 8, 3, 5);
};
INSTANTIATE_ON_DEVICES(Distill);

TEST_P(Distill, LossIsTheUsualFormulaFromLogitsAndFromProbabilities) {
  for (bool teacher_logits : {true, false})
    for (bool student_logits : {true, false}) {
      Model teacher = teacher_of(teacher_logits ? "linear" : "softmax");
      Model student = student_of(student_logits ? "linear" : "softmax");
      Distiller distiller(teacher, student, {.alpha = 0.3, .temperature = 4});
      distiller.compile({.optimizer = "sgd", .loss = loss_from(student_logits)});
      Tensor taught = logits_of(teacher).predict(data_.x);
      Tensor learnt = logits_of(student).predict(data_.x);
      double hard = crossentropy(learnt, data_.y), soft = divergence(taught, learnt, 4);
      Logs logs = distiller.evaluate(data_.x, data_.y);
      EXPECT_NEAR(logs["student_loss"], hard, 1e-5);
      EXPECT_NEAR(logs["distillation_loss"], soft, 1e-5);
      EXPECT_NEAR(logs["loss"], 0.3 * hard + 0.7 * soft, 1e-5);
    }
}

TEST_P(Distill, TeacherStaysAsItIsAndStudentLearns) {
  Model teacher = teacher_of(), student = student_of();
  teacher.compile({.optimizer = Adam({.learning_rate = 0.02}), .loss = loss_from(false)});
  teacher.fit(data_.x, data_.y, {.epochs = 20, .verbose = 0});
  std::vector<Tensor> before = teacher.get_weights();
  Distiller distiller(teacher, student);
  distiller.compile({.optimizer = Adam({.learning_rate = 0.02}),
                     .loss = loss_from(false),
                     .metrics = {"accuracy"}});
  History history = distiller.fit(data_.x, data_.y, {.epochs = 30, .verbose = 0});
  EXPECT_EQ(teacher.get_weights(), before);
  EXPECT_TRUE(teacher.trainable());  // stays as it was
  EXPECT_LT(history["distillation_loss"].back(), 0.5 * history["distillation_loss"].front());
  EXPECT_GT(history["accuracy"].back(), 0.9);
  expect_near(student.predict(data_.x), distiller.predict(data_.x), 1e-6);
  teacher.fit(data_.x, data_.y, {.epochs = 1, .verbose = 0});  // it can still be trained
  EXPECT_NE(teacher.get_weights(), before);
}

// The step itself, against one that is written by hand.
TEST_P(Distill, StepIsThatOfAnOwnLoop) {
  Model teacher = teacher_of("linear"), student = student_of("linear");
  Model same = student_of("linear");
  same.set_weights(student.get_weights());
  Distiller distiller(teacher, student, {.alpha = 0.25, .temperature = 2});
  distiller.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = loss_from(true)});
  SGD sgd({.learning_rate = 0.1});
  auto step = function([&](Value x, Value y) {
    Value soft = ops::softmax(teacher(x, {.training = false}) / 2.0);
    Value logits = same(x);
    Value hard = sparse_categorical_crossentropy(y, logits, {.from_logits = true});
    Value loss = 0.25 * hard + 0.75 * 4.0 * kl_divergence(soft, ops::softmax(logits / 2.0));
    sgd.apply(gradients(loss, same.trainable_variables()), same.trainable_variables());
  });
  for (int i = 0; i < 5; ++i) {
    (void)distiller.train_on_batch(data_.x, data_.y)["loss"];
    step(data_.x, data_.y);
  }
  expect_near(student.get_weights(), same.get_weights(), 1e-4);
}

TEST_P(Distill, FeaturesOfOtherWidthsGoThroughAProjection) {
  Model teacher = teacher_of(), student = student_of();
  TempDir folder;
  Distiller distiller(
      teacher, student,
      {.features = {{"narrow", "wide", 0.5}, {.student = "head", .teacher = "head"}}});
  EXPECT_EQ(distiller.weights().size(), student.weights().size() + 1);
  distiller.compile({.optimizer = Adam({.learning_rate = 0.02}), .loss = loss_from(false)});
  History history = distiller.fit(data_.x, data_.y, {.epochs = 20, .verbose = 0});
  EXPECT_LT(history["feature_loss"].back(), history["feature_loss"].front());
  EXPECT_NEAR(history["loss"].back(),
              0.1 * history["student_loss"].back() + 0.9 * history["distillation_loss"].back() +
                  history["feature_loss"].back(),
              1e-4);
  // A file holds the student, with what was settled for its training.
  distiller.save(folder / "student.stoker");
  Model loaded = load_model(folder / "student.stoker");
  EXPECT_EQ(loaded.count_params(), student.count_params());
  EXPECT_EQ(loaded.predict(data_.x), student.predict(data_.x));
  loaded.fit(data_.x, data_.y, {.epochs = 1, .verbose = 0});
  distiller.save_weights(folder / "w.safetensors");
  student_of().load_weights(folder / "w.safetensors");
}

TEST(DistillFeatures, OfLayersInsideOfModelsAndLayers) {
  OnDevice device;
  Data data = blobs(32, 8, 3, 5);
  Value x = Input({8});
  Sequential body(
      {Input({8}), Dense(16, {.activation = "relu", .name = "inner"}), BatchNormalization()},
      {.name = "body"});
  Model teacher(x, Dense(3, {.activation = "softmax"})(body(x)));
  Sequential small({Input({8}), Dense(4, {.activation = "relu", .name = "inside"}), Dense(4)},
                   {.name = "small"});
  Sequential student({Input({8}), small, Dense(3, {.activation = "softmax"})});
  Distiller distiller(teacher, student, {.features = {{"small/inside", "body/inner"}}});
  distiller.compile({.optimizer = "adam", .loss = loss_from(false)});
  History history = distiller.fit(data.x, data.y, {.epochs = 8, .verbose = 0});
  EXPECT_LT(history["feature_loss"].back(), history["feature_loss"].front());
}

TEST(DistillOutputs, OfLabelsAndOfNumbers) {
  OnDevice device;
  Tensor x = normal({64, 8}, 3), labels = Tensor::zeros({64, 3}), numbers = normal({64, 2}, 4);
  for (int64_t i = 0; i < labels.elements(); i += 2) labels.data_mut<float>()[i] = 1;
  auto net = [](int64_t width, int64_t outputs, const char* activation) {
    return Sequential({Input({8}), Dense(width, {.activation = "tanh"}),
                       Dense(outputs, {.activation = activation})});
  };
  Model teacher = net(16, 3, "sigmoid"), student = net(4, 3, "sigmoid");
  Distiller of_labels(teacher, student, {.alpha = 0, .temperature = 2});
  of_labels.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  Tensor p = teacher.predict(x), q = student.predict(x);
  double sum = 0;
  auto softened = [](double each) { return 1 / (1 + std::exp(-std::log(each / (1 - each)) / 2)); };
  for (int64_t i = 0; i < p.elements(); ++i) {
    double a = softened(p.at(i)), b = softened(q.at(i));
    sum += a * std::log(a / b) + (1 - a) * std::log((1 - a) / (1 - b));
  }
  EXPECT_NEAR(of_labels.evaluate(x, labels)["loss"], 4 * sum / double(p.elements()), 1e-4);

  Model wide = net(16, 2, "linear"), narrow = net(4, 2, "linear");
  Distiller of_numbers(wide, narrow, {.alpha = 0, .temperature = 7});
  of_numbers.compile({.optimizer = "adam", .loss = "mse"});
  Tensor a = wide.predict(x), b = narrow.predict(x);
  sum = 0;
  for (int64_t i = 0; i < a.elements(); ++i) sum += std::pow(a.at(i) - b.at(i), 2);
  EXPECT_NEAR(of_numbers.evaluate(x, numbers)["loss"], sum / double(a.elements()), 1e-5);
}

// Probabilities that no softmax made: the model's own normalisation.
TEST(DistillOutputs, ProbabilitiesOfAnotherMakeAreSaid) {
  OnDevice device;
  Data data = blobs(32, 8, 3, 5);
  auto net = [](int64_t width) {
    Value x = Input({8});
    Value raw = ops::exp(Dense(3)(Dense(width, {.activation = "tanh"})(x)));
    return Model(x, raw / ops::sum(raw, {.axes = {-1}, .keepdims = true}));
  };
  Model teacher = net(12), student = net(3);
  Distiller distiller(
      teacher, student,
      {.alpha = 0, .temperature = 1, .teacher_outputs = DistillOutputs::probabilities});
  distiller.compile({.optimizer = "adam", .loss = loss_from(false)});
  Tensor p = teacher.predict(data.x), q = student.predict(data.x);
  double sum = 0;
  for (int64_t i = 0; i < p.elements(); ++i) sum += p.at(i) * std::log(p.at(i) / q.at(i));
  EXPECT_NEAR(distiller.evaluate(data.x, data.y)["loss"], sum / 32, 1e-4);
}

TEST(DistillModels, OfSeveralInputsAndOutputs) {
  OnDevice device;
  auto net = [](int64_t width) {
    Value a = Input({4}, {.name = "a"}), b = Input({6}, {.name = "b"});
    Value both = Concatenate()({Dense(width)(a), Dense(width)(b)});
    return Model(Values{a, b}, Values{Dense(3, {.activation = "softmax", .name = "which"})(both),
                                      Dense(1, {.name = "much"})(both)});
  };
  Model teacher = net(12), student = net(2);
  Distiller distiller(teacher, student, {.alpha = 0.5});
  distiller.compile({.optimizer = Adam({.learning_rate = 0.01}),
                     .loss = {"sparse_categorical_crossentropy", "mse"},
                     .loss_weights = {1.0, 0.1},
                     .metrics = {Metric("accuracy").with({.output = "which"})}});
  Data data = blobs(48, 4, 3, 5);
  Tensor more = normal({48, 6}, 2), much = normal({48, 1}, 9);
  History history = distiller.fit({data.x, more}, {data.y, much}, {.epochs = 6, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front());
  for (const char* name : {"which_loss", "much_loss", "student_loss", "distillation_loss"})
    EXPECT_GT(history[name].back(), 0) << name;
}

TEST(DistillWeights, WeighBothLosses) {
  OnDevice device;
  Data data = blobs(32, 8, 3, 5);
  Model teacher = teacher_of(), student = student_of();
  Distiller distiller(teacher, student, {.alpha = 0.5});
  distiller.compile({.optimizer = "sgd", .loss = loss_from(false)});
  Tensor weights = Tensor::zeros({32});
  for (int64_t i = 0; i < 16; ++i) weights.data_mut<float>()[i] = 2;
  Logs weighted = distiller.evaluate(data.x, data.y, {.sample_weight = weights});
  Logs half = distiller.evaluate(data.x.slice(0, 16), data.y.slice(0, 16));
  EXPECT_NEAR(weighted["student_loss"], half["student_loss"], 1e-5);
  EXPECT_NEAR(weighted["distillation_loss"], half["distillation_loss"], 1e-5);
}

TEST(DistillWeights, MaskedStepsDoNotCount) {
  OnDevice device;
  Tensor tokens = Tensor::from<int32_t>({3, 4, 0, 0, 2, 1, 5, 0}, {2, 4});
  Tensor other = Tensor::from<int32_t>({1, 2, 0, 0, 2, 1, 2, 0}, {2, 4});
  auto net = [](int64_t width) {
    return Sequential({Input({4}, {.dtype = DType::int32}),
                       Embedding(8, width, {.mask_zero = true}),
                       Dense(3, {.activation = "softmax"})});
  };
  Model teacher = net(8), student = net(2);
  Distiller distiller(teacher, student, {.alpha = 0, .temperature = 1});
  distiller.compile({.optimizer = "sgd", .loss = loss_from(false)});
  Tensor p = teacher.predict(tokens), q = student.predict(tokens);
  double sum = 0;
  for (int64_t place : {0, 1, 4, 5, 6})
    for (int64_t i = place * 3; i < place * 3 + 3; ++i)
      sum += p.at(i) * std::log(p.at(i) / q.at(i));
  EXPECT_NEAR(distiller.evaluate(tokens, other)["loss"], sum / 5, 1e-5);
}

TEST(DistillPenalties, AreTheStudentsAlone) {
  OnDevice device;
  Data data = blobs(32, 8, 3, 5);
  Sequential teacher({Input({8}), Dense(12, {.activation = "relu", .kernel_regularizer = L2(10.0)}),
                      ActivityRegularization({.l2 = 5.0}), Dense(3)});
  Sequential student({Input({8}), Dense(3, {.kernel_regularizer = L2(0.5)})});
  Distiller distiller(teacher, student, {.alpha = 0.5});
  distiller.compile({.optimizer = "sgd", .loss = loss_from(true)});
  Logs logs = distiller.evaluate(data.x, data.y);
  double penalty = 0;
  Tensor kernel = student.get_weights()[0];
  for (float each : kernel.values<float>()) penalty += 0.5 * double(each * each);
  EXPECT_NEAR(logs["loss"], 0.5 * logs["student_loss"] + 0.5 * logs["distillation_loss"] + penalty,
              1e-4);
}

TEST(DistillResume, GoesOnToTheSameBits) {
  OnDevice device;
  Data data = blobs(96, 8, 3, 5);
  set_seed(3);
  Model teacher = teacher_of();
  auto fit = [&](const std::string& folder, int64_t stop) {
    set_seed(21);
    Model student = student_of();
    Distiller distiller(teacher, student, {.features = {{"narrow", "wide"}}});
    distiller.compile(
        {.optimizer = Adam({.learning_rate = 0.01, .use_ema = true}), .loss = loss_from(false)});
    BackupOptions often{.save_freq = 1};
    if (stop > 0) often.stop_after_steps = stop;
    distiller.fit(data.x, data.y,
                  {.epochs = 4, .verbose = 0, .callbacks = {BackupAndRestore(folder, often)}});
    return distiller.get_weights();
  };
  TempDir whole_folder;
  std::vector<Tensor> whole = fit(whole_folder / "c", 0);
  for (int64_t stop : {1, 4, 7}) {
    TempDir folder;
    EXPECT_THROW(fit(folder / "c", stop), Interrupted);
    EXPECT_EQ(fit(folder / "c", 0), whole) << "stopped after " << stop;
  }
}

TEST(DistillCallbacks, StopRestoreAndSaveTheStudent) {
  OnDevice device;
  TempDir folder;
  Data data = blobs(96, 8, 3, 5);
  Model teacher = teacher_of(), student = student_of();
  Distiller distiller(teacher, student, {.features = {{"narrow", "wide"}}});
  distiller.compile({.optimizer = "adam", .loss = loss_from(false), .metrics = {"accuracy"}});
  EarlyStopping stopping({.monitor = "val_distillation_loss", .restore_best_weights = true});
  ModelCheckpoint best(folder / "best.stoker", {.monitor = "val_loss", .save_best_only = true});
  History history = distiller.fit(
      data.x, data.y,
      {.epochs = 3, .validation_split = 0.25, .verbose = 0, .callbacks = {stopping, best}});
  EXPECT_TRUE(std::ranges::count(history.names(), "val_student_loss") == 1);
  EXPECT_EQ(load_model(folder / "best.stoker").count_params(), student.count_params());
}

TEST_P(Distill, TrainsInMixedPrecision) {
  std::string before = default_context().policy;
  for (const char* policy : {"mixed_bfloat16", "mixed_float16"}) {
    default_context().policy = policy;
    Model teacher = teacher_of(), student = student_of();
    Distiller distiller(teacher, student, {.features = {{"narrow", "wide"}}});
    distiller.compile({.optimizer = Adam({.learning_rate = 0.02}), .loss = loss_from(false)});
    History history = distiller.fit(data_.x, data_.y, {.epochs = 8, .verbose = 0});
    EXPECT_LT(history["loss"].back(), history["loss"].front()) << policy;
  }
  default_context().policy = before;
}

TEST(DistillErrors, NameWhatDoesNotFit) {
  OnDevice device;
  Data data = blobs(16, 8, 3, 5);
  Model teacher = teacher_of(), student = student_of();
  for (double alpha : {-0.1, 1.5, std::nan("")})
    EXPECT_TRUE(says(error_of<ValueError>([&] { Distiller(teacher, student, {.alpha = alpha}); }),
                     {"[0, 1]"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { Distiller(teacher, student, {.temperature = 0}); }),
                   {"above 0"}));
  Sequential ten({Input({8}), Dense(10, {.activation = "softmax"})});
  EXPECT_TRUE(says(error_of<ShapeError>([&] { Distiller(ten, student); }),
                   {"output 0", "10", "3", "other classes"}));
  Sequential larger({Input({9}), Dense(3)});
  EXPECT_TRUE(says(error_of<ShapeError>([&] { Distiller(larger, student); }), {"input 0"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { Distiller(student, student); }), {"share"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     Distiller(teacher, student, {.features = {{"narow", "wide"}}});
                   }),
                   {"student has no layer \"narow\"", "narrow, head"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] {
                     Distiller(teacher, student, {.features = {{"narrow", "body"}}});
                   }),
                   {"teacher has no layer \"body\""}));
  Distiller distiller(teacher, student);
  EXPECT_TRUE(says(error_of<Error>([&] { distiller.fit(data.x, data.y); }), {"not compiled"}));
  Sequential unbuilt({Dense(3)});
  EXPECT_TRUE(says(error_of<Error>([&] { Distiller(teacher, unbuilt); }), {"Input(…)"}));
}

}  // namespace
}  // namespace stoker
