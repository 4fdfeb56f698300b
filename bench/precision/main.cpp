// Does sixteen-bit training end where float32 does? Each policy, five seeds, the same data:
//   bench_precision [--json FILE] [--mnist FOLDER] [--device cuda] [--seeds 5] [--strength 0.25]
// Tasks: MNIST from its IDX files, where a folder is given, and generated images of CIFAR's size. A
// row a task and policy: the mean difference in test accuracy to float32, in points, with its
// standard error. And one run that overflows on purpose: it must skip, recover and learn.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include <fmt/format.h>
#include <stoker/stoker.h>

#include "common/report.h"

namespace stoker::bench {

namespace {

struct Arguments {
  std::string json, mnist, device = "cuda";
  uint64_t seeds = 5;
  // Of the generated waves under their noise: weaker ones do not converge in the epochs given, and
  // differ by seed more than by policy.
  double strength = 0.25;
};

Arguments parse_arguments(int argc, char** argv) {
  Arguments found;
  for (int i = 1; i < argc; i += 2) {
    std::string word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--json")
      found.json = value;
    else if (word == "--mnist")
      found.mnist = value;
    else if (word == "--device")
      found.device = value;
    else if (word == "--seeds")
      found.seeds = std::stoul(value);
    else if (word == "--strength")
      found.strength = std::stod(value);
    else
      throw ValueError("unknown option " + word +
                       "; there are --json, --mnist, --device, --seeds, --strength");
  }
  return found;
}

struct Task {
  std::string name;
  Tensor x, y, test_x, test_y;
  int64_t epochs;
};

Tensor as_images(const Tensor& bytes) {
  Tensor images(DType::float32, {bytes.shape()[0], 28, 28, 1});
  for (int64_t i = 0; i < images.elements(); ++i)
    images.data_mut<float>()[i] = float(bytes.data<uint8_t>()[i]) / 255;
  return images;
}

Tensor as_classes(const Tensor& bytes) {
  Tensor classes(DType::int32, {bytes.shape()[0]});
  for (int64_t i = 0; i < classes.elements(); ++i)
    classes.data_mut<int32_t>()[i] = bytes.data<uint8_t>()[i];
  return classes;
}

Task mnist(const std::string& folder) {
  auto file = [&](const char* name) { return load_idx(folder + "/" + name + ".gz"); };
  return {"mnist",
          as_images(file("train-images-idx3-ubyte")),
          as_classes(file("train-labels-idx1-ubyte")),
          as_images(file("t10k-images-idx3-ubyte")),
          as_classes(file("t10k-labels-idx1-ubyte")),
          3};
}

constexpr int64_t kSide = 32, kClasses = 10;

// A wave for each class, of its own direction, length and colour, under noise and a random phase.
std::pair<Tensor, Tensor> waves(int64_t count, uint64_t seed, float strength) {
  Tensor x(DType::float32, {count, kSide, kSide, 3}), y(DType::int32, {count});
  float* pixels = x.data_mut<float>();
  for (int64_t i = 0; i < count; ++i) {
    Rng rng(seed, uint64_t(i));
    auto label = int32_t(rng.integer(0, kClasses));
    y.data_mut<int32_t>()[i] = label;
    float angle = 0.3F * float(label), phase = rng.uniform(0, 6.28F);
    float length = 0.4F + 0.08F * float(label % 4);
    for (int64_t row = 0; row < kSide; ++row)
      for (int64_t column = 0; column < kSide; ++column)
        for (int64_t channel = 0; channel < 3; ++channel) {
          float along = std::cos(angle) * float(column) + std::sin(angle) * float(row);
          *pixels++ = strength * std::sin(length * along + phase + float(channel * (label % 3))) +
                      rng.normal();
        }
  }
  return {x, y};
}

Task generated(double strength) {
  auto [x, y] = waves(8192, 1, float(strength));
  auto [test_x, test_y] = waves(4096, 2, float(strength));
  return {"cifar-size", x, y, test_x, test_y, 6};
}

struct Result {
  double accuracy = 0, loss_scale = 1;
  int64_t skipped = 0;
};

Result train(const Task& task, const std::string& device, const std::string& policy,
             uint64_t seed) {
  Context context{.seed = seed, .device = device, .policy = policy, .out = nullptr};
  set_seed(seed);
  Shape image = {task.x.shape()[1], task.x.shape()[2], task.x.shape()[3]};
  Sequential model({Input(image), Conv2D(32, 3, {.padding = "same", .use_bias = false}),
                    BatchNormalization(), Activation("relu"), MaxPooling2D(),
                    Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(), Flatten(),
                    Dense(10, {.activation = "softmax", .dtype = "float32"})});
  model.compile({.optimizer = "adam",
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .context = &context});
  model.fit(task.x, task.y, {.epochs = task.epochs, .batch_size = 128, .verbose = 0});
  // The last epoch with small steps: else the last batches decide.
  model.optimizer().set_learning_rate(1e-4);
  model.fit(task.x, task.y, {.epochs = 1, .batch_size = 128, .verbose = 0});
  return {model.evaluate(task.test_x, task.test_y, {.batch_size = 512})["accuracy"],
          model.optimizer().loss_scale(), model.optimizer().skipped_steps()};
}

void compare(const Task& task, const Arguments& arguments, Report& report) {
  constexpr const char* kPolicies[] = {"float32", "mixed_bfloat16", "mixed_float16"};
  std::vector<double> accuracies[3];
  Result last;
  for (uint64_t seed = 1; seed <= arguments.seeds; ++seed)
    for (size_t i = 0; i < 3; ++i) {
      last = train(task, arguments.device, kPolicies[i], seed);
      accuracies[i].push_back(100 * last.accuracy);
    }
  for (size_t i = 1; i < 3; ++i) {
    auto n = double(arguments.seeds);
    double sum = 0, squares = 0, full = 0;
    for (size_t k = 0; k < accuracies[0].size(); ++k) {
      double difference = accuracies[i][k] - accuracies[0][k];
      sum += difference;
      squares += difference * difference;
      full += accuracies[0][k];
    }
    double mean = sum / n, error = std::sqrt(std::max(squares / n - mean * mean, 0.0) / (n - 1));
    std::string note = fmt::format("± {:.3f}; float32 {:.2f} %; seeds:", error, full / n);
    for (size_t k = 0; k < accuracies[0].size(); ++k)
      note += fmt::format(" {:.2f}/{:.2f}", accuracies[i][k], accuracies[0][k]);
    if (i == 2)
      note += fmt::format("; last run: scale {}, {} steps skipped", last.loss_scale, last.skipped);
    // Within noise: three standard errors and a tenth of a point, and never more than one point.
    report.add({.name = fmt::format("{}: {} against float32", task.name, kPolicies[i]),
                .value = mean,
                .unit = "points",
                .better = Better::higher,
                .bar = -std::min(3 * error + 0.1, 1.0),
                .note = note});
  }
}

// Regression on inputs so large that the gradient does not fit float16 until the scale has fallen.
void overflow(const Arguments& arguments, Report& report) {
  Context context{.seed = 1, .device = arguments.device, .policy = "mixed_float16", .out = nullptr};
  Tensor x(DType::float32, {256, 8}), y(DType::float32, {256, 1});
  Rng rng(7);
  for (int64_t i = 0; i < x.elements(); ++i) x.data_mut<float>()[i] = 60 * rng.normal();
  for (int64_t i = 0; i < 256; ++i) y.data_mut<float>()[i] = x.data<float>()[8 * i] / 60;
  set_seed(1);
  Sequential model({Input({8}), Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = 1e-5}), .loss = "mse", .context = &context});
  History history = model.fit(x, y, {.epochs = 40, .batch_size = 32, .verbose = 0});
  report.add(
      {.name = "float16 that overflows: loss at the end, of that at the start",
       .value = history["loss"].back() / history["loss"].front(),
       .unit = "×",
       .better = Better::lower,
       .bar = 0.5,
       .note = fmt::format("{} of 320 steps skipped, scale {} at the end",
                           model.optimizer().skipped_steps(), model.optimizer().loss_scale())});
}

int run(int argc, char** argv) {
  Arguments arguments = parse_arguments(argc, argv);
  Report report;
  if (!arguments.mnist.empty()) compare(mnist(arguments.mnist), arguments, report);
  compare(generated(arguments.strength), arguments, report);
  overflow(arguments, report);
  report.print(std::cout);
  if (!arguments.json.empty()) report.write_json(arguments.json);
  return report.all_met() ? 0 : 1;
}

}  // namespace

}  // namespace stoker::bench

int main(int argc, char** argv) {
  try {
    return stoker::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_precision: %s\n", error.what());
    return 2;
  }
}
