#include <algorithm>
#include <cmath>

#include "engine/cuda/kernels/update.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

// The parameters of one instruction: operands in the order p, g, moments …, then out, moments out …
struct Parameter {
  int64_t elements;
  DType gradient_dtype;
};

// The value that adds one to a counter, if the graph has it and it is made by now. An update that
// reads it instead of the counter need not end before the counter is assigned.
int next_count(const Builder& b, int counter) {
  for (const Node& node : b.graph().nodes()) {
    if (node.op->name != "binary" || node.attrs.get<std::string>("fn") != "add" ||
        node.inputs[0] != counter || !b.is_defined(node.outputs[0]))
      continue;
    for (const GraphConstant& constant : b.graph().constants())
      if (constant.value == node.inputs[1] && constant.tensor.elements() == 1 &&
          constant.tensor.at(0) == 1)
        return node.outputs[0];
  }
  return -1;
}

// At most UpdateList::kMost parameters an instruction.
void emit_updates(Builder& b, const Node& node, const UpdateList& options, size_t head,
                  size_t moments) {
  bool scaled = node.attrs.get_or("scaled", false);
  size_t first = head + size_t(scaled), inputs = 2 + moments;
  std::vector<int> shared;
  bool is_adam = options.rule == UpdateRule::adam, gated = b.in_updates();
  int next = is_adam ? next_count(b, node.inputs[1]) : -1;
  for (size_t i = 0; i < first; ++i)
    shared.push_back(b.input(i == 1 && next >= 0 ? next : node.inputs[i]));
  size_t count = (node.inputs.size() - first) / inputs;
  // All gradients before the first parameter is overwritten.
  for (size_t i = 0; i < count; ++i) b.input(node.inputs[first + i * inputs + 1]);
  for (size_t begin = 0; begin < count; begin += UpdateList::kMost) {
    size_t end = std::min(count, begin + UpdateList::kMost);
    Call call{"own:update", shared, {}};
    std::vector<Parameter> parameters;
    for (size_t i = begin; i < end; ++i) {
      size_t at = first + i * inputs;
      for (size_t which = 0; which < inputs; ++which)
        call.reads.push_back(b.input(node.inputs[at + which]));
      for (size_t which = 0; which < inputs - 1; ++which)
        call.writes.push_back(b.define_update(node.outputs[i * (inputs - 1) + which],
                                              node.inputs[at + (which == 0 ? 0 : which + 1)]));
      parameters.push_back(
          {b.shape(node.inputs[at]).elements(), b.spec(node.inputs[at + 1]).dtype});
    }
    b.emit(std::move(call), [=](const Launch& at) {
      auto list = std::make_unique<UpdateList>(options);
      list->enabled = gated ? at.enabled : nullptr;
      list->first_number = int(begin);
      list->lr = at.get<const float>(0);
      if (is_adam) list->iterations = at.get<const int64_t>(1);
      list->counts_this = next >= 0;
      if (scaled) list->scales = at.get<const float>(first - 1);
      size_t outs = first + parameters.size() * inputs;
      for (size_t i = 0; i < parameters.size(); ++i) {
        UpdateItem item;
        size_t in = first + i * inputs, out = outs + i * (inputs - 1);
        item.p = at.get(in);
        item.g = at.get(in + 1);
        item.out = at.get(out);
        for (size_t m = 0; m < moments; ++m) {
          item.moments[m] = at.get(in + 2 + m);
          item.moment_outs[m] = at.get(out + 1 + m);
        }
        item.elements = parameters[i].elements;
        item.gradient_dtype = parameters[i].gradient_dtype;
        list->add(item);
      }
      run_update(*list, at.stream);
    });
  }
}

UpdateList common(const Node& node, UpdateRule rule) {
  UpdateList options;
  options.rule = rule;
  options.weight_decay = float(node.attrs.get_or<double>("weight_decay", 0));
  options.clip_value = float(node.attrs.get_or<double>("clipvalue", 0));
  options.momentum = float(node.attrs.get_or<double>("momentum", 0));
  options.epsilon = float(node.attrs.get_or<double>("epsilon", 0));
  return options;
}

void build_sgd(Builder& b, const Node& node) {
  UpdateList options = common(node, UpdateRule::sgd);
  options.nesterov = node.attrs.get_or("nesterov", false);
  emit_updates(b, node, options, 1, options.momentum > 0 ? 1 : 0);
}

void build_adam(Builder& b, const Node& node) {
  UpdateList options = common(node, UpdateRule::adam);
  options.beta_1 = node.attrs.get<double>("beta_1");
  options.beta_2 = node.attrs.get<double>("beta_2");
  options.log_beta_1 = float(std::log(options.beta_1));
  options.log_beta_2 = float(std::log(options.beta_2));
  options.amsgrad = node.attrs.get_or("amsgrad", false);
  emit_updates(b, node, options, 2, options.amsgrad ? 3 : 2);
}

void build_rmsprop(Builder& b, const Node& node) {
  UpdateList options = common(node, UpdateRule::rmsprop);
  options.rho = float(node.attrs.get<double>("rho"));
  options.centered = node.attrs.get_or("centered", false);
  emit_updates(b, node, options, 1, 1 + size_t(options.centered) + size_t(options.momentum > 0));
}

