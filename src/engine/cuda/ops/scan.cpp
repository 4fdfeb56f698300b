// scan: the body is built once, as instructions inside this program's memory, and launched per step
// on other slices. A captured step holds all launches of the loop.
#include "graph/ops/scan.h"

#include <algorithm>

#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

constexpr size_t kUnit = 256;  // what addresses are multiples of

size_t units(size_t bytes) { return std::max<size_t>((bytes + kUnit - 1) / kUnit, 1) * kUnit; }

// The body's instructions, and where its buffers lie: in the memory that it is given, in operands of
// the loop, or in memory that stays zero.
struct ScanBody {
  ProgramParts parts;
  std::vector<size_t> offsets;   // by buffer, in the memory of the body
  std::vector<int> inputs;       // by input: its buffer, or -1
  std::vector<bool> goes_there;  // by output: made right where it belongs
  size_t bytes = 0;

  ScanBody(ProgramParts made, size_t input_count) : parts(std::move(made)) {
    BufferPlan plan =
        plan_buffers(parts.buffers, lifetimes_of(parts.instructions, parts.buffers.size()),
                     parts.instructions.size(), {.unit = kUnit});
    offsets = plan.offsets;
    bytes = units(plan.memory.arena);
    inputs.assign(input_count, -1);
    for (size_t i = 0; i < parts.buffers.size(); ++i) {
      const BufferInfo& info = parts.buffers[i];
      if (info.kind == BufferKind::arena) continue;
      if (info.kind == BufferKind::input) {
        inputs[size_t(info.index)] = int(i);
        continue;
      }
      if (info.kind != BufferKind::output && info.kind != BufferKind::zeroed)
        throw Error("the body of a loop has a leaf of its own");
      offsets[i] = bytes;
      bytes += units(info.bytes);
    }
    for (const Instruction& instruction : parts.instructions)
      if (instruction.on_host)
        throw Error(
            "a function on the host inside a loop (ops::scan) cannot run on a GPU; compute it "
            "before "
            "the loop");
    for (int buffer : parts.output_buffers)
      goes_there.push_back(std::ranges::count(parts.output_buffers, buffer) == 1 &&
                           parts.buffers[size_t(buffer)].kind == BufferKind::output);
  }
};

class ScanLoop {
 public:
  ScanLoop(ScanCall call, ScanBody body, std::vector<int> results)
      : call_(std::move(call)),
        body_(std::move(body)),
        results_(std::move(results)),
        carries_(call_.inputs_of(ScanRole::carry)) {
    int next = int(call_.roles.size());
    for (int& result : results_) result = result < 0 ? -1 : next++;
    memory_ = size_t(next);
  }

  void run(const Launch& at) const {
    std::vector<void*> addresses(body_.parts.buffers.size(), nullptr);
    for (size_t i = 0; i < addresses.size(); ++i) {
      addresses[i] = at.get<char>(memory_) + body_.offsets[i];
      if (body_.parts.buffers[i].kind == BufferKind::zeroed)
        check(cudaMemsetAsync(addresses[i], 0, body_.parts.buffers[i].bytes, at.stream), "zeroing");
    }
    for (size_t i : call_.inputs_of(ScanRole::captured))
      bind(addresses, body_.inputs[i], at.get(i));
    for (size_t i = 0; i < carries_.size(); ++i)
      copy(at, at.get(carries_[i]), carry(at, i, 0), bytes_of(call_.output(i)));
    for (int64_t step = 0; step < call_.length; ++step) run_step(at, addresses, step);
    for (size_t i = 0; i < carries_.size(); ++i)
      if (results_[i] >= 0)
        copy(at, carry(at, i, call_.length), at.get(size_t(results_[i])),
             bytes_of(call_.output(i)));
  }

 private:
  static void copy(const Launch& at, const void* from, void* to, size_t bytes) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, at.stream), "a carry");
  }
  static void bind(std::vector<void*>& addresses, int buffer, void* data) {
    if (buffer >= 0) addresses[size_t(buffer)] = data;
  }
  char* carry(const Launch& at, size_t index, int64_t step) const {
    return at.get<char>(memory_ + 1 + 2 * index + size_t(step % 2));
  }
  char* target(const Launch& at, size_t output, int64_t step) const {
    if (output < carries_.size()) return carry(at, output, step + 1);
    if (results_[output] < 0) return nullptr;
    return at.get<char>(size_t(results_[output])) +
           size_t(call_.slice(step)) * bytes_of(call_.output(output));
  }

  void run_step(const Launch& at, std::vector<void*>& addresses, int64_t step) const {
    auto slice = size_t(call_.slice(step));
    for (size_t i : call_.inputs_of(ScanRole::sequence))
      bind(addresses, body_.inputs[i], at.get<char>(i) + slice * bytes_of(call_.input(i)));
    size_t outputs = body_.parts.output_buffers.size();
    for (size_t i = 0; i < carries_.size(); ++i) {
      bind(addresses, body_.inputs[carries_[i]], carry(at, i, step));
      size_t bytes = bytes_of(call_.output(i));
      if (int history = results_[outputs + i]; history >= 0)
        copy(at, carry(at, i, step), at.get<char>(size_t(history)) + slice * bytes, bytes);
    }
    for (size_t i = 0; i < outputs; ++i)
      if (char* to = target(at, i, step); to != nullptr && body_.goes_there[i])
        addresses[size_t(body_.parts.output_buffers[i])] = to;
    for (const Instruction& instruction : body_.parts.instructions) {
      std::vector<void*> operands;
      for (int buffer : instruction.operands) operands.push_back(addresses[size_t(buffer)]);
      instruction.run({at.device, at.stream, operands, nullptr});
    }
    for (size_t i = 0; i < outputs; ++i)
      if (char* to = target(at, i, step); to != nullptr && !body_.goes_there[i])
        copy(at, addresses[size_t(body_.parts.output_buffers[i])], to, bytes_of(call_.output(i)));
  }

  ScanCall call_;
  ScanBody body_;
  std::vector<int> results_;  // by result of the node: its operand, or -1
  std::vector<size_t> carries_;
  size_t memory_ = 0;
};

void build_scan(Builder& b, const Node& node) {
  ScanCall call(node.attrs);
  std::unique_ptr<Graph> graph = call.body->clone();
  rewrite(*graph, b.options());
  ScanBody body(Builder(std::move(graph), b.shared(), b.options()).build(), call.roles.size());
  Call made{"loop", {}, {}, {}};
  for (int value : node.inputs) made.reads.push_back(b.input(value));
  std::vector<int> results;
  for (int value : node.outputs) {
    results.push_back(b.is_read(value) ? b.define(value) : -1);
    if (results.back() >= 0) made.writes.push_back(results.back());
  }
  made.writes.push_back(b.scratch(body.bytes));
  for (size_t i = 0; i < call.carries(); ++i)
    for (int place = 0; place < 2; ++place)
      made.writes.push_back(b.scratch(units(bytes_of(call.output(i)))));
  auto loop =
      std::make_shared<const ScanLoop>(std::move(call), std::move(body), std::move(results));
  b.emit(std::move(made), [loop](const Launch& at) { loop->run(at); });
}

}  // namespace

void add_scan_builders(OpBuilders& table) { table["scan"] = {build_scan}; }

}  // namespace stoker::cuda
