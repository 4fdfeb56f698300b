#include "engine/cuda/builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/cuda/kernels/update.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

std::string describe(const Graph& graph, const Node& node) {
  std::string text = fmt::format("{} \"{}\" of", node.op->name, node.scope);
  for (int value : node.inputs) text += " " + to_string(graph.spec(value));
  return text;
}

}  // namespace

Builder::Builder(std::unique_ptr<Graph> graph, Shared& shared, const CompileOptions& options)
    : shared_(shared), options_(options), schedule_(*graph) {
  parts_.graph = std::move(graph);
  fusion_ = options.keep_order ? no_fusion(this->graph()) : find_fusion(this->graph());
  analyse();
}

// --- before anything is built ---

void Builder::analyse() {
  buffer_of_.assign(graph().values().size(), -1);
  parts_.homes.resize(graph().variables().size());
  const std::vector<int>& order = schedule_.order;
  std::vector<int> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) position[size_t(order[i])] = int(i);

  // A node that another one's kernel includes reads its operands when that kernel runs.
  for (int i = 0; i < int(graph().nodes().size()); ++i) {
    int runs = position[size_t(fusion_.is_inlined(i) ? fusion_.into[size_t(i)] : i)];
    for (int value : graph().nodes()[size_t(i)].inputs) schedule_.use(value, runs);
    if (const Node* pool = pooled_gradient(graph(), graph().nodes()[size_t(i)]))
      for (int value : pool->inputs) schedule_.use(value, runs);
    const auto& tail = fusion_.tails[size_t(i)];
    for (int which : {tail ? tail->norm : -1, tail ? tail->residual_norm : -1}) {
      if (which < 0) continue;
      const Node& norm = graph().nodes()[size_t(which)];
      for (int value : norm.inputs) schedule_.use(value, runs);
      schedule_.use(norm.outputs[1], runs);
      schedule_.use(norm.outputs[2], runs);
    }
  }
  // Bytes are in use as long as any of their names is.
  for (int i = int(graph().nodes().size()); i-- > 0;) {
    const Node& node = graph().nodes()[size_t(i)];
    if (node.traits().shares_bytes)
      schedule_.use(node.inputs[0], schedule_.last_use[size_t(node.outputs[0])]);
  }
}

// --- buffers ---

int Builder::new_buffer(BufferInfo info) {
  parts_.buffers.push_back(info);
  buffer_last_.push_back(-1);
  buffer_value_.push_back(-1);
  return int(parts_.buffers.size()) - 1;
}

void Builder::attach(int value, int buffer) {
  buffer_of_[size_t(value)] = buffer;
  buffer_last_[size_t(buffer)] =
      std::max(buffer_last_[size_t(buffer)], schedule_.last_use[size_t(value)]);
  buffer_value_[size_t(buffer)] = value;
}

MemoryCategory Builder::category_of(int value) const {
  const Node* node = graph().producer(value);
  if (node == nullptr || node->phase != Phase::backward) return MemoryCategory::activations;
  for (const Node& user : graph().nodes())
    if (user.phase == Phase::update && std::ranges::find(user.inputs, value) != user.inputs.end())
      return MemoryCategory::gradients;
  return MemoryCategory::activations;
}

int Builder::place_variable(int value) {
  int index = graph().values()[size_t(value)].source;
  const Variable& variable = graph().variables()[size_t(index)].variable;
  std::shared_ptr<CudaResidence> home = shared_.homes.make(shared_.pool, variable);
  parts_.homes[size_t(index)] = home;
  int buffer = new_buffer({BufferKind::variable, home->bytes(), variable.category(), index});
  attach(value, buffer);
  return buffer;
}

int Builder::input(int value) {
  if (auto turned = untaken_.find(value); turned != untaken_.end()) turn_gradients();
  if (buffer_of_[size_t(value)] >= 0) return buffer_of_[size_t(value)];
  const ValueInfo& info = graph().values()[size_t(value)];
  if (info.kind == ValueKind::variable) return place_variable(value);
  if (info.kind == ValueKind::computed) {
    if (!is_cast_of_variable(value))
      throw Error(fmt::format("the CUDA engine met a value of \"{}\" before its producer",
                              graph().producer(value)->op->name));
    cast_variables(value);
    return buffer_of_[size_t(value)];
  }
  BufferKind kind = info.kind == ValueKind::input ? BufferKind::input : BufferKind::constant;
  int buffer = new_buffer({kind, bytes_of(info.spec), MemoryCategory::inputs, info.source});
  attach(value, buffer);
  return buffer;
}

int Builder::define(int value) {
  int buffer = new_buffer({BufferKind::arena, bytes_of(spec(value)), category_of(value), -1});
  attach(value, buffer);
  return buffer;
}

