#include "engine/cuda/builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/cuda/kernels/update.h"
#include "engine/cuda/ops/fused.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

std::string describe_node(const Graph& graph, const Node& node) {
  std::string text = fmt::format("{} \"{}\" of", node.op->name, node.scope);
  for (int value : node.inputs) text += " " + to_string(graph.spec(value));
  return text;
}

}  // namespace

Builder::Builder(std::unique_ptr<Graph> graph, Shared& shared, const CompileOptions& options)
    : PlanBuilder(*graph, OwnBytes::counted), shared_(shared), options_(options) {
  parts_.graph = std::move(graph);
  auto generated = GeneratedKernels::usable() ? Generated::yes : Generated::no;
  fusion_ = options.keep_order ? no_fusion(this->graph()) : find_fusion(this->graph(), generated);
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
    if (auto special = fusion_.special.find(i); special != fusion_.special.end())
      for (int value : special->second->also_reads(graph())) schedule_.use(value, runs);
    const auto& tail = fusion_.tails[size_t(i)];
    for (int which : {tail ? tail->norm : -1, tail ? tail->residual_norm : -1}) {
      if (which < 0) continue;
      const Node& norm = graph().nodes()[size_t(which)];
      for (int value : norm.inputs) schedule_.use(value, runs);
      schedule_.use(norm.outputs[1], runs);
      schedule_.use(norm.outputs[2], runs);
    }
  }
  for (const auto& [root, region] : fusion_.regions)
    for (const fuser::Region::Operand& operand : region->operands)
      schedule_.use(operand.value, position[size_t(root)]);
  schedule_.extend_shared(graph());
}

// --- buffers ---

void Builder::attach(int value, int buffer) {
  buffer_of_[size_t(value)] = buffer;
  hold(value, buffer);
}

void Builder::place_variable(int value) {
  const ValueInfo& info = graph().values()[size_t(value)];
  const Variable& variable = graph().variables()[size_t(info.source)].variable;
  std::shared_ptr<CudaResidence> home = shared_.homes.make(variable, shared_.pool, variable.spec());
  parts_.homes[size_t(info.source)] = home;
  attach(value, new_leaf_buffer(info, home->bytes()));
}

int Builder::input(int value) {
  if (auto turned = untaken_.find(value); turned != untaken_.end()) turn_gradients();
  if (buffer_of_[size_t(value)] >= 0 || finish(value)) return buffer_of_[size_t(value)];
  const ValueInfo& info = graph().values()[size_t(value)];
  if (info.kind == ValueKind::variable) {
    place_variable(value);
  } else if (info.kind != ValueKind::computed) {
    attach(value, new_leaf_buffer(info, bytes_of(info.spec)));
  } else {
    if (!is_cast_of_variable(value))
      throw Error(fmt::format("the CUDA engine met a value of \"{}\" before its producer",
                              graph().producer(value)->op->name));
    cast_variables(value);
  }
  return buffer_of_[size_t(value)];
}

int Builder::define(int value) {
  return buffer_of_[size_t(value)] = new_result(value, bytes_of(spec(value)));
}

int Builder::define_over(int value, std::initializer_list<int> inputs) {
  return define_over(value, std::span<const int>(inputs.begin(), inputs.size()));
}

int Builder::define_over(int value, std::span<const int> inputs) {
  int over = -1;
  for (size_t i = 0; i < inputs.size() && over < 0; ++i)
    over = reusable(bytes_of(spec(value)), {inputs[i]});
  if (over < 0) return define(value);
  attach(value, over);
  return over;
}

void Builder::define_alias(int value, int source) { attach(value, input(source)); }

int Builder::define_update(int output, int input_value) {
  if (!overwrites_variable(output, input_value)) return define(output);
  int buffer = input(input_value);
  attach(output, buffer);
  return buffer;
}

int Builder::zeroed(size_t bytes) {
  return new_buffer({BufferKind::zeroed, bytes, MemoryCategory::workspace, -1});
}

