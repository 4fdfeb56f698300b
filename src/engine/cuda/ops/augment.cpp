#include "engine/cuda/kernels/augment.h"

#include <algorithm>

#include "engine/cuda/ops/op_builders.h"
#include "graph/ops/augment.h"

namespace stoker::cuda {

namespace {

void build_augment(Builder& b, const Node& node) {
  AugmentCall how(node.attrs, b.shape(node.inputs[0]));
  AugmentLaunch call;
  std::copy(how.stages.begin(), how.stages.end(), call.stages);
  call.count = int(how.stages.size());
  for (const augment::Stage& stage : how.stages)
    call.per_channel = std::max(call.per_channel, augment::statistics_per_channel(stage.kind));
  call.batch = how.batch;
  call.channels = int32_t(how.channels);
  call.from = how.from;
  call.to = how.to;
  call.stream_number = how.stream;
  int x = b.input(node.inputs[0]), state = b.input(node.inputs[1]),
      scratch = b.scratch(augment_scratch(call)), y = b.define(node.outputs[0]);
  b.emit({"own:augment", {x, state}, {y, scratch}}, [call](const Launch& at) {
    AugmentLaunch bound = call;
    bound.x = at.get<const float>(0);
    bound.state = at.get<const int64_t>(1);
    bound.y = at.get<float>(2);
    bound.scratch = at.get(3);
    run_augment(bound, at.stream);
  });
}

void build_augment_mix(Builder& b, const Node& node) {
  MixCall how(node.attrs, b.shape(node.inputs[0]));
  MixLaunch call;
  call.mix = how.mix;
  call.batch = how.batch;
  call.elements = how.elements;
  call.channels = how.channels;
  call.stream_number = how.stream;
  int x = b.input(node.inputs[0]), state = b.input(node.inputs[1]),
      scratch = b.scratch(size_t(std::max<int64_t>(call.batch, 1)) * sizeof(augment::Mixed)),
      y = b.define(node.outputs[0]);
  b.emit({"own:augment_mix", {x, state}, {y, scratch}}, [call](const Launch& at) {
    MixLaunch bound = call;
    bound.x = at.get<const float>(0);
    bound.state = at.get<const int64_t>(1);
    bound.y = at.get<float>(2);
    bound.drawn = at.get<augment::Mixed>(3);
    run_augment_mix(bound, at.stream);
  });
}

}  // namespace

void add_augment_builders(OpBuilders& table) {
  table["augment"] = {build_augment};
  table["augment_mix"] = {build_augment_mix};
}

}  // namespace stoker::cuda
