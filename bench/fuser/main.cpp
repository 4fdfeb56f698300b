// bench_fuser: what one pass over memory reaches with generated kernels and without, in turns, as a
// share of the device's bandwidth (4.3 TB/s: an H200).
//   bench_fuser [TEXT]   only rows whose name contains TEXT
// Without a GPU or without NVRTC it says so and exits with 77.
#include <cstdlib>
#include <functional>
#include <iostream>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "common/timing.h"
#include "engine/cuda/fuser/nvrtc.h"
#include "engine/registry.h"
#include "graph/emit.h"

namespace stoker::bench {
namespace {

constexpr double kBandwidth = 4.3e12;

Value leaf(const Shape& shape, DType dtype = DType::bfloat16) {
  return Value(Variable("x", Tensor::full(shape, 0.5, dtype)));
}

Value upsampled(const Value& x, int64_t f) {
  const Shape& s = x.shape();
  Value apart = ops::reshape(x, {s[0], s[1], 1, s[2], 1, s[3]});
  Value wide = ops::broadcast_to(apart, {s[0], s[1], f, s[2], f, s[3]});
  return ops::reshape(wide, {s[0], s[1] * f, s[2] * f, s[3]});
}

Value slope(const char* fn, const Shape& shape) {
  return apply1("unary_grad", {leaf(shape), leaf(shape)}, {{"fn", std::string(fn)}});
}

struct Case {
  const char* name;
  std::function<Value()> build;
};

const Shape kImage = {128, 56, 56, 96};

std::vector<Case> cases() {
  return {
      {"relu", [] { return ops::relu(leaf(kImage)); }},
      {"silu", [] { return ops::silu(leaf(kImage)); }},
      {"silu float32", [] { return ops::silu(leaf(kImage, DType::float32)); }},
      {"silu gradient", [] { return slope("silu", kImage); }},
      {"gelu", [] { return ops::gelu(leaf(kImage)); }},
      {"gelu gradient", [] { return slope("gelu", kImage); }},
      {"layer scale + residual", [] { return leaf(kImage) * leaf({96}) + leaf(kImage); }},
      {"excite",
       [] {
         return leaf(kImage) * ops::sigmoid(leaf({128, 1, 1, 96}));
       }},
      {"cast to float32", [] { return ops::cast(leaf(kImage) * 1.0, DType::float32); }},
      {"concatenate",
       [] {
         return ops::concatenate({leaf({32, 160, 160, 64}), leaf({32, 160, 160, 64})});
       }},
      {"upsample + concatenate",
       [] {
         return ops::concatenate({upsampled(leaf({32, 80, 80, 64}), 2), leaf({32, 160, 160, 64})});
       }},
      {"slice",
       [] {
         return ops::slice(leaf({32, 160, 160, 128}), {0, 0, 0, 64}, {32, 160, 160, 64});
       }},
      {"slice, odd",
       [] {
         return ops::slice(leaf({32, 160, 160, 67}), {0, 0, 0, 3}, {32, 160, 160, 63});
       }},
      {"pad",
       [] {
         return ops::pad(leaf({128, 112, 112, 64}), {0, 0, 0, 0}, {0, 1, 1, 0});
       }},
      {"upsample",
       [] {
         return upsampled(leaf({32, 80, 80, 64}), 2);
       }},
      {"upsample gradient",
       [] {
         return ops::sum(ops::reshape(leaf({32, 160, 160, 64}), {32, 80, 2, 80, 2, 64}),
                         {.axes = {2, 4}});
       }},
      {"heads",
       [] {
         return ops::transpose(leaf({128, 197, 6, 64}), {0, 2, 1, 3});
       }},
      {"transpose",
       [] {
         return ops::transpose(leaf({64, 1024, 1024}), {0, 2, 1});
       }},
      {"transpose, odd",
       [] {
         return ops::transpose(leaf({64, 1001, 999}), {0, 2, 1});
       }},
      {"global pooling",
       [] {
         return ops::mean(leaf(kImage), {.axes = {1, 2}});
       }},
      {"global pooling 7x7",
       [] {
         return ops::mean(leaf({512, 7, 7, 1280}), {.axes = {1, 2}});
       }},
      {"squeeze gradient",
       [] {
         return ops::sum(leaf(kImage) * leaf(kImage), {.axes = {1, 2}});
       }},
      {"columns",
       [] {
         return ops::sum(leaf({401408, 96}) * 1.0, {.axes = {0}});
       }},
      {"columns of a product",
       [] {
         return ops::sum(leaf({401408, 96}) * leaf({401408, 96}), {.axes = {0}});
       }},
      {"rows of 1024",
       [] {
         return ops::sum(leaf({65536, 1024}), {.axes = {1}});
       }},
      {"rows of 64, max",
       [] {
         return ops::max(leaf({1048576, 64}), {.axes = {1}});
       }},
      {"rows of 1001",
       [] {
         return ops::sum(leaf({65536, 1001}), {.axes = {1}});
       }},
      {"all", [] { return ops::sum(ops::square(leaf({1 << 26}))); }},
      {"channels first",
       [] {
         return ops::sum(leaf({128, 64, 56, 56}), {.axes = {0, 2, 3}});
       }},
      {"bias, odd",
       [] {
         return leaf({65536, 1001}) + leaf({1001});
       }},
  };
}

struct Row {
  double seconds = 0, compile = 0;
  double bytes = 0;
  size_t kernels = 0;
};

Row measure(const Case& one, const char* nvrtc) {
  ::setenv("STOKER_NVRTC", nvrtc, 1);  // NOLINT(concurrency-mt-unsafe)
  Graph graph;
  Row row;
  {
    Graph::Scope scope(graph, "case");
    Value y = one.build();
    graph.output(y, "y");
    row.bytes = double(y.shape().elements()) * double(size_of(y.dtype()));
  }
  for (const GraphVariable& each : graph.variables()) {
    const TensorSpec& spec = graph.spec(each.value);
    row.bytes += double(spec.shape.elements()) * double(size_of(spec.dtype));
  }
  double start = now();
  auto program = backend("cuda").compile(graph, {});
  row.compile = now() - start;
  row.kernels = program->kernels().size();
  constexpr int kRuns = 50;
  for (int i = 0; i < 5; ++i) program->run({});
  program->status();
  double best = 1e30;
  for (int block = 0; block < 3; ++block) {
    double before = now();
    for (int i = 0; i < kRuns; ++i) program->run({});
    program->status();
    best = std::min(best, (now() - before) / kRuns);
  }
  row.seconds = best;
  return row;
}

int run(const std::string& only) {
  if (!is_usable("cuda") || fuser::Nvrtc::get() == nullptr) {
    std::cerr << "bench_fuser: there is no GPU here, or no NVRTC\n";
    return 77;
  }
  std::cout << "| region | MB | without: us | share | generated: us | share | compiled in ms |\n"
               "|---|---|---|---|---|---|---|\n";
  for (const Case& one : cases()) {
    if (std::string(one.name).find(only) == std::string::npos) continue;
    Row before = measure(one, "off"), after = measure(one, "on");
    auto share = [](const Row& row) { return 100 * row.bytes / row.seconds / kBandwidth; };
    std::cout << fmt::format("| {} | {:.0f} | {:.1f} | {:.0f} % | {:.1f} | {:.0f} % | {:.0f} |\n",
                             one.name, after.bytes * 1e-6, before.seconds * 1e6, share(before),
                             after.seconds * 1e6, share(after), after.compile * 1e3)
              << std::flush;
  }
  return 0;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) { return stoker::bench::run(argc > 1 ? argv[1] : ""); }