// All moving averages of a step that wait for the guard, in one launch.
void build_moving_average(Builder& b, const Node& node) {
  auto momentum = node.attrs.get<double>("momentum");
  bool gated = b.in_updates();
  Call call{"own:update", {}, {}};
  std::vector<int64_t> sizes;
  for (const Node& other : b.graph().nodes()) {
    bool joins = &other == &node || (gated && other.op->name == "moving_average" &&
                                     other.attrs.get<double>("momentum") == momentum &&
                                     !b.is_defined(other.outputs[0]));
    if (!joins || sizes.size() == UpdateList::kMost) continue;
    call.reads.push_back(b.input(other.inputs[0]));
    call.reads.push_back(b.input(other.inputs[1]));
    call.writes.push_back(b.define_update(other.outputs[0], other.inputs[0]));
    sizes.push_back(b.shape(other.inputs[0]).elements());
  }
  b.emit(std::move(call), [=](const Launch& at) {
    auto list = std::make_unique<UpdateList>();
    list->rule = UpdateRule::moving_average;
    list->momentum = float(momentum);
    list->enabled = gated ? at.enabled : nullptr;
    for (size_t i = 0; i < sizes.size(); ++i) {
      UpdateItem item;
      item.p = at.get(2 * i);
      item.g = at.get(2 * i + 1);
      item.out = at.get(2 * sizes.size() + i);
      item.elements = sizes[i];
      list->add(item);
    }
    run_update(*list, at.stream);
  });
}

void build_clip_scales(Builder& b, const Node& node) {
  auto call = std::make_shared<ClipCall>();
  bool scaled = node.attrs.get_or("scaled", false);
  call->count = int(node.inputs.size()) - int(scaled);
  if (call->count > ClipCall::kMost) throw Error("clip_scales: more than 2000 gradients");
  call->global = node.attrs.get<std::string>("mode") == "global";
  call->max_norm = node.attrs.get<double>("max_norm");
  std::vector<int> reads;
  std::vector<Parameter> parameters;
  for (int i = 0; i < call->count; ++i) {
    int value = node.inputs[size_t(i)];
    reads.push_back(b.input(value));
    parameters.push_back({b.shape(value).elements(), b.spec(value).dtype});
  }
  size_t count = reads.size();
  if (scaled) reads.push_back(b.input(node.inputs.back()));
  size_t results = reads.size();
  // Lists of at most kMost gradients, each with its own range of partial sums.
  auto lists = [parameters](auto visit) {
    int blocks = 0;
    for (size_t begin = 0; begin < parameters.size(); begin += UpdateList::kMost) {
      auto list = std::make_unique<UpdateList>();
      list->rule = UpdateRule::squares;
      size_t end = std::min(parameters.size(), begin + UpdateList::kMost);
      for (size_t i = begin; i < end; ++i) {
        UpdateItem item;
        item.elements = parameters[i].elements;
        item.gradient_dtype = parameters[i].gradient_dtype;
        list->add(item);
      }
      visit(*list, begin, blocks);
      blocks += list->first_block[list->count];
    }
    return blocks;
  };
  call->first_block[0] = 0;
  int blocks = lists([&](const UpdateList& list, size_t begin, int before) {
    for (int i = 0; i < list.count; ++i)
      call->first_block[begin + size_t(i) + 1] = before + list.first_block[i + 1];
  });
  int sums = b.scratch(size_t(blocks) * sizeof(double));
  int scales = b.define(node.outputs[0]), norm = b.define(node.outputs[1]);
  b.emit({"own:norms", std::move(reads), {scales, norm, sums}}, [=](const Launch& at) {
    auto* partials = at.get<double>(results + 2);
    lists([&](UpdateList& list, size_t begin, int before) {
      for (int i = 0; i < list.count; ++i) list.item[i].g = at.get(begin + size_t(i));
      list.sums = partials + before;
      run_update(list, at.stream);
    });
    ClipCall bound = *call;
    if (scaled) bound.loss_scale = at.get<const float>(count);
    bound.scales = at.get<float>(results);
    bound.norm = at.get<float>(results + 1);
    bound.sums = partials;
    run_clip_scales(bound, at.stream);
  });
}

void build_loss_scale_update(Builder& b, const Node& node) {
  LossScaleCall options;
  options.growth_steps = node.attrs.get<int64_t>("growth_steps");
  options.min_scale = float(node.attrs.get<double>("min_scale"));
  options.max_scale = float(node.attrs.get<double>("max_scale"));
  Call call{"own:loss_scale", {}, {}};
  for (int value : node.inputs) call.reads.push_back(b.input(value));
  for (int value : node.outputs) call.writes.push_back(b.define(value));
  b.emit(std::move(call), [=](const Launch& at) {
    LossScaleCall bound = options;
    bound.norm = at.get<const float>(0);
    bound.scale = at.get<const float>(1);
    bound.good = at.get<const int64_t>(2);
    bound.skipped = at.get<const int64_t>(3);
    bound.next_scale = at.get<float>(4);
    bound.next_good = at.get<int64_t>(5);
    bound.next_skipped = at.get<int64_t>(6);
    bound.alarm = at.get<float>(7);
    run_loss_scale(bound, at.stream);
  });
}

}  // namespace

void add_optimizer_builders(OpBuilders& table) {
  table["sgd_update"] = {build_sgd};
  table["adam_update"] = {build_adam};
  table["rmsprop_update"] = {build_rmsprop};
  table["moving_average"] = {build_moving_average};
  table["clip_scales"] = {build_clip_scales};
  table["loss_scale_update"] = {build_loss_scale_update};
}

}  // namespace stoker::cuda