bool Builder::may_overwrite(int buffer) const {
  return parts_.buffers[size_t(buffer)].kind == BufferKind::arena &&
         buffer_last_[size_t(buffer)] <= position_;
}

int Builder::define_over(int value, std::initializer_list<int> inputs) {
  for (int buffer : inputs) {
    if (buffer < 0 || parts_.buffers[size_t(buffer)].bytes != bytes_of(spec(value)) ||
        !may_overwrite(buffer))
      continue;
    attach(value, buffer);
    return buffer;
  }
  return define(value);
}

void Builder::define_alias(int value, int source) { attach(value, input(source)); }

int Builder::define_update(int output, int input_value) {
  const ValueInfo& info = graph().values()[size_t(input_value)];
  bool direct = in_updates_ && info.kind == ValueKind::variable &&
                info.source == schedule_.assigned_to[size_t(output)] &&
                schedule_.last_use[size_t(input_value)] <= position_;
  if (!direct) return define(output);
  int buffer = input(input_value);
  attach(output, buffer);
  return buffer;
}

int Builder::scratch(size_t bytes) {
  return new_buffer({BufferKind::arena, bytes, MemoryCategory::workspace, -1});
}

int Builder::kept(size_t bytes) {
  return new_buffer({BufferKind::arena, bytes, MemoryCategory::activations, -1});
}

int Builder::zeroed(size_t bytes) {
  return new_buffer({BufferKind::zeroed, bytes, MemoryCategory::workspace, -1});
}

// --- instructions ---

// Bytes of these buffers, each once.
double Builder::touched(std::vector<int> buffers) const {
  std::ranges::sort(buffers);
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  double bytes = 0;
  for (int buffer : buffers) bytes += double(parts_.buffers[size_t(buffer)].bytes);
  return bytes;
}

void Builder::emit(Call call, Kernel kernel) {
  Instruction instruction;
  instruction.run = std::move(kernel);
  instruction.operands = std::move(call.reads);
  for (int buffer : call.writes) {
    instruction.operands.push_back(buffer);
    instruction.results.emplace_back(buffer_value_[size_t(buffer)], buffer);
  }
  // What depends on constants alone is made by the first run and kept.
  auto is_fixed = [&](int buffer) {
    const BufferInfo& info = parts_.buffers[size_t(buffer)];
    return info.kind == BufferKind::constant || info.kind == BufferKind::fixed;
  };
  size_t reads = instruction.operands.size() - call.writes.size();
  instruction.reads = reads;
  instruction.once = reads > 0 && node_ >= 0 && !in_updates_ && call.writes.size() == 1 &&
                     std::all_of(instruction.operands.begin(),
                                 instruction.operands.begin() + long(reads), is_fixed) &&
                     parts_.buffers[size_t(call.writes[0])].kind == BufferKind::arena;
  for (int buffer : call.writes) {
    BufferKind& kind = parts_.buffers[size_t(buffer)].kind;
    if (instruction.once)
      kind = BufferKind::fixed;
    else if (kind == BufferKind::fixed)
      kind = BufferKind::output;  // only a part of it is fixed: what reads it is not
  }
  instruction.info.kernel = std::move(call.kernel);
  KernelWork work{.node = call.node >= 0 ? call.node : node_,
                  .bytes = touched(instruction.operands)};
  work.is_node = work.node >= 0 && call.op.empty();
  for (const auto& [value, buffer] : instruction.results) work.results.push_back(value);
  if (work.node >= 0) {
    const Node& worked = graph().nodes()[size_t(work.node)];
    instruction.info.scope = worked.scope;
    instruction.info.phase = worked.phase;
    if (work.is_node) instruction.info.op = worked.op->name;
  }
  if (!call.op.empty()) instruction.info.op = std::move(call.op);
  work_.push_back(std::move(work));
  parts_.instructions.push_back(std::move(instruction));
}

void Builder::count_costs() {
  std::vector<int> into = fusion_.into;
  // The kernel of a stem's gradient does this, also where the optimiser's is asked to run it.
  for (size_t i = 0; i < into.size(); ++i)
    if (int stem = fusion_.stems[i]; stem >= 0) into[size_t(stem)] = int(i);
  std::vector<Cost> costs = costs_of(graph(), into, work_);
  for (size_t i = 0; i < costs.size(); ++i) parts_.instructions[i].info.cost = costs[i];
}

void Builder::emit_on_host(Call call, Kernel kernel) {
  emit(std::move(call), std::move(kernel));
  parts_.instructions.back().on_host = true;
}

void Builder::emit_guard(Call call, Kernel kernel) {
  emit(std::move(call), std::move(kernel));
  parts_.guards = parts_.instructions.size() - 1;
}

