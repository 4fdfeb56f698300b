// recurrent and recurrent_grad as a loop: the product of all inputs with the kernel, then a product
// and a kernel for the gates per step. Numbers between products are float32; buffers hold steps in
// the order in which they are done.
#include "engine/cuda/kernels/recurrent.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/products.h"
#include "engine/cuda/ops/recurrent.h"

namespace stoker::cuda {

namespace {

constexpr DType kWide = DType::float32;

size_t loop_bytes(int64_t count, DType dtype = kWide) {
  return std::max<size_t>(size_t(count) * size_of(dtype), 1);
}

using Plan = std::shared_ptr<const MatmulPlan>;

Plan product_plan(Builder& b, DType dtype, int64_t rows, int64_t columns, int64_t inner,
                  const MatmulKey& more) {
  return b.shared().matmul_plans.find(product_key(b, dtype, rows, columns, inner, more),
                                      b.shared().pool);
}

// Buffers one behind the other: gates, h, c.
struct LoopKept {
  int gates, h, c;
  explicit LoopKept(int first) : gates(first), h(first + 1), c(first + 2) {}
  LoopKept(Builder& b, const RecurrentShape& s, DType dtype)
      : LoopKept(b.kept(loop_bytes(s.steps() * s.columns()))) {
    int64_t states = (s.length + 1) * s.batch * s.units;
    b.kept(loop_bytes(states, dtype));
    b.kept(loop_bytes(states));
  }
};

// Addresses of a step: byte offsets into typed buffers.
struct LoopPlaces {
  RecurrentShape s;
  DType dtype;
  int64_t states() const { return s.batch * s.units; }
  char* typed(void* base, int64_t count) const {
    return static_cast<char*>(base) + count * int64_t(size_of(dtype));
  }
  const char* typed(const void* base, int64_t count) const {
    return static_cast<const char*>(base) + count * int64_t(size_of(dtype));
  }
  RecurrentStep step(int64_t number, float* gates, void* h, float* c, const bool* mask) const {
    RecurrentStep call;
    call.dtype = dtype;
    call.cell = int(s.cell);
    call.batch = int(s.batch);
    call.units = int(s.units);
    call.zero_masked = s.zero_masked;
    call.gates = gates + number * s.batch * s.columns();
    call.h_before = typed(h, number * states());
    call.h = typed(h, (number + 1) * states());
    call.c_before = c + number * states();
    call.c = c + (number + (s.cell == Cell::lstm ? 1 : 0)) * states();
    call.mask = mask == nullptr ? nullptr : mask + s.at(number);
    call.mask_stride = s.length;
    call.y_stride = s.length * s.units;
    return call;
  }
};

LoopKept emit_loop(Builder& b, const RecurrentShape& s, DType dtype, const std::vector<int>& in,
                   const std::vector<int>& out) {
  LoopKept kept(b, s, dtype);
  LoopPlaces places{s, dtype};
  bool lstm = s.cell == Cell::lstm;
  int x = b.scratch(loop_bytes(s.steps() * s.features, dtype));
  emit_recurrent_steps(b, s, dtype, Steps::to_steps, in[0], x, s.features);
  emit_recurrent_product(b,
                         product_key(b, dtype, s.steps(), s.columns(), s.features, {.wide = true}),
                         x, in[1], kept.gates);
  Plan plan = product_plan(b, dtype, s.batch, s.columns(), s.units, {.wide = true});
  Call call{"cublaslt+own:recurrent", {in[2], in[3], in[4], in[lstm ? 5 : 4]}, {}, {}};
  call.reads.push_back(in[s.masked ? s.mask() : 2]);
  int y = out[0] >= 0 ? out[0] : b.scratch(loop_bytes(s.steps() * s.units, dtype));
  call.writes = {kept.gates,
                 kept.h,
                 kept.c,
                 b.scratch(loop_bytes(s.batch * s.columns())),
                 b.scratch(plan->workspace()),
                 y};
  bool has_h = out[1] >= 0, has_c = lstm && out[2] >= 0;
  if (has_h) call.writes.push_back(out[1]);
  if (has_c) call.writes.push_back(out[2]);
  b.emit(std::move(call), [=](const Launch& at) {
    auto* c = at.get<float>(7);
    int64_t states = places.states();
    size_t bytes = size_t(states) * size_of(dtype);
    check(cudaMemcpyAsync(at.get(6), at.get(2), bytes, cudaMemcpyDeviceToDevice, at.stream),
          "the initial state");
    if (lstm) run_recurrent_convert(dtype, at.get(3), kWide, c, states, at.stream);
    const bool* mask = s.masked ? at.get<const bool>(4) : nullptr;
    for (int64_t number = 0; number < s.length; ++number) {
      RecurrentStep step = places.step(number, at.get<float>(5), at.get(6), c, mask);
      plan->run(at.device, at.stream,
                {.a = step.h_before, .b = at.get(0), .y = at.get(8), .workspace = at.get(9)});
      step.product = at.get<float>(8);
      step.bias = at.get(1);
      step.y = places.typed(at.get(10), s.at(number) * s.units);
      if (number > 0) step.y_before = places.typed(at.get(10), s.at(number - 1) * s.units);
      run_recurrent_step(step, at.stream);
    }
    if (has_h)
      check(cudaMemcpyAsync(at.get(11), places.typed(at.get(6), s.length * states), bytes,
                            cudaMemcpyDeviceToDevice, at.stream),
            "the last state");
    if (has_c)
      run_recurrent_convert(kWide, c + s.length * states, dtype, at.get(11 + size_t(has_h)), states,
                            at.stream);
  });
  return kept;
}

}  // namespace

void build_recurrent_loop(Builder& b, const Node& node) {
  RecurrentShape s(node.attrs, recurrent_specs(b, node));
  std::vector<int> in, out;
  for (int value : node.inputs) in.push_back(b.input(value));
  for (int value : node.outputs) out.push_back(b.is_read(value) ? b.define(value) : -1);
  b.attachments()[node.outputs[0]] = emit_loop(b, s, b.spec(node.inputs[0]).dtype, in, out).gates;
}

namespace {

LoopKept loop_kept(Builder& b, const RecurrentShape& s, DType dtype, const Node& node,
                   const std::vector<int>& in) {
  if (int first = find_recurrent_kept(b, node, s); first >= 0) return LoopKept(first);
  return emit_loop(b, s, dtype, in, std::vector<int>(1 + s.states(), -1));
}

struct LoopGradients {
  int dgates, drecurrent, dh, dc;
};

void emit_loop_back(Builder& b, const RecurrentShape& s, DType dtype, const std::vector<int>& in,
                    const LoopKept& kept, const LoopGradients& to) {
  LoopPlaces places{s, dtype};
  bool lstm = s.cell == Cell::lstm;
  Plan plan =
      product_plan(b, dtype, s.batch, s.units, s.columns(), {.transpose_b = true, .wide = true});
  int64_t states = places.states();
  Call call{"cublaslt+own:recurrent",
            {kept.gates, kept.h, kept.c, in[2], in[s.dy()], in[s.dstate(0)],
             in[s.dstate(lstm ? 1 : 0)], in[s.masked ? s.mask() : 2]},
            {to.dgates, to.drecurrent, to.dh, to.dc, b.scratch(loop_bytes(states)),
             b.scratch(loop_bytes(states)), b.scratch(loop_bytes(states)),
             b.scratch(loop_bytes(states)), b.scratch(plan->workspace())},
            {}};
  b.emit(std::move(call), [=](const Launch& at) {
    auto *dh = at.get<float>(12), *dc = at.get<float>(13), *repeated = at.get<float>(14),
         *product = at.get<float>(15);
    run_recurrent_convert(dtype, at.get(5), kWide, dh, states, at.stream);
    run_recurrent_convert(dtype, lstm ? at.get(6) : nullptr, kWide, dc, states, at.stream);
    run_recurrent_convert(dtype, nullptr, kWide, repeated, states, at.stream);
    const bool* mask = s.masked ? at.get<const bool>(7) : nullptr;
    auto through_kernel = [&](int64_t number) {
      plan->run(at.device, at.stream,
                {.a = places.typed(at.get(9), number * s.batch * s.columns()),
                 .b = at.get(3),
                 .y = product,
                 .workspace = at.get(16)});
    };
    for (int64_t number = s.length; number-- > 0;) {
      bool begins = number == s.length - 1;
      if (!begins) through_kernel(number + 1);
      RecurrentStep step = places.step(number, at.get<float>(0), at.get(1), at.get<float>(2), mask);
      step.product = begins ? nullptr : product;
      step.dy = places.typed(at.get(4), s.at(number) * s.units);
      step.dgates = places.typed(at.get(8), number * s.batch * s.columns());
      step.drecurrent = places.typed(at.get(9), number * s.batch * s.columns());
      step.dh = dh;
      step.dc = dc;
      step.repeated = repeated;
      run_recurrent_step_back(step, at.stream);
    }
    if (s.length > 0) {
      through_kernel(0);
      run_recurrent_add(dh, product, states, at.stream);
    }
    run_recurrent_convert(kWide, dh, dtype, at.get(10), states, at.stream);
    if (lstm) run_recurrent_convert(kWide, dc, dtype, at.get(11), states, at.stream);
  });
}

}  // namespace

void build_recurrent_loop_grad(Builder& b, const Node& node) {
  RecurrentShape s(node.attrs, recurrent_specs(b, node));
  DType dtype = b.spec(node.inputs[0]).dtype;
  std::vector<int> in;
  for (int value : node.inputs) in.push_back(b.input(value));
  LoopKept kept = loop_kept(b, s, dtype, node, in);
  bool gru = s.cell == Cell::gru;
  int dgates = b.scratch(loop_bytes(s.steps() * s.columns(), dtype));
  int drecurrent = gru ? b.scratch(loop_bytes(s.steps() * s.columns(), dtype)) : dgates;
  auto made = [&](size_t index) { return b.define(node.outputs[index]); };
  emit_loop_back(b, s, dtype, in, kept,
                 {dgates, drecurrent, made(4), s.cell == Cell::lstm ? made(5) : b.scratch(1)});
  int dx = b.scratch(loop_bytes(s.steps() * s.features, dtype));
  emit_recurrent_product(
      b, product_key(b, dtype, s.steps(), s.features, s.columns(), {.transpose_b = true}), dgates,
      in[1], dx);
  emit_recurrent_steps(b, s, dtype, Steps::from_steps, dx, made(0), s.features);
  int x = b.scratch(loop_bytes(s.steps() * s.features, dtype));
  emit_recurrent_steps(b, s, dtype, Steps::to_steps, in[0], x, s.features);
  emit_recurrent_product(
      b, product_key(b, dtype, s.features, s.columns(), s.steps(), {.transpose_a = true}), x,
      dgates, made(1));
  emit_recurrent_product(
      b, product_key(b, dtype, s.units, s.columns(), s.steps(), {.transpose_a = true}), kept.h,
      drecurrent, made(2));
  b.emit({"own:recurrent_bias", {dgates, drecurrent}, {made(3)}, "recurrent bias"},
         [=](const Launch& at) {
           run_recurrent_bias(dtype, at.get(0), at.get(2), s.steps(), s.columns(), at.stream);
           if (!gru) return;
           run_recurrent_bias(dtype, at.get(1),
                              static_cast<char*>(at.get(2)) + s.columns() * int64_t(size_of(dtype)),
                              s.steps(), s.columns(), at.stream);
         });
}

}  // namespace stoker::cuda
