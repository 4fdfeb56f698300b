#include <algorithm>

#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/updates.h"

namespace stoker::cuda {

namespace {

// At most UpdateList::kMost parameters an instruction.
void emit_update_list(Builder& b, const Node& node, std::span<const size_t> which) {
  Call call{"own:update", {}, {}};
  BoundUpdates updates(b, node, which, Gradients::read, call);
  b.emit(std::move(call), [updates](const Launch& at) {
    auto list = std::make_unique<UpdateList>();
    static_cast<UpdateOptions&>(*list) = updates.options(at);
    for (size_t i = 0; i < updates.count(); ++i) list->add(updates.item(at, i));
    run_update(*list, at.stream);
  });
}

// The parameters whose gradients a node makes, in its order.
std::vector<size_t> parameters_of(const UpdateLayout& layout, const Node& update,
                                  const Node& gradients) {
  std::vector<size_t> found;
  for (int value : gradients.outputs)
    for (size_t i = 0; i < layout.count; ++i)
      if (update.inputs[layout.gradient(i)] == value) found.push_back(i);
  return found;
}

void build_update(Builder& b, const Node& node) {
  UpdateLayout layout = update_layout(node);
  std::vector<size_t> others;
  std::vector<const Node*> makers;  // special cases that make gradients and take the step at once
  for (size_t i = 0; i < layout.count; ++i) {
    int value = node.inputs[layout.gradient(i)];
    const Node* gradient = b.graph().producer(value);
    if (gradient != nullptr && b.fusion().into[b.index_of(*gradient)] == b.node_index()) {
      if (gradient->outputs[0] == value) makers.push_back(gradient);
      continue;
    }
    // All gradients before the first parameter is overwritten.
    if (!b.unturned(value)) b.input(value);
    others.push_back(i);
  }
  for (const Node* maker : makers)
    b.fusion()
        .special.at(b.index_of(*maker))
        ->build_with_update(b, *maker, node, parameters_of(layout, node, *maker));
  for (size_t begin = 0; begin < others.size(); begin += UpdateList::kMost) {
    size_t count = std::min(others.size() - begin, size_t(UpdateList::kMost));
    emit_update_list(b, node, std::span(others).subspan(begin, count));
  }
}

// All moving averages of a step that wait for the guard, in one launch.
void build_moving_average(Builder& b, const Node& node) {
  auto momentum = node.attrs.get<double>("momentum");
  bool gated = b.in_updates();
  Call call{"own:update", {}, {}};
  std::vector<int64_t> sizes;
  for (const Node& other : b.graph().nodes()) {
    bool joins = &other == &node || (gated && other.is("moving_average") &&
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

// Where the guard of the graph is the loss plus 0 times these norms, and nothing else: that loss.
int guarded_loss(const Builder& b) {
  const Node* sum = b.graph().guard() < 0 ? nullptr : b.graph().producer(b.graph().guard());
  bool made_here = sum != nullptr && b.fusion().into[b.index_of(*sum)] == b.node_index();
  return made_here ? sum->inputs[0] : -1;
}

// Few gradients: one launch for all, the guard included.
void emit_norms(Builder& b, const Node& node, const std::vector<UpdateItem>& gradients,
                const ClipTerms& terms, std::vector<int> reads) {
  UpdateList list;
  list.rule = UpdateRule::squares;
  for (const UpdateItem& gradient : gradients) list.add(gradient);
  bool scaled = reads.size() > gradients.size();
  int loss = guarded_loss(b);
  if (loss >= 0) reads.push_back(b.input(loss));
  size_t count = gradients.size(), out = reads.size();
  int sums = b.scratch(size_t(list.first_block[list.count]) * sizeof(double));
  std::vector<int> writes = {b.define(node.outputs[0]), b.define(node.outputs[1]), sums,
                             b.zeroed(sizeof(unsigned))};
  if (loss >= 0) writes.push_back(b.define(b.graph().guard()));
  auto kernel = [=](const Launch& at) {
    auto bound = std::make_unique<UpdateList>(list);
    for (size_t i = 0; i < count; ++i) bound->item[i].g = at.get(i);
    bound->sums = at.get<double>(out + 2);
    NormsCall call;
    static_cast<ClipTerms&>(call) = terms;
    if (scaled) call.loss_scale = at.get<const float>(count);
    call.scales = at.get<float>(out);
    call.norm = at.get<float>(out + 1);
    call.counter = at.get<unsigned>(out + 3);
    if (loss >= 0) {
      call.loss = at.get<const float>(out - 1);
      call.guard_value = at.get<float>(out + 4);
      if (at.guard != nullptr) call.guard = *at.guard;
    }
    run_norms(*bound, call, at.stream);
  };
  Call call{"own:norms", std::move(reads), std::move(writes)};
  loss >= 0 ? b.emit_guard(std::move(call), kernel) : b.emit(std::move(call), kernel);
}

void build_clip_scales(Builder& b, const Node& node) {
  auto call = std::make_shared<ClipCall>();
  bool scaled = node.attrs.get_or("scaled", false);
  call->count = int(node.inputs.size()) - int(scaled);
  if (call->count > ClipCall::kMost) throw Error("clip_scales: more than 2000 gradients");
  call->global = node.attrs.get<std::string>("mode") == "global";
  call->max_norm = node.attrs.get<double>("max_norm");
  std::vector<int> reads;
  std::vector<UpdateItem> gradients;  // without addresses
  for (int i = 0; i < call->count; ++i) {
    int value = node.inputs[size_t(i)];
    UpdateItem item;
    item.elements = b.shape(value).elements();
    item.gradient_dtype = b.spec(value).dtype;
    reads.push_back(gradient_buffer(b, value, item));
    gradients.push_back(item);
  }
  size_t count = reads.size();
  if (scaled) reads.push_back(b.input(node.inputs.back()));
  if (count > 0 && count <= NormsCall::kMost)
    return emit_norms(b, node, gradients, *call, std::move(reads));
  size_t results = reads.size();
  // Lists of at most kMost gradients, each with its own range of partial sums.
  auto lists = [gradients](auto visit) {
    int blocks = 0;
    for (size_t begin = 0; begin < gradients.size(); begin += UpdateList::kMost) {
      auto list = std::make_unique<UpdateList>();
      list->rule = UpdateRule::squares;
      size_t end = std::min(gradients.size(), begin + UpdateList::kMost);
      for (size_t i = begin; i < end; ++i) list->add(gradients[i]);
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
  table["sgd_update"] = {build_update};
  table["adam_update"] = {build_update};
  table["rmsprop_update"] = {build_update};
  table["moving_average"] = {build_moving_average};
  table["clip_scales"] = {build_clip_scales};
  table["loss_scale_update"] = {build_loss_scale_update};
}

}  // namespace stoker::cuda