void Builder::emit_copy(int from, int to, size_t bytes) {
  emit({"copy", {from}, {to}, "copy"}, [bytes](const Launch& at) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(at.get(1), at.get(0), bytes, cudaMemcpyDeviceToDevice, at.stream),
          "a copy on the device");
  });
}

// --- the walk ---

void Builder::build_node(int index) {
  node_ = index;
  if (fusion_.is_inlined(index)) return;
  if (std::ranges::all_of(node().outputs, [&](int value) { return is_defined(value); })) return;
  if (node().outputs.size() == 1 && is_cast_of_variable(node().outputs[0]) &&
      spec(node().inputs[0]).dtype == DType::float32 && !options_.keep_order &&
      schedule_.assigned_to[size_t(node().outputs[0])] < 0)
    return;  // made when it is asked for
  const OpBuilder* builder = find_op_builder(node().op->name);
  if (builder == nullptr)
    throw Error(fmt::format("the CUDA engine has no kernel for \"{}\"", node().op->name));
  try {
    builder->build(*this, node());
  } catch (const CudaError& error) {
    throw CudaError(fmt::format("{}: {}", describe(graph(), node()), error.what()));
  }
}

// A copy of a value that nothing overwrites before the next run.
int Builder::keep(int value) {
  int buffer = input(value);
  BufferInfo& info = parts_.buffers[size_t(buffer)];
  if (info.kind == BufferKind::arena) {
    info.kind = BufferKind::output;
    return buffer;
  }
  if (info.kind == BufferKind::output || info.kind == BufferKind::fixed) return buffer;
  size_t bytes = info.bytes;
  int copy = new_buffer({BufferKind::output, bytes, MemoryCategory::activations, -1});
  emit_copy(buffer, copy, bytes);
  return copy;
}

void Builder::finish_outputs() {
  node_ = -1;
  for (const GraphOutput& output : graph().outputs())
    parts_.output_buffers.push_back(keep(output.value));
  if (graph().guard() >= 0) parts_.guard_buffer = keep(graph().guard());
  if (graph().gate() >= 0) parts_.gate_buffer = keep(graph().gate());
  // A variable whose old contents are assigned to another one: taken aside before anything is
  // overwritten.
  for (const Assignment& assignment : graph().assignments()) {
    if (!is_defined(assignment.value) &&
        graph().values()[size_t(assignment.value)].kind == ValueKind::computed &&
        !is_cast_of_variable(assignment.value)) {
      staged_.push_back(-1);  // an update makes it
      continue;
    }
    int buffer = input(assignment.value);
    bool from_variable = parts_.buffers[size_t(buffer)].kind == BufferKind::variable;
    staged_.push_back(from_variable ? keep(assignment.value) : -1);
  }
  in_updates_ = true;
  parts_.first_update = parts_.instructions.size();
}

void Builder::finish_assignments() {
  node_ = -1;
  Call call{"own", {}, {}, "assign"};
  std::vector<size_t> bytes;
  std::vector<bool> always;
  for (size_t i = 0; i < graph().assignments().size(); ++i) {
    const Assignment& assignment = graph().assignments()[i];
    int variable = graph().variables()[size_t(assignment.variable)].value;
    int target = input(variable);
    int source = staged_[i] >= 0 ? staged_[i] : input(assignment.value);
    if (source == target) continue;
    call.reads.push_back(source);
    call.writes.push_back(target);
    bytes.push_back(bytes_of(spec(variable)));
    always.push_back(assignment.when == Assign::always);
  }
  for (size_t first = 0; first < bytes.size(); first += CopyList::kMost) {
    size_t count = std::min(bytes.size() - first, size_t(CopyList::kMost));
    auto part = [&](const std::vector<int>& all) {
      return std::vector<int>(all.begin() + long(first), all.begin() + long(first + count));
    };
    std::vector<size_t> sizes(bytes.begin() + long(first), bytes.begin() + long(first + count));
    emit({"own", part(call.reads), part(call.writes), "assign"}, [=](const Launch& at) {
      CopyList list;
      list.enabled = at.enabled;
      for (size_t i = 0; i < sizes.size(); ++i)
        list.add(at.get(i), at.get(sizes.size() + i), int64_t(sizes[i]), always[first + i]);
      run_copies(list, at.stream);
    });
  }
}

ProgramParts Builder::build() {
  for (position_ = 0; position_ < int(schedule_.order.size()); ++position_) {
    if (size_t(position_) == schedule_.first_update) finish_outputs();
    build_node(schedule_.order[size_t(position_)]);
  }
  if (schedule_.first_update == schedule_.order.size()) finish_outputs();
  finish_assignments();
  // A variable that is not used at all still needs its place.
  for (const GraphVariable& variable : graph().variables())
    if (buffer_of_[size_t(variable.value)] < 0) place_variable(variable.value);
  count_costs();
  return std::move(parts_);
}

}  // namespace stoker::cuda
