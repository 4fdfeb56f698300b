#include "engine/cuda/ops/updates.h"

#include <cmath>

namespace stoker::cuda {

namespace {

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

UpdateOptions options_of(const Node& node) {
  UpdateOptions options;
  options.weight_decay = float(node.attrs.get_or<double>("weight_decay", 0));
  options.clip_value = float(node.attrs.get_or<double>("clipvalue", 0));
  options.momentum = float(node.attrs.get_or<double>("momentum", 0));
  options.epsilon = float(node.attrs.get_or<double>("epsilon", 0));
  options.momentum_given = node.attrs.get_or("momentum_given", false);
  if (node.is("sgd_update")) {
    options.rule = UpdateRule::sgd;
    options.nesterov = node.attrs.get_or("nesterov", false);
  } else if (node.is("adam_update")) {
    options.rule = UpdateRule::adam;
    options.beta_1 = node.attrs.get<double>("beta_1");
    options.beta_2 = node.attrs.get<double>("beta_2");
    options.log_beta_1 = float(std::log(options.beta_1));
    options.log_beta_2 = float(std::log(options.beta_2));
    options.amsgrad = node.attrs.get_or("amsgrad", false);
  } else {
    options.rule = UpdateRule::rmsprop;
    options.rho = float(node.attrs.get<double>("rho"));
    options.centered = node.attrs.get_or("centered", false);
  }
  return options;
}

}  // namespace

int gradient_buffer(Builder& b, int value, UpdateItem& item) {
  auto from = b.unturned(value);
  if (!from) return b.input(value);
  const Shape& w = b.shape(value);
  item.filters = unsigned(w[3]);
  item.pixels = unsigned(w[0] * w[1]);
  item.channels = unsigned(w[2]);
  item.padded = unsigned(from->padded);
  return from->buffer;
}

BoundUpdates::BoundUpdates(Builder& b, const Node& node, std::span<const size_t> which,
                           Gradients gradients, Call& call)
    : layout_(update_layout(node)),
      options_(options_of(node)),
      gradients_(gradients),
      gated_(b.in_updates()),
      shared_(call.reads.size()),
      own_(shared_ + layout_.first()) {
  int next = options_.rule == UpdateRule::adam ? next_count(b, node.inputs[1]) : -1;
  options_.counts_this = next >= 0;
  options_.first_number = which.empty() ? 0 : int(which[0]);
  for (size_t i = 0; i < layout_.first(); ++i)
    call.reads.push_back(b.input(i == 1 && next >= 0 ? next : node.inputs[i]));
  size_t writes = call.writes.size();
  for (size_t one : which) {
    size_t at = layout_.parameter(one), out = one * layout_.outputs();
    UpdateItem item;
    item.elements = b.shape(node.inputs[at]).elements();
    item.gradient_dtype = b.spec(node.inputs[at + 1]).dtype;
    call.reads.push_back(b.input(node.inputs[at]));
    if (gradients == Gradients::read)
      call.reads.push_back(gradient_buffer(b, node.inputs[at + 1], item));
    for (size_t i = 2; i < layout_.inputs(); ++i)
      call.reads.push_back(b.input(node.inputs[at + i]));
    for (size_t i = 0; i < layout_.outputs(); ++i)
      call.writes.push_back(
          b.define_update(node.outputs[out + i], node.inputs[at + (i == 0 ? 0 : i + 1)]));
    items_.push_back(item);
  }
  written_ = call.reads.size() + writes;
}

UpdateOptions BoundUpdates::options(const Launch& at) const {
  UpdateOptions bound = options_;
  bound.enabled = gated_ ? at.enabled : nullptr;
  bound.lr = at.get<const float>(shared_);
  if (bound.rule == UpdateRule::adam) bound.iterations = at.get<const int64_t>(shared_ + 1);
  if (layout_.scaled) bound.scales = at.get<const float>(own_ - 1);
  return bound;
}

UpdateItem BoundUpdates::item(const Launch& at, size_t which) const {
  bool reads = gradients_ == Gradients::read;
  size_t in = own_ + which * (layout_.inputs() - size_t(!reads));
  size_t out = written_ + which * layout_.outputs();
  UpdateItem item = items_[which];
  item.p = at.get(in++);
  if (reads) item.g = at.get(in++);
  item.out = at.get(out++);
  for (size_t m = 0; m < layout_.moments; ++m) {
    item.moments[m] = at.get(in + m);
    item.moment_outs[m] = at.get(out + m);
  }
  return item;
}

}  // namespace stoker::cuda