const std::shared_ptr<Stream>& Builder::communication_stream() {
  if (communication_ == nullptr) communication_ = std::make_shared<Stream>();
  return communication_;
}

// --- instructions ---

bool Builder::reads_only_constants(const Instruction& instruction) const {
  auto is_fixed = [&](int buffer) {
    BufferKind kind = parts_.buffers[size_t(buffer)].kind;
    return kind == BufferKind::constant || kind == BufferKind::fixed;
  };
  return instruction.reads > 0 &&
         std::all_of(instruction.operands.begin(),
                     instruction.operands.begin() + long(instruction.reads), is_fixed);
}

void Builder::emit(Call call, Kernel kernel) {
  std::vector<int> writes = call.writes;
  Instruction instruction{{describe(std::move(call))}, std::move(kernel)};
  // What depends on constants alone is made by the first run and kept.
  instruction.once = node_index() >= 0 && !in_updates() && writes.size() == 1 &&
                     reads_only_constants(instruction) &&
                     buffer(writes[0]).kind == BufferKind::arena;
  for (int each : writes) {
    BufferKind& kind = buffer(each).kind;
    if (instruction.once)
      kind = BufferKind::fixed;
    else if (kind == BufferKind::fixed)
      kind = BufferKind::output;  // only a part of it is fixed: what reads it is not
  }
  parts_.instructions.push_back(std::move(instruction));
}

void Builder::count_costs() {
  std::vector<int> into = fusion_.into;
  for (const auto& [node, special] : fusion_.special)
    if (int included = special->includes(); included >= 0) into[size_t(included)] = node;
  std::vector<Cost> found = costs(into);
  for (size_t i = 0; i < found.size(); ++i) parts_.instructions[i].info.cost = found[i];
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

void Builder::build_node() {
  if (fusion_.is_inlined(node_index())) return;
  if (std::ranges::all_of(node().outputs, [&](int value) { return is_defined(value); })) return;
  if (node().outputs.size() == 1 && is_cast_of_variable(node().outputs[0]) &&
      spec(node().inputs[0]).dtype == DType::float32 && !options_.keep_order &&
      schedule_.assigned_to[size_t(node().outputs[0])] < 0)
    return;  // made when it is asked for
  // Results without elements need a place and no kernel: libraries divide by extents.
  auto is_empty = [&](int value) { return spec(value).shape.elements() == 0; };
  if (!node().outputs.empty() && std::ranges::all_of(node().outputs, is_empty)) {
    for (int value : node().outputs)
      if (!is_defined(value)) define(value);
    return;
  }
  auto special = fusion_.special.find(node_index());
  auto region = fusion_.regions.find(node_index());
  const OpBuilder* builder = find_op_builder(node().op->name);
  if (builder == nullptr)
    throw Error(fmt::format("the CUDA engine has no kernel for \"{}\"", node().op->name));
  try {
    if (special != fusion_.special.end())
      special->second->build(*this, node());
    else if (region != fusion_.regions.end())
      build_region(*this, *region->second);
    else
      builder->build(*this, node());
  } catch (const CudaError& error) {
    throw CudaError(fmt::format("{}: {}", describe_node(graph(), node()), error.what()));
  }
}

bool Builder::lies_in_variable(int value) {
  bool made_by_update = !is_defined(value) &&
                        graph().values()[size_t(value)].kind == ValueKind::computed &&
                        !is_cast_of_variable(value);
  return !made_by_update && buffer(input(value)).kind == BufferKind::variable;
}

void Builder::write_assignments() {
  Call call{"own", {}, {}, "assign"};
  std::vector<size_t> bytes;
  std::vector<bool> always;
  for (size_t i = 0; i < graph().assignments().size(); ++i) {
    const Assignment& assignment = graph().assignments()[i];
    int variable = graph().variables()[size_t(assignment.variable)].value;
    int target = input(variable);
    int source = staged(i) >= 0 ? staged(i) : input(assignment.value);
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
  walk();
  shared_.kernels.compile(shared_.device->info());
  count_costs();
  return std::move(parts_);
}

}  // namespace stoker::cuda
