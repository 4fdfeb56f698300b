#include "train/generate/time_axes.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "graph/ops/scan.h"

namespace stoker {

namespace {

using Kind = TimeAxis::Kind;

// One node, and what is known of its operands.
struct Look {
  const Graph& graph;
  const Node& node;
  const TokenInput& tokens;
  std::vector<TimeAxis> in;

  const Shape& shape(size_t input) const { return graph.spec(node.inputs[input]).shape; }
  const Shape& result(size_t output = 0) const { return graph.spec(node.outputs[output]).shape; }
  [[noreturn]] void fail(const std::string& what) const {
    std::string layer = node.scope.empty() ? "" : fmt::format("layer \"{}\": ", node.scope);
    throw NotInSteps{fmt::format("{}{} ({})", layer, what, node.op->name)};
  }
  void expect(bool good, const std::string& what) const {
    if (!good) fail(what);
  }
  void expect_fixed_from(size_t first) const {
    for (size_t i = first; i < in.size(); ++i)
      expect(in[i].fixed(), "an operand changes with the tokens");
  }
};

using Result = std::vector<TimeAxis>;

constexpr const char* kMixes = "mixes the steps of the sequence";

TimeAxis moved(TimeAxis from, int axis) {
  from.axis = axis;
  return from;
}

// A fixed operand's extent under the time axis of the result: absent, 1, or one row per step.
void expect_alignable(const Look& look, size_t input, const TimeAxis& result, int rank) {
  int axis = under(result.axis, rank, look.shape(input));
  bool alone = axis < 0 || look.shape(input)[axis] == 1;
  look.expect(alone || (result.plain() && look.shape(input)[axis] == look.tokens.length),
              "combines steps with values of another extent");
}

// Two stepwise operands along different axes: one looks at the other, as a mask of queries and keys.
TimeAxis joined(const Look& look, const TimeAxis& a, const TimeAxis& b) {
  if (a == b) return a;
  TimeAxis both = a;
  for (int axis : {b.axis, b.key_axis}) {
    if (axis < 0 || axis == both.axis || axis == both.key_axis) continue;
    look.expect(both.key_axis < 0 && both.plain() && b.plain(), kMixes);
    both.key_axis = axis;
  }
  if (both.axis < 0) std::swap(both.axis, both.key_axis);
  if (both.key_axis >= 0 && both.key_axis < both.axis) std::swap(both.axis, both.key_axis);
  return both;
}

Result elementwise(const Look& look) {
  int rank = look.result().rank();
  TimeAxis result;
  for (size_t i = 0; i < look.in.size(); ++i) {
    if (look.in[i].fixed()) continue;
    TimeAxis here = look.in[i];
    int shift = rank - look.shape(i).rank();
    if (here.axis >= 0) here.axis += shift;
    if (here.key_axis >= 0) here.key_axis += shift;
    result = result.fixed() ? here : joined(look, result, here);
  }
  for (size_t i = 0; i < look.in.size(); ++i)
    if (look.in[i].fixed()) expect_alignable(look, i, result, rank);
  return {result};
}

Result same(const Look& look) {
  look.expect_fixed_from(1);
  return {look.in[0]};
}

// Over the last axis.
Result along_last(const Look& look) {
  look.expect_fixed_from(1);
  look.expect(look.in[0].axis != look.result().rank() - 1, kMixes);
  return {look.in[0]};
}

Result layer_norm(const Look& look) {
  look.expect_fixed_from(1);
  look.expect(look.in[0].axis < look.shape(0).rank() - look.shape(1).rank(), kMixes);
  return {look.in[0], look.in[0], look.in[0]};
}

TimeAxis without_axes(const Look& look, const Ints& axes, bool keepdims) {
  TimeAxis time = look.in[0];
  look.expect(std::ranges::find(axes, time.axis) == axes.end(), kMixes);
  auto before = std::ranges::count_if(axes, [&](int64_t axis) { return axis < time.axis; });
  return keepdims ? time : moved(time, time.axis - int(before));
}

Result reduce(const Look& look) {
  return {without_axes(look, look.node.attrs.get<Ints>("axes"),
                       look.node.attrs.get_or("keepdims", false))};
}
Result argmax(const Look& look) {
  return {without_axes(look, {look.node.attrs.get<int64_t>("axis")}, false)};
}

int64_t product(const Shape& shape, int begin, int end) {
  int64_t all = 1;
  for (int axis = begin; axis < end; ++axis) all *= shape[axis];
  return all;
}

// Where the steps are after a reshape: at the axis with the fewest others in it.
TimeAxis reshaped(const Look& look, const TimeAxis& time) {
  const Shape &from = look.shape(0), &to = look.result();
  int64_t before = product(from, 0, time.axis) * time.outer;
  int64_t behind = product(from, time.axis + 1, from.rank()) * time.inner;
  TimeAxis best;
  for (int axis = 0; axis < to.rank(); ++axis) {
    int64_t left = product(to, 0, axis), right = product(to, axis + 1, to.rank());
    if (left == 0 || right == 0 || before % left != 0 || behind % right != 0) continue;
    TimeAxis here{Kind::stepwise, axis, before / left, behind / right};
    if (to[axis] != here.outer * look.tokens.length * here.inner) continue;
    if (best.fixed() || here.outer * here.inner < best.outer * best.inner) best = here;
  }
  look.expect(!best.fixed(), kMixes);
  return best;
}

Result reshape(const Look& look) {
  TimeAxis time = look.in[0], result;
  if (time.axis >= 0) result = reshaped(look, time);
  if (time.key_axis < 0) return {result};
  TimeAxis key = reshaped(look, {Kind::stepwise, time.key_axis});
  look.expect(key.plain() && result.plain() && key.axis != result.axis, kMixes);
  result.kind = Kind::stepwise;
  result.key_axis = key.axis;
  return {result};
}

Result transpose(const Look& look) {
  const auto& perm = look.node.attrs.get<Ints>("perm");
  auto place = [&](int axis) {
    return axis < 0 ? -1 : int(std::ranges::find(perm, axis) - perm.begin());
  };
  TimeAxis time = look.in[0];
  time.axis = place(time.axis);
  time.key_axis = place(time.key_axis);
  return {time};
}

Result concat(const Look& look) {
  Result result = elementwise(look);
  look.expect(result[0].axis != look.node.attrs.get<int64_t>("axis") && result[0].key_axis < 0,
              kMixes);
  return result;
}

Result slice(const Look& look) {
  const TimeAxis& time = look.in[0];
  auto at = size_t(time.axis);
  int64_t begin = look.node.attrs.get<Ints>("begin")[at], size = look.result()[time.axis];
  if (begin == 0 && size == look.shape(0)[time.axis]) return {time};
  bool last = size == 1 && begin == look.tokens.length - 1 && time.plain();
  look.expect(last && look.tokens.any_length, kMixes);
  return {TimeAxis{Kind::last}};
}

Result pad(const Look& look) {
  auto at = size_t(look.in[0].axis);
  look.expect(
      look.node.attrs.get<Ints>("before")[at] == 0 && look.node.attrs.get<Ints>("after")[at] == 0,
      kMixes);
  return {look.in[0]};
}

Result gather(const Look& look) {
  look.expect(look.in[0].fixed(), kMixes);
  return {look.in[1]};
}

Result matmul(const Look& look) {
  const TimeAxis &a = look.in[0], &b = look.in[1];
  const Attrs& attrs = look.node.attrs;
  int left = look.shape(0).rank(), right = look.shape(1).rank();
  int rows = attrs.get_or("transpose_a", false) ? left - 1 : left - 2;
  int columns = attrs.get_or("transpose_b", false) ? right - 2 : right - 1;
  if (look.in.size() > 2) look.expect(look.in[2].fixed() && b.fixed(), kMixes);
  if (a.stepwise() && b.stepwise()) {
    look.expect(a == b && a.axis < left - 2, kMixes);
    return {a};
  }
  if (b.stepwise()) {
    look.expect(b.axis == columns, kMixes);
    return {moved(b, look.result().rank() - 1)};
  }
  look.expect(a.axis == rows || (a.axis < left - 2 && right == 2), kMixes);
  return {a.axis == rows ? moved(a, left - 2) : a};
}

// x: [B, T, F], kernel, recurrent_kernel, bias, states [, mask [B, T]]
Result recurrent(const Look& look) {
  look.expect(!look.node.attrs.get<bool>("reverse"), "goes through the sequence backwards");
  bool masked = look.node.attrs.get<bool>("masked");
  TimeAxis time{Kind::stepwise, 1};
  for (size_t i = 1; i < look.in.size(); ++i)
    look.expect(look.in[i].fixed() || (masked && i + 1 == look.in.size() && look.in[i] == time),
                "an operand changes with the tokens");
  look.expect(look.in[0] == time, kMixes);
  look.expect(look.in.back().stepwise() || !masked, "a mask that does not follow the tokens");
  Result results(look.node.outputs.size(), TimeAxis{Kind::last});
  results[0] = time;
  return results;
}

Result scan(const Look& look) {
  ScanCall call(look.node.attrs);
  look.expect(!call.reverse, "goes through the sequence backwards");
  for (size_t i = 0; i < look.in.size(); ++i)
    look.expect(call.roles[i] == ScanRole::sequence ? look.in[i] == TimeAxis{Kind::stepwise, 0}
                                                    : look.in[i].fixed(),
                "a loop over something else than the tokens");
  Result results(look.node.outputs.size(), TimeAxis{Kind::stepwise, 0});
  std::fill_n(results.begin(), call.carries(), TimeAxis{Kind::last});
  return results;
}

// query, key, value: [B, T, heads, dim] [, mask [B, heads, Tq, Tk]]
Result attention(const Look& look) {
  TimeAxis time{Kind::stepwise, 1}, scores{Kind::stepwise, 2};
  bool masked = look.node.attrs.get_or("masked", false);
  look.expect(look.node.attrs.get_or("rate", 0.0) == 0, "drops weights outside of training");
  look.expect(look.in[0] == time, "queries that do not follow the tokens");
  bool own = !look.in[1].fixed() || !look.in[2].fixed();
  if (own)
    look.expect(look.in[1] == time && look.in[2] == time,
                "keys and values that do not "
                "follow the tokens alike");
  bool causal = look.node.attrs.get_or("causal", false);
  look.expect(own || !causal, "a causal mask over keys that do not follow the tokens");
  if (masked && !look.in[3].fixed()) {
    TimeAxis mask = look.in[3];
    bool keys = own && ((mask.axis == 3 && mask.key_axis < 0) ||
                        ((mask.axis == 2 || mask.axis < 0) && mask.key_axis == 3));
    look.expect(mask.plain() && (keys || mask == scores), "a mask that does not follow the tokens");
  }
  // A mask that is known beforehand may be the causal one: its values are looked at later.
  bool told = masked && look.in[3].fixed() && look.shape(3)[2] == look.tokens.length;
  look.expect(!own || causal || told, "attention to later steps; use_causal_mask makes it causal");
  return {time, scores};
}

using Rule = Result (*)(const Look&);

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> table = {
      {"softmax", along_last},
      {"log_softmax", along_last},
      {"layer_norm", layer_norm},
      {"batch_norm_inference", along_last},
      {"identity", same},
      {"reduce", reduce},
      {"argmax", argmax},
      {"reshape", reshape},
      {"transpose", transpose},
      {"concat", concat},
      {"slice", slice},
      {"pad", pad},
      {"gather", gather},
      {"one_hot", same},
      {"matmul", matmul},
      {"recurrent", recurrent},
      {"scan", scan},
      {"attention", attention},
  };
  return table;
}

bool takes_key_axes(const Node& node) {
  return node.traits().elementwise || node.is("reshape") || node.is("transpose") ||
         node.is("attention");
}

Result look_at(const Look& look) {
  auto is = [](Kind kind) { return [kind](const TimeAxis& time) { return time.kind == kind; }; };
  if (std::ranges::all_of(look.in, is(Kind::fixed))) return Result(look.node.outputs.size());
  look.expect(!look.node.traits().random, "draws random numbers outside of training");
  look.expect(!look.node.traits().calls_host, "a function of the program, which may look at all");
  if (std::ranges::none_of(look.in, is(Kind::stepwise)))
    return Result(look.node.outputs.size(), TimeAxis{Kind::last});
  look.expect(std::ranges::none_of(look.in, is(Kind::last)), "combines the last step with others");
  bool keyed =
      std::ranges::any_of(look.in, [](const TimeAxis& time) { return time.key_axis >= 0; });
  look.expect(!keyed || takes_key_axes(look.node), kMixes);
  if (look.node.traits().elementwise) return elementwise(look);
  auto rule = rules().find(look.node.op->name);
  look.expect(rule != rules().end(), "may look at other steps");
  return rule->second(look);
}

}  // namespace

std::vector<TimeAxis> find_time_axes(const Graph& graph, const TokenInput& tokens) {
  std::vector<TimeAxis> axes(graph.values().size());
  axes[size_t(tokens.value)] = {Kind::stepwise, 1};
  for (const Node& node : graph.nodes()) {
    Look look{graph, node, tokens, {}};
    for (int value : node.inputs) look.in.push_back(axes[size_t(value)]);
    Result found = look_at(look);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      axes[size_t(node.outputs[i])] = i < found.size() ? found[i] : found[0];
  }
  return axes;
}

bool attends_to_tokens(const Node& node, const std::vector<TimeAxis>& axes) {
  return node.is("attention") && axes[size_t(node.inputs[1])].stepwise();
}

bool carries_state(const Node& node) { return node.is("recurrent") || node.is("scan"); }

bool needs_every_step(const Node& node, size_t index) {
  return carries_state(node) || (node.is("attention") && index > 0);
}

}  // namespace stoker
