#include "engine/cpu/builder.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/team.h"
#include "engine/guard_sees.h"

namespace stoker::cpu {

std::string own_kernel() { return std::string("own:") + kernels().name; }

Builder::Builder(std::unique_ptr<Graph> graph, VariableHomes& homes)
    : PlanBuilder(*graph, OwnBytes::left_out), homes_(homes) {
  parts_.graph = std::move(graph);
  parts_.stream = dnnl::stream(cpu_engine());
  analyse();
}

// --- operands ---

std::vector<const Node*> Builder::users(int value) const {
  std::vector<const Node*> nodes;
  if (schedule_.last_use[size_t(value)] == Schedule::kForEver) return nodes;
  for (int position : users_[size_t(value)])
    nodes.push_back(&graph().nodes()[size_t(schedule_.order[size_t(position)])]);
  return nodes;
}

bool Builder::guard_sees(const Node& product) {
  std::span<const int> weights = std::span(product.inputs).subspan(1);
  auto leaf = [&](int value) -> const ValueInfo& {
    const Node* node = graph().producer(value);
    for (; node != nullptr && node->is("cast"); node = graph().producer(value))
      value = node->inputs[0];
    return graph().values()[size_t(value)];
  };
  auto is_variable = [&](int value) { return leaf(value).kind == ValueKind::variable; };
  if (!stoker::guard_sees(graph(), product) || !std::ranges::all_of(weights, is_variable))
    return false;
  for (int value : weights) parts_.watched.push_back(leaf(value).source);
  return true;
}

void Builder::claim(const Node& node, std::function<void(Builder&)> build) {
  claims_[index_of(node)] = std::move(build);
}

void Builder::take_into(const Node& node, const Node& other) {
  into_[size_t(index_of(node))] = index_of(other);
}

void Builder::attach(int value, const Layout& layout, int buffer) {
  copies_[size_t(value)].push_back({layout, buffer});
  hold(value, buffer);
}

int Builder::define(int value, const Layout& layout) {
  int made = new_result(value, layout.bytes(spec(value)));
  copies_[size_t(value)].push_back({layout, made});
  return made;
}

int Builder::define_over(int value, const Layout& layout, std::initializer_list<int> inputs) {
  int over = reusable(layout.bytes(spec(value)), inputs);
  if (over < 0) return define(value, layout);
  attach(value, layout, over);
  return over;
}

void Builder::define_alias(int value, int source) {
  alias_[size_t(value)] = source;
  if (spec(value) != spec(source)) return;
  for (size_t i = 0; i < copies_[size_t(source)].size(); ++i) {
    Copy copy = copies_[size_t(source)][i];
    attach(value, copy.layout, copy.buffer);
  }
}

int Builder::source_of(int value) const {
  while (alias_[size_t(value)] >= 0) value = alias_[size_t(value)];
  return value;
}

int Builder::place_variable(int value, const Layout& layout) {
  const ValueInfo& info = graph().values()[size_t(value)];
  const Variable& variable = graph().variables()[size_t(info.source)].variable;
  std::shared_ptr<CpuResidence> home = homes_.make(variable, variable.spec(), layout);
  parts_.homes[size_t(info.source)] = home;
  int made = new_leaf_buffer(info, home->bytes());
  attach(value, home->layout(), made);
  return made;
}

void Builder::place_leaf(int value, const Layout& wanted) {
  const ValueInfo& info = graph().values()[size_t(value)];
  if (alias_[size_t(value)] >= 0)
    attach(value, {}, plain(alias_[size_t(value)]));
  else if (info.kind == ValueKind::variable)
    place_variable(value, wanted);
  else
    attach(value, {}, new_leaf_buffer(info, Layout().bytes(info.spec)));
}

const Layout& Builder::layout(int value, const Layout& otherwise) {
  if (copies_[size_t(value)].empty()) input(value, otherwise);
  return copies_[size_t(value)].front().layout;
}

int Builder::input(int value, const Layout& wanted) {
  std::vector<Copy>& copies = copies_[size_t(value)];
  if (copies.empty() && !finish(value)) place_leaf(value, wanted);
  for (const Copy& copy : copies)
    if (copy.layout == wanted) return copy.buffer;
  // From a copy that one reorder can read: a plain one, or one that names its dimensions in the
  // same order.
  auto readable = std::ranges::find_if(copies, [&](const Copy& copy) {
    return wanted.is_plain() || copy.layout.is_plain() ||
           copy.layout.row_major() == wanted.row_major();
  });
  if (readable == copies.end()) {
    plain(value);
    return input(value, wanted);
  }
  return reordered(value, Copy(*readable), wanted);
}

int Builder::reordered(int value, const Copy& from, const Layout& wanted) {
  int to = define(value, wanted);
  const Desc& from_desc = from.layout.is_plain() ? wanted.row_major() : from.layout.desc();
  const Desc& to_desc = wanted.is_plain() ? from.layout.row_major() : wanted.desc();
  emit_reorder(from.buffer, from_desc, to, to_desc);
  return to;
}

void Builder::emit_row_major(int value, int to) {
  const std::vector<Copy>& copies = copies_[size_t(value)];
  auto is_plain = [](const Copy& copy) { return copy.layout.is_plain(); };
  if (copies.empty() || std::ranges::any_of(copies, is_plain))
    return emit_copy(plain(value), to, Layout().bytes(spec(value)));
  Copy from = copies.front();
  emit_reorder(from.buffer, from.layout.desc(), to, from.layout.row_major());
}

int Builder::define_update(int output, int input_value, const Layout& layout) {
  if (overwrites_variable(output, input_value) && this->layout(input_value, layout) == layout) {
    int buffer = input(input_value, layout);
    attach(output, layout, buffer);
    return buffer;
  }
  int from = input(input_value, layout);
  int to = define_over(output, layout, {from});
  if (to != from) emit_copy(from, to, layout.bytes(spec(output)));
  return to;
}

// --- instructions ---

void Builder::append(std::unique_ptr<const Kernel> kernel, Call call) {
  parts_.instructions.push_back({{describe(std::move(call))}, std::move(kernel)});
}

dnnl_memory_t Builder::memory_on(int buffer, const Desc& desc) {
  for (const BoundMemory& bound : parts_.memories)
    if (bound.buffer == buffer && bound.memory.get_desc() == desc) return bound.memory.get();
  parts_.memories.push_back({dnnl::memory(desc, cpu_engine(), nullptr), buffer});
  return parts_.memories.back().memory.get();
}

void Builder::append(dnnl::primitive primitive, const char* name,
                     const std::vector<Argument>& arguments, std::string op, MakeAlone make_alone) {
  Call call{name, {}, {}, std::move(op)};
  PrimitiveCall prepared{std::move(primitive), {}, {}};
  for (const Argument& argument : arguments) {
    (argument.write ? call.writes : call.reads).push_back(argument.buffer);
    prepared.arguments.push_back({argument.id, memory_on(argument.buffer, argument.desc)});
    prepared.descs.push_back(argument.desc);
  }
  append(
      std::make_unique<PrimitiveKernel>(std::move(prepared), std::move(make_alone), parts_.stream),
      std::move(call));
}

void Builder::emit_copy(int from, int to, size_t bytes) {
  emit({"memcpy", {from}, {to}, "copy"}, [bytes](Pointers p) {
    parallel_for(
        int64_t(bytes), kGrain * 4,
        [&](int64_t begin, int64_t end) {
          std::memcpy(p.out<char>(1) + begin, p.in<char>(0) + begin, size_t(end - begin));
        },
        64);
  });
}

void Builder::emit_reorder(int from, const Desc& from_desc, int to, const Desc& to_desc) {
  dnnl::reorder::primitive_desc desc(cpu_engine(), from_desc, cpu_engine(), to_desc,
                                     attr_with_scratchpad());
  emit_primitive<dnnl::reorder>(
      desc, {{DNNL_ARG_FROM, from, from_desc}, {DNNL_ARG_TO, to, to_desc, true}}, "reorder");
}

}  // namespace stoker::cpu
