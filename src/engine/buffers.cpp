#include "engine/buffers.h"

#include <algorithm>

namespace stoker {

namespace {

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Values that an update reads, maybe under another name.
std::vector<bool> read_by_updates(const Graph& graph) {
  std::vector<bool> found(graph.values().size());
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    bool passed_on = node.traits().shares_bytes && found[size_t(node.outputs[0])];
    if (node.phase == Phase::update || passed_on)
      for (int value : node.inputs) found[size_t(value)] = true;
  }
  return found;
}

// A buffer is alive while any part of it is.
std::vector<Lifetime> with_parts(std::span<const BufferInfo> buffers,
                                 std::span<const Lifetime> lifetimes) {
  std::vector<Lifetime> whole(lifetimes.begin(), lifetimes.end());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].kind != BufferKind::part || lifetimes[i].begin < 0) continue;
    Lifetime& parent = whole[size_t(buffers[i].index)];
    parent.begin =
        parent.begin < 0 ? lifetimes[i].begin : std::min(parent.begin, lifetimes[i].begin);
    parent.end = std::max(parent.end, lifetimes[i].end);
  }
  return whole;
}

// The buffers that instructions fill, as what they are while the program runs.
class Held {
 public:
  Held(std::span<const BufferInfo> buffers, std::span<const Lifetime> lifetimes,
       size_t instructions, const PlanOptions& options)
      : last_(int(instructions) - 1) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      const BufferInfo& info = buffers[i];
      bool planned = info.kind == BufferKind::arena;
      if ((!planned && info.kind != BufferKind::output) || lifetimes[i].begin < 0) continue;
      Buffer buffer{round_up(info.bytes, options.unit), lifetimes[i].begin,
                    planned ? lifetimes[i].end : last_, info.category};
      all_.push_back(buffer);
      bytes_ += buffer.bytes;
      if (!planned) continue;
      if (!options.share) {
        buffer.begin = 0;
        buffer.end = last_;
      }
      planned_.push_back(buffer);
      which_.push_back(i);
    }
  }

  MemoryPlan place(std::vector<size_t>& offsets) const {
    MemoryPlan plan = plan_memory(planned_);
    for (size_t i = 0; i < which_.size(); ++i) offsets[which_[i]] = plan.offsets[i];
    return plan;
  }

  // Where no two share memory, all are held all the time.
  std::vector<StepMemory> at_work(const PlanOptions& options) const {
    std::vector<StepMemory> memory = memory_of_steps(all_, size_t(last_ + 1));
    if (!options.share)
      for (StepMemory& step : memory) step.live = bytes_;
    return memory;
  }

 private:
  int last_;  // instruction
  std::vector<Buffer> all_, planned_;
  std::vector<size_t> which_;  // buffers: those of planned_
  size_t bytes_ = 0;
};

MemoryReport report(const MemoryPlan& plan, std::span<const BufferInfo> buffers,
                    const PlanOptions& options) {
  MemoryReport memory{.bytes = plan.at_peak, .arena = plan.peak, .total = 0};
  auto add = [&](MemoryCategory category, size_t bytes) {
    memory.bytes[size_t(category)] += bytes;
  };
  // Gaps between buffers count as workspace, so that the sum is what is held.
  size_t live = 0;
  for (size_t bytes : plan.at_peak) live += bytes;
  add(MemoryCategory::workspace, plan.peak - live);
  add(MemoryCategory::inputs, options.input_bytes);
  for (const BufferInfo& info : buffers)
    if (is_own(info.kind) || info.kind == BufferKind::variable) add(info.category, info.bytes);
  for (size_t bytes : memory.bytes) memory.total += bytes;
  return memory;
}

}  // namespace

bool is_own(BufferKind kind) {
  return kind == BufferKind::output || kind == BufferKind::constant || kind == BufferKind::fixed ||
         kind == BufferKind::zeroed;
}

std::vector<MemoryCategory> memory_categories(const Graph& graph) {
  std::vector<bool> updates_read = read_by_updates(graph);
  std::vector<MemoryCategory> found(graph.values().size(), MemoryCategory::activations);
  for (const Node& node : graph.nodes())
    for (int value : node.outputs) {
      if (node.phase == Phase::update) found[size_t(value)] = MemoryCategory::workspace;
      if (node.phase == Phase::backward && updates_read[size_t(value)])
        found[size_t(value)] = MemoryCategory::gradients;
    }
  return found;
}

BufferPlan plan_buffers(std::span<const BufferInfo> buffers, std::span<const Lifetime> lifetimes,
                        size_t instructions, const PlanOptions& options) {
  std::vector<Lifetime> whole = with_parts(buffers, lifetimes);
  Held held(buffers, whole, instructions, options);
  BufferPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  plan.memory = report(held.place(plan.offsets), buffers, options);
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].kind == BufferKind::part)
      plan.offsets[i] = plan.offsets[size_t(buffers[i].index)] + buffers[i].offset;
  plan.at_work = held.at_work(options);
  return plan;
}

size_t bytes_without_sharing(std::span<const BufferInfo> buffers, size_t unit) {
  size_t bytes = 0;
  for (const BufferInfo& info : buffers)
    if (info.kind == BufferKind::arena) bytes += round_up(info.bytes, unit);
  return bytes;
}

}  // namespace stoker
