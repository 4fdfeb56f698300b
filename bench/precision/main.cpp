// Does sixteen-bit training end where float32 does? Each policy over the same seeds, with the same
// first weights and the same order of batches for each seed, until the rate has fallen to zero:
//   bench_precision [--json FILE] [--mnist FOLDER] [--device cuda] [--seeds 8] [--strength 0.22]
//                   [--images 32768] [--epochs 16]
// Tasks: MNIST from its IDX files, where a folder is given, and generated images of CIFAR's size. A
// row a task and policy: the paired difference in test accuracy to float32, in points, with its
// 95 % confidence interval. Beside them, what a change that means nothing makes: float32 from first
// weights that differ in their last bits. And one run that overflows on purpose: it must skip,
// recover and learn.
#include <algorithm>
#include <cmath>
#include <iostream>

#include <fmt/format.h>
#include <stoker/stoker.h>

#include "common/options.h"
#include "common/report.h"

namespace stoker::bench {

namespace {

struct Arguments : Options {
  std::string mnist, device = "cuda";
  int64_t seeds = 8;
  // The generated task: how strong its waves are under their noise, of how many pictures it is
  // learnt, and how often each is seen.
  double strength = 0.22;
  int64_t images = 32768, epochs = 16;

  std::vector<Flag> flags() {
    return with(Options::flags(), {{"--mnist", &mnist},
                                   {"--device", &device},
                                   {"--seeds", &seeds},
                                   {"--strength", &strength},
                                   {"--images", &images},
                                   {"--epochs", &epochs}});
  }
};

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

Task generated(const Arguments& arguments) {
  auto [x, y] = waves(arguments.images, 1, float(arguments.strength));
  auto [test_x, test_y] = waves(8192, 2, float(arguments.strength));
  return {"cifar-size", x, y, test_x, test_y, arguments.epochs};
}

struct Way {
  std::string name, policy;
  double moved = 0;  // first weights times 1 + this
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {{"float32", "float32"},
                                       {"mixed_bfloat16", "mixed_bfloat16"},
                                       {"mixed_float16", "mixed_float16"},
                                       {"float32, first weights moved by 1e-6", "float32", 1e-6}};
  return all;
}

struct Result {
  double accuracy = 0, loss = 0, training_loss = 0, loss_scale = 1;  // points, at the end
  int64_t skipped = 0;
};

constexpr int64_t kBatch = 128;

void move_weights(const Model& model, double by) {
  for (Variable& weight : model.trainable_variables()) {
    Tensor moved = weight.read().clone();
    float* data = moved.data_mut<float>();
    for (int64_t i = 0; i < moved.elements(); ++i) data[i] *= float(1 + by);
    weight.write(moved);
  }
}

Result train(const Task& task, const std::string& device, const Way& way, uint64_t seed) {
  Context context{.seed = seed, .device = device, .policy = way.policy, .out = nullptr};
  set_seed(seed);
  Shape image = {task.x.shape()[1], task.x.shape()[2], task.x.shape()[3]};
  Sequential model({Input(image), Conv2D(32, 3, {.padding = "same", .use_bias = false}),
                    BatchNormalization(), Activation("relu"), MaxPooling2D(),
                    Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(), Flatten(),
                    Dense(10, {.activation = "softmax", .dtype = "float32"})});
  if (way.moved != 0) move_weights(model, way.moved);
  int64_t steps = task.epochs * ((task.x.shape()[0] + kBatch - 1) / kBatch);
  // To zero: else the last batches decide.
  Optimizer adam =
      Adam({.learning_rate = CosineDecay({.initial_learning_rate = 1e-3, .decay_steps = steps})});
  model.compile({.optimizer = adam,
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .context = &context});
  History history =
      model.fit(task.x, task.y, {.epochs = task.epochs, .batch_size = kBatch, .verbose = 0});
  auto found = model.evaluate(task.test_x, task.test_y, {.batch_size = 512});
  return {100 * found["accuracy"], found["loss"], history["loss"].back(),
          model.optimizer().loss_scale(), model.optimizer().skipped_steps()};
}

// Half the width of the 95 % interval of a mean of n, in standard errors: Student's t.
double interval(size_t n) {
  constexpr double kT[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                           2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};
  return n - 2 < std::size(kT) ? kT[n - 2] : 2.1;
}

struct Difference {
  double mean = 0, half = 0;  // the 95 % interval is mean ± half
};

Difference paired(const std::vector<Result>& of, const std::vector<Result>& to) {
  auto n = double(of.size());
  Difference found;
  for (size_t i = 0; i < of.size(); ++i) found.mean += (of[i].accuracy - to[i].accuracy) / n;
  double squares = 0;
  for (size_t i = 0; i < of.size(); ++i)
    squares += std::pow(of[i].accuracy - to[i].accuracy - found.mean, 2);
  found.half = interval(of.size()) * std::sqrt(squares / (n - 1) / n);
  return found;
}

double mean_of(const std::vector<Result>& results, double Result::*what) {
  double sum = 0;
  for (const Result& result : results) sum += result.*what;
  return sum / double(results.size());
}

void compare(const Task& task, const Arguments& arguments, Report& report) {
  // What one may lose and still be called as good, in points. The whole interval has to lie above.
  constexpr double kMargin = 0.5;
  std::vector<std::vector<Result>> results(ways().size());
  for (uint64_t seed = 1; seed <= uint64_t(arguments.seeds); ++seed)
    for (size_t i = 0; i < ways().size(); ++i) {
      Result result = train(task, arguments.device, ways()[i], seed);
      std::cout << fmt::format("{}, seed {}, {}: {:.2f} %, test loss {:.4f}", task.name, seed,
                               ways()[i].name, result.accuracy, result.loss)
                << std::endl;
      results[i].push_back(result);
    }
  for (size_t i = 1; i < ways().size(); ++i) {
    Difference difference = paired(results[i], results[0]);
    std::string note = fmt::format(
        "mean {:+.3f} ± {:.3f} (95 %); accuracy {:.2f} %, of float32 {:.2f} %; test "
        "loss {:.4f} and {:.4f}, training loss {:.4f} and {:.4f}; seeds:",
        difference.mean, difference.half, mean_of(results[i], &Result::accuracy),
        mean_of(results[0], &Result::accuracy), mean_of(results[i], &Result::loss),
        mean_of(results[0], &Result::loss), mean_of(results[i], &Result::training_loss),
        mean_of(results[0], &Result::training_loss));
    for (size_t k = 0; k < results[0].size(); ++k)
      note += fmt::format(" {:.2f}/{:.2f}", results[i][k].accuracy, results[0][k].accuracy);
    if (ways()[i].policy == "mixed_float16")
      note += fmt::format("; last run: scale {}, {} steps skipped", results[i].back().loss_scale,
                          results[i].back().skipped);
    bool counts = ways()[i].moved == 0;
    report.add({.name = fmt::format("{}: {} against float32, lower end", task.name, ways()[i].name),
                .value = difference.mean - difference.half,
                .unit = "points",
                .better = Better::higher,
                .bar = counts ? std::optional(-kMargin) : std::nullopt,
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

int run(const Arguments& arguments) {
  if (arguments.seeds < 2) throw ValueError("--seeds: a spread needs two at least");
  Report report;
  if (!arguments.mnist.empty()) compare(mnist(arguments.mnist), arguments, report);
  compare(generated(arguments), arguments, report);
  overflow(arguments, report);
  finish(report, arguments);
  return report.all_met() ? 0 : 1;
}

}  // namespace

}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_precision", argc, argv, stoker::bench::run);
}
