// scan: the body is built once, as a program of its own inside this one's memory, and run per step
// on other slices. Carries lie in two places that take turns; results of a step are written where
// they belong where nothing else needs them.
#include <algorithm>
#include <cstring>
#include <map>

#include "engine/cpu/bindings.h"
#include "engine/cpu/memory.h"
#include "engine/cpu/ops/op_builders.h"
#include "graph/ops/scan.h"

namespace stoker::cpu {

namespace {

size_t bytes_of(const TensorSpec& spec) { return Layout().bytes(spec); }

// Sizes in the arena are rounded up to a cache line.
size_t lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The body as instructions, and where its buffers lie in the memory that it is given.
struct ScanBody {
  ProgramParts parts;
  BufferPlan plan;
  std::vector<size_t> outputs;   // by buffer: where its own memory begins, for outputs
  std::vector<int> inputs;       // by input: its buffer, or -1 where nothing reads it
  std::vector<bool> goes_there;  // by output: made right where it belongs
  std::vector<AlignedBlock> own;
  size_t bytes = 0;

  ScanBody(ProgramParts made, size_t inputs_of_body) : parts(std::move(made)) {
    plan = plan_buffers(parts.buffers, lifetimes_of(parts.instructions, parts.buffers.size()),
                        parts.instructions.size());
    bytes = lines(plan.memory.arena);
    inputs.assign(inputs_of_body, -1);
    outputs.assign(parts.buffers.size(), 0);
    own.resize(parts.buffers.size());
    for (size_t i = 0; i < parts.buffers.size(); ++i) place(i);
    for (int buffer : parts.output_buffers)
      goes_there.push_back(std::ranges::count(parts.output_buffers, buffer) == 1 &&
                           parts.buffers[size_t(buffer)].kind == BufferKind::output);
  }

  void place(size_t i) {
    const BufferInfo& info = parts.buffers[i];
    if (info.kind == BufferKind::input) inputs[size_t(info.index)] = int(i);
    if (info.kind == BufferKind::output) {
      outputs[i] = bytes;
      bytes += lines(info.bytes);
    } else if (is_own(info.kind)) {
      own[i] = AlignedBlock(info.bytes);
      if (info.kind != BufferKind::constant || info.bytes == 0) return;
      const Tensor& tensor = parts.graph->constants()[size_t(info.index)].tensor;
      std::memcpy(own[i].data(), tensor.raw(), tensor.bytes());
    }
  }
};

// Operands: those of the node; then the results that are read; then the memory of the body, and two
// places per carry.
class ScanKernel final : public Kernel {
 public:
  ScanKernel(ScanCall call, ScanBody body, std::vector<int> results)
      : call_(std::move(call)),
        body_(std::move(body)),
        bound_(body_.parts),
        results_(std::move(results)),
        carries_(call_.inputs_of(ScanRole::carry)) {
    int next = int(call_.roles.size());
    for (int& result : results_) result = result < 0 ? -1 : next++;
    memory_ = next;
  }

  void run(Pointers p) const override {
    bind_fixed(p);
    for (size_t i = 0; i < carries_.size(); ++i)
      std::memcpy(carry(p, i, 0), p.in<char>(int(carries_[i])), carry_bytes(i));
    int64_t turn = 0;
    for (int64_t step = 0; step < call_.length; ++step) {
      keep_history(p, turn, step);
      if (is_open(p, turn, step))
        run_step(p, turn++, step);
      else if (is_over())
        break;
      else
        leave_out(p, step);
    }
    for (size_t i = 0; i < carries_.size(); ++i)
      if (results_[i] >= 0)
        std::memcpy(p.out<char>(results_[i]), carry(p, i, turn), carry_bytes(i));
  }

 private:
  size_t carry_bytes(size_t index) const { return bytes_of(call_.output(index)); }
  // Where a carry lies after `turn` steps that ran.
  char* carry(Pointers p, size_t index, int64_t turn) const {
    return p.out<char>(memory_ + 1 + int(2 * index) + int(turn % 2));
  }
  void bind(int buffer, const void* data) const {
    if (buffer >= 0) bound_.bind(body_.parts, buffer, const_cast<void*>(data));
  }

  void bind_fixed(Pointers p) const {
    for (size_t i = 0; i < body_.parts.buffers.size(); ++i) {
      BufferKind kind = body_.parts.buffers[i].kind;
      if (kind == BufferKind::arena)
        bind(int(i), p.out<char>(memory_) + body_.plan.offsets[i]);
      else if (kind == BufferKind::output)
        bind(int(i), p.out<char>(memory_) + body_.outputs[i]);
      else if (kind != BufferKind::input)
        bind(int(i), body_.own[i].data());
    }
    for (size_t i : call_.inputs_of(ScanRole::captured)) bind(body_.inputs[i], p.in<char>(int(i)));
  }

  // Where an output of this step belongs; null: nowhere.
  char* target(Pointers p, size_t output, int64_t turn, int64_t step) const {
    if (output < carries_.size()) return carry(p, output, turn + 1);
    if (results_[output] < 0) return nullptr;
    return p.out<char>(results_[output]) +
           size_t(call_.slice(step)) * bytes_of(call_.output(output));
  }
  const char* sequence_slice(Pointers p, size_t index, int64_t step) const {
    return p.in<char>(int(index)) + size_t(call_.slice(step)) * bytes_of(call_.input(index));
  }
  size_t outputs() const { return body_.parts.output_buffers.size(); }

  bool is_open(Pointers p, int64_t turn, int64_t step) const {
    if (call_.gate < 0) return true;
    auto gate = size_t(call_.gate);
    if (call_.roles[gate] == ScanRole::sequence) return *sequence_slice(p, gate, step) != 0;
    if (call_.roles[gate] == ScanRole::captured) return *p.in<char>(int(gate)) != 0;
    return *carry(p, size_t(std::ranges::find(carries_, gate) - carries_.begin()), turn) != 0;
  }

  // Where the gate is closed: it is a carry, which no further step opens, and nothing that further
  // steps leave behind is read.
  bool is_over() const {
    return call_.roles[size_t(call_.gate)] == ScanRole::carry &&
           std::ranges::all_of(results_.begin() + long(carries_.size()), results_.end(),
                               [](int result) { return result < 0; });
  }

  // The carries before the step, for the way back.
  void keep_history(Pointers p, int64_t turn, int64_t step) const {
    for (size_t i = 0; i < carries_.size(); ++i)
      if (int history = results_[outputs() + i]; history >= 0)
        std::memcpy(p.out<char>(history) + size_t(call_.slice(step)) * carry_bytes(i),
                    carry(p, i, turn), carry_bytes(i));
  }

  void leave_out(Pointers p, int64_t step) const {
    for (size_t i = carries_.size(); i < outputs(); ++i)
      if (char* to = target(p, i, 0, step); to != nullptr)
        std::memset(to, 0, bytes_of(call_.output(i)));
  }

  void run_step(Pointers p, int64_t turn, int64_t step) const {
    for (size_t i = 0; i < call_.roles.size(); ++i)
      if (call_.roles[i] == ScanRole::sequence) bind(body_.inputs[i], sequence_slice(p, i, step));
    for (size_t i = 0; i < carries_.size(); ++i) bind(body_.inputs[carries_[i]], carry(p, i, turn));
    for (size_t i = 0; i < outputs(); ++i)
      if (char* to = target(p, i, turn, step); to != nullptr && body_.goes_there[i])
        bind(body_.parts.output_buffers[i], to);
    for (size_t i = 0; i < body_.parts.instructions.size(); ++i)
      body_.parts.instructions[i].kernel->run(bound_.of(i));
    for (size_t i = 0; i < outputs(); ++i)
      if (char* to = target(p, i, turn, step); to != nullptr && !body_.goes_there[i])
        std::memcpy(to, bound_.at(body_.parts.output_buffers[i]), bytes_of(call_.output(i)));
  }

  const ScanCall call_;
  mutable ScanBody body_;
  mutable Bindings bound_;
  std::vector<int> results_;  // by result of the node: its operand, or -1
  const std::vector<size_t> carries_;
  int memory_ = 0;
};

void build_scan(Builder& b, const Node& node) {
  ScanCall call(node.attrs);
  std::unique_ptr<Graph> graph = call.body->clone();
  rewrite(*graph);
  ScanBody body(Builder(std::move(graph), b.homes()).build(), call.roles.size());
  Call made{own_kernel() + ":scan", {}, {}, {}};
  for (int value : node.inputs) made.reads.push_back(b.plain(value));
  std::vector<int> results;
  for (int value : node.outputs) {
    results.push_back(b.is_read(value) ? b.define(value) : -1);
    if (results.back() >= 0) made.writes.push_back(results.back());
  }
  made.writes.push_back(b.scratch(std::max<size_t>(body.bytes, 64)));
  for (size_t i = 0; i < call.carries(); ++i)
    for (int place = 0; place < 2; ++place)
      made.writes.push_back(b.scratch(bytes_of(call.output(i))));
  b.emit_kernel(std::make_unique<ScanKernel>(std::move(call), std::move(body), std::move(results)),
                std::move(made));
}

}  // namespace

void add_scan_builders(OpBuilders& table) { table["scan"] = {anything, build_scan}; }

}  // namespace stoker::cpu
