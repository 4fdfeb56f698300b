// conv2d and its gradients: cuDNN where it has a plan, own kernels elsewhere. cuDNN's kernels want
// even padding and, in sixteen bits, channels in multiples of eight; what is not so is copied into
// shape first.
#include <array>

#include "engine/cuda/kernels/column_sums.h"
#include "engine/cuda/kernels/shape.h"
#include "engine/cuda/kernels/tensor_stem.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

ConvShape shape_of(const Node& node, const Shape& x, const Shape& w, const Shape& y) {
  const auto &strides = node.attrs.get<Ints>("strides"), &pads = node.attrs.get<Ints>("pads");
  auto dilation = node.attrs.get_or<Ints>("dilation", {1, 1});
  ConvShape s;
  s.batch = int(x[0]);
  s.height = int(x[1]);
  s.width = int(x[2]);
  s.channels = int(x[3]);
  s.out_height = int(y[1]);
  s.out_width = int(y[2]);
  s.filters = int(y[3]);
  s.kernel_y = int(w[0]);
  s.kernel_x = int(w[1]);
  s.stride_y = int(strides[0]);
  s.stride_x = int(strides[1]);
  s.top = int(pads[0]);
  s.bottom = int(pads[1]);
  s.left = int(pads[2]);
  s.right = int(pads[3]);
  s.dilation_y = int(dilation[0]);
  s.dilation_x = int(dilation[1]);
  s.groups = int(node.attrs.get_or<int64_t>("groups", 1));
  return s;
}

// The same convolution as cuDNN is asked for it.
ConvShape shape_for_cudnn(const ConvShape& shape, DType dtype) {
  ConvShape s = shape;
  s.channels = int(conv_padding(dtype, shape.channels, shape.groups));
  if (s.top != s.bottom || s.left != s.right) {
    s.height += s.top + s.bottom;
    s.width += s.left + s.right;
    s.top = s.bottom = s.left = s.right = 0;
  }
  return s;
}

// Copies between an image and the same image in a larger frame.
StridedCopy frame_copy(const ConvShape& own, const ConvShape& framed, DType dtype, bool into) {
  StridedCopy copy;
  copy.element = int(size_of(dtype));
  copy.rank = 4;
  int64_t dims[4] = {own.batch, own.height, own.width, own.channels};
  int64_t small[4] = {int64_t(own.height) * own.width * own.channels,
                      int64_t(own.width) * own.channels, own.channels, 1};
  int64_t large[4] = {int64_t(framed.height) * framed.width * framed.channels,
                      int64_t(framed.width) * framed.channels, framed.channels, 1};
  int64_t offset = framed.height == own.height && framed.width == own.width
                       ? 0
                       : own.top * large[1] + own.left * large[2];
  for (int axis = 0; axis < 4; ++axis) {
    copy.dims[axis] = dims[axis];
    copy.from_strides[axis] = (into ? small : large)[axis];
    copy.to_strides[axis] = (into ? large : small)[axis];
  }
  (into ? copy.to_offset : copy.from_offset) = offset;
  copy.elements = dims[0] * dims[1] * dims[2] * dims[3];
  return copy;
}

size_t image_bytes(const ConvShape& s, DType dtype) {
  return size_t(s.batch) * size_t(s.height) * size_t(s.width) * size_t(s.channels) * size_of(dtype);
}

bool is_framed(const ConvShape& own, const ConvShape& framed) {
  return own.height != framed.height || own.width != framed.width ||
         own.channels != framed.channels;
}

// The buffer of x as cuDNN is to see it.
int framed_image(Builder& b, int x, const ConvShape& own, const ConvShape& framed, DType dtype) {
  if (!is_framed(own, framed)) return x;
  int to = b.scratch(image_bytes(framed, dtype));
  if (own.height == framed.height && own.width == framed.width) {
    int64_t pixels = int64_t(own.batch) * own.height * own.width;
    b.emit({"own:pad", {x}, {to}, "pad"}, [=](const Launch& at) {
      run_pad_channels(dtype, at.get(0), at.get(1), pixels, own.channels, framed.channels,
                       at.stream);
    });
    return to;
  }
  StridedCopy copy = frame_copy(own, framed, dtype, true);
  b.emit({"own:pad", {x}, {to}, "pad"},
         [copy, bytes = image_bytes(framed, dtype)](const Launch& at) {
           check(cudaMemsetAsync(at.get(1), 0, bytes, at.stream), "zeroing a frame");
           StridedCopy bound = copy;
           bound.from = at.get(0);
           bound.to = at.get(1);
           run_strided_copy(bound, at.stream);
         });
  return to;
}

// x with its 2×2 blocks folded into channels; forward and weight gradient share it.
int folded_image(Builder& b, int value, const ConvShape& own, DType dtype) {
  ConvShape folded = folded_shape(own);
  std::array<int, 7> key = {value,    own.kernel_y,   own.kernel_x, own.top,
                            own.left, own.out_height, own.out_width};
  auto [known, is_new] = b.folded_images().try_emplace(key, -1);
  if (!is_new) return known->second;
  int x = b.input(value), to = b.scratch(image_bytes(folded, dtype));
  known->second = to;
  b.emit({"own:fold", {x}, {to}, "fold"}, [own, dtype](const Launch& at) {
    run_fold_image(own, dtype, at.get(0), at.get(1), at.stream);
  });
  return to;
}

size_t kernel_bytes(const ConvShape& s, DType dtype) {
  return size_t(s.filters) * size_t(s.kernel_y) * size_t(s.kernel_x) *
         size_t(s.channels / s.groups) * size_of(dtype);
}

std::shared_ptr<const ConvPlan> find_plan(Builder& b, ConvKey key) {
  key.tf32 = b.options().tf32;
  key.deterministic = b.options().deterministic;
  return b.shared().conv_plans.find(key, b.shared().pool);
}

// Few channels: cuDNN would pad them to eight and read mostly zeros.
bool prefers_direct(const ConvShape& s, ConvKind kind) {
  return s.groups == 1 && s.channels == 1 && kind != ConvKind::input_grad &&
         s.kernel_y * s.kernel_x <= 25;
}

// --- forward ---

void emit_direct(Builder& b, const Node& node, const ConvShape& shape, int y) {
  DirectConv call;
  call.dtype = b.spec(node.inputs[0]).dtype;
  call.shape = shape;
  auto activation = node.attrs.get_or<std::string>("activation", "");
  bool has_bias = node.inputs.size() > 2, simple = activation.empty() || activation == "relu";
  call.relu = activation == "relu";
  call.wide = !simple;
  std::vector<int> reads = {b.input(node.inputs[0]), b.input(node.inputs[1])};
  if (has_bias) reads.push_back(b.input(node.inputs[2]));
  int out = simple ? y : b.scratch(size_t(b.shape(node.outputs[0]).elements()) * sizeof(float));
  b.emit({"own:conv", reads, {out}}, [call, has_bias](const Launch& at) {
    DirectConv bound = call;
    bound.x = at.get(0);
    bound.w = at.get(1);
    bound.bias = has_bias ? at.get(2) : nullptr;
    bound.out = at.get(has_bias ? 3 : 2);
    run_direct_conv(bound, at.stream);
  });
  if (!simple) emit_epilogue(b, node, {out, DType::float32, -1, y});
}

// How much of bias and activation the plan itself does.
struct ForwardPlan {
  std::shared_ptr<const ConvPlan> plan;
  bool bias = false, done = false;  // done: nothing is left for an epilogue
  bool wide = false;
};

ForwardPlan find_forward(Builder& b, const Node& node, const ConvShape& shape) {
  ConvKey key{.kind = ConvKind::forward, .shape = shape, .dtype = b.spec(node.inputs[0]).dtype};
  auto activation = node.attrs.get_or<std::string>("activation", "");
  bool has_bias = node.inputs.size() > 2, relu = activation == "relu";
  bool plain = !has_bias && activation.empty();
  // Fused plans compute with tensor cores: not for full float32, where an epilogue rounds nothing.
  if (plain || (key.dtype == DType::float32 && !b.options().tf32))
    return {find_plan(b, key), false, plain, false};
  key.bias = has_bias;
  key.relu = relu;
  key.wide = !activation.empty() && !relu && key.dtype != DType::float32;
  if (auto plan = find_plan(b, key))
    return {plan, has_bias, !key.wide && (activation.empty() || relu), key.wide};
  key.bias = key.relu = false;
  key.wide = key.dtype != DType::float32;
  return {find_plan(b, key), false, false, key.wide};
}

void build_conv2d(Builder& b, const Node& node) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  ConvShape own =
      shape_of(node, b.shape(node.inputs[0]), b.shape(node.inputs[1]), b.shape(node.outputs[0]));
  int y = b.define(node.outputs[0]);
  if (b.shape(node.outputs[0]).elements() == 0) return;
  bool folds = can_fold(own, dtype);
  ConvShape framed = folds ? folded_shape(own) : shape_for_cudnn(own, dtype);
  ForwardPlan found;
  if (!prefers_direct(own, ConvKind::forward)) found = find_forward(b, node, framed);
  if (found.plan == nullptr) return emit_direct(b, node, own, y);
  int x = -1, w = -1;
  if (folds) {
    x = folded_image(b, node.inputs[0], own, dtype);
    int plain = b.input(node.inputs[1]);
    w = b.scratch(kernel_bytes(framed, dtype));
    b.emit({"own:fold", {plain}, {w}, "fold"}, [own, dtype](const Launch& at) {
      run_fold_kernel(own, dtype, at.get(0), at.get(1), at.stream);
    });
  } else {
    x = framed_image(b, b.input(node.inputs[0]), own, framed, dtype);
    w = b.kernel_for_cudnn(node.inputs[1],
                           conv_padding(dtype, b.shape(node.inputs[1])[2], own.groups));
  }
  int bias = node.inputs.size() > 2 ? b.input(node.inputs[2]) : -1;
  int workspace = b.scratch(found.plan->workspace());
  int out = found.wide ? b.scratch(size_t(b.shape(node.outputs[0]).elements()) * sizeof(float)) : y;
  std::vector<int> reads = {x, w};
  if (found.bias) reads.push_back(bias);
  b.emit({found.plan->name(), reads, {out, workspace}},
         [plan = found.plan, with_bias = found.bias](const Launch& at) {
           size_t next = with_bias ? 3 : 2;
           plan->run(at.device, at.get(0), at.get(1), at.get(next), with_bias ? at.get(2) : nullptr,
                     at.get(next + 1));
         });
  if (!found.done)
    emit_epilogue(b, node, {out, found.wide ? DType::float32 : dtype, found.bias ? -1 : bias, y});
}

// --- backward ---

void build_input_grad(Builder& b, const Node& node) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  ConvShape own =
      shape_of(node, b.shape(node.outputs[0]), b.shape(node.inputs[1]), b.shape(node.inputs[0]));
  if (b.shape(node.outputs[0]).elements() == 0) {
    b.define(node.outputs[0]);
    return;
  }
  ConvShape framed = shape_for_cudnn(own, dtype);
  auto plan = find_plan(b, {.kind = ConvKind::input_grad, .shape = framed, .dtype = dtype});
  int dy = b.input(node.inputs[0]);
  if (plan == nullptr) {
    int w = b.input(node.inputs[1]), dx = b.define(node.outputs[0]);
    b.emit({"own:conv", {dy, w}, {dx}}, [own, dtype](const Launch& at) {
      DirectConv call;
      call.dtype = dtype;
      call.shape = own;
      call.dy = at.get(0);
      call.w = at.get(1);
      call.out = at.get(2);
      run_direct_conv_input_grad(call, at.stream);
    });
    return;
  }
  int w = b.kernel_for_cudnn(node.inputs[1],
                             conv_padding(dtype, b.shape(node.inputs[1])[2], own.groups));
  bool is_copied = is_framed(own, framed);
  int dx = is_copied ? b.scratch(image_bytes(framed, dtype)) : b.define(node.outputs[0]);
  int workspace = b.scratch(plan->workspace());
  b.emit({plan->name(), {dy, w}, {dx, workspace}}, [plan](const Launch& at) {
    plan->run(at.device, at.get(2), at.get(1), at.get(0), nullptr, at.get(3));
  });
  if (!is_copied) return;
  int result = b.define(node.outputs[0]);
  StridedCopy copy = frame_copy(own, framed, dtype, false);
  b.emit({"own:copy", {dx}, {result}, "slice"}, [copy](const Launch& at) {
    StridedCopy bound = copy;
    bound.from = at.get(0);
    bound.to = at.get(1);
    run_strided_copy(bound, at.stream);
  });
}

// dy → db. Where dy comes from a pooling: over the pooled image's gradient, where y > 0.
void emit_bias_grad(Builder& b, const Node& node) {
  const Node* pool = pooled_gradient(b.graph(), node);
  const Shape& y = b.shape(pool != nullptr ? pool->inputs[2] : node.inputs[1]);
  ColumnCall call;
  call.what = ColumnSums::sum;
  call.dtype = b.spec(node.outputs[1]).dtype;
  call.rows = y[0] * y[1] * y[2];
  call.channels = y[3];
  call.plan = plan_columns(call.dtype, call.rows, call.channels);
  if (pool != nullptr) call.mask = ReluMask::from_y;
  std::vector<int> reads = {b.input(pool != nullptr ? pool->inputs[2] : node.inputs[1])};
  if (pool != nullptr) reads.push_back(b.input(pool->inputs[1]));
  int partials = b.scratch(call.plan.partial_bytes), counters = b.zeroed(call.plan.counter_bytes);
  int db = b.define(node.outputs[1]);
  size_t next = reads.size();
  b.emit({"own:columns", reads, {db, partials, counters}, "bias_grad"},
         [call, next](const Launch& at) {
           ColumnCall bound = call;
           bound.x = at.get(0);
           bound.y = next > 1 ? at.get(1) : nullptr;
           bound.out = at.get(next);
           bound.partials = at.get(next + 1);
           bound.counters = at.get<unsigned>(next + 2);
           run_column_sums(bound, at.stream);
         });
}

// The pooled image's gradient → dw [, db]; what pooling and relu stopped is left out on the way.
void emit_pooled_weight_grad(Builder& b, const Node& node, const Node& pool_grad) {
  const Shape& x_shape = b.shape(node.inputs[0]);
  DirectConv call;
  call.dtype = b.spec(node.inputs[0]).dtype;
  call.shape = shape_of(node, x_shape, b.shape(node.outputs[0]), b.shape(node.inputs[1]));
  call.pooled = true;
  Uncast image = uncast(b.graph(), b.fusion(), node.inputs[0]);
  call.wide_x = image.wide;
  int x = b.input(image.value), dy = b.input(pool_grad.inputs[2]);
  int places = b.attachments().at(pool_grad.inputs[1]);
  bool by_tensor_cores = is_tensor_stem(call.shape, call.dtype);
  int partials = b.scratch(by_tensor_cores ? tensor_stem_partial_bytes(call.shape)
                                           : direct_conv_partial_bytes(call.shape, call.dtype));
  int counter = b.zeroed(tensor_stem_counter_bytes(call.shape));
  std::vector<int> writes = {b.define(node.outputs[0]), partials, counter};
  bool has_bias = node.outputs.size() > 1;
  if (has_bias) writes.push_back(b.define(node.outputs[1]));
  b.emit({"own:stem", {x, dy, places}, writes}, [=](const Launch& at) {
    DirectConv bound = call;
    bound.x = at.get(0);
    bound.dy = at.get(1);
    bound.places = at.get<uint8_t>(2);
    bound.out = at.get(3);
    bound.partials = at.get<float>(4);
    bound.counter = at.get<unsigned>(5);
    bound.bias_out = has_bias ? at.get(6) : nullptr;
    by_tensor_cores ? run_tensor_stem_weight_grad(bound, at.stream)
                    : run_direct_conv_weight_grad(bound, at.stream);
  });
}

// x, dy → dw [, db] by own kernels; small images' stems make db on the way.
void emit_direct_weight_grad(Builder& b, const Node& node, const ConvShape& shape, int x, int dy) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  bool has_bias = node.outputs.size() > 1, both = has_bias && is_stem(shape, dtype);
  if (has_bias && !both) emit_bias_grad(b, node);
  int partials = b.scratch(direct_conv_partial_bytes(shape, dtype));
  std::vector<int> writes = {b.define(node.outputs[0]), partials};
  if (both) writes.push_back(b.define(node.outputs[1]));
  b.emit({"own:conv", {x, dy}, writes}, [shape, dtype, both](const Launch& at) {
    DirectConv call;
    call.dtype = dtype;
    call.shape = shape;
    call.x = at.get(0);
    call.dy = at.get(1);
    call.out = at.get(2);
    call.partials = at.get<float>(3);
    call.bias_out = both ? at.get(4) : nullptr;
    run_direct_conv_weight_grad(call, at.stream);
  });
}

void build_weight_grad(Builder& b, const Node& node) {
  if (int pool = b.fusion().stems[size_t(b.node_index())]; pool >= 0)
    return emit_pooled_weight_grad(b, node, b.graph().nodes()[size_t(pool)]);
  DType dtype = b.spec(node.inputs[0]).dtype;
  const Shape& y_shape = b.shape(node.inputs[1]);
  ConvShape own = shape_of(node, b.shape(node.inputs[0]), b.shape(node.outputs[0]), y_shape);
  bool folds = can_fold(own, dtype);
  ConvShape framed = folds ? folded_shape(own) : shape_for_cudnn(own, dtype);
  int dy = b.input(node.inputs[1]);
  std::shared_ptr<const ConvPlan> plan;
  if (!prefers_direct(own, ConvKind::weight_grad))
    plan = find_plan(b, {.kind = ConvKind::weight_grad, .shape = framed, .dtype = dtype});
  if (plan == nullptr) return emit_direct_weight_grad(b, node, own, b.input(node.inputs[0]), dy);
  if (node.outputs.size() > 1) emit_bias_grad(b, node);
  int x = folds ? folded_image(b, node.inputs[0], own, dtype)
                : framed_image(b, b.input(node.inputs[0]), own, framed, dtype);
  int dw = folds ? b.scratch(kernel_bytes(framed, dtype))
                 : b.define_from_cudnn(node.outputs[0], framed.channels / framed.groups);
  int workspace = b.scratch(plan->workspace());
  b.emit({plan->name(), {x, dy}, {dw, workspace}}, [plan](const Launch& at) {
    plan->run(at.device, at.get(0), at.get(2), at.get(1), nullptr, at.get(3));
  });
  if (!folds) return;
  int plain = b.define(node.outputs[0]);
  b.emit({"own:fold", {dw}, {plain}, "fold"}, [own, dtype](const Launch& at) {
    run_unfold_kernel(own, dtype, at.get(0), at.get(1), at.stream);
  });
}

}  // namespace

void emit_pooled_stem(Builder& b, const Node& conv, const Node& pool) {
  DirectConv call;
  call.dtype = b.spec(conv.inputs[0]).dtype;
  call.shape =
      shape_of(conv, b.shape(conv.inputs[0]), b.shape(conv.inputs[1]), b.shape(conv.outputs[0]));
  call.pooled = true;
  bool has_bias = conv.inputs.size() > 2;
  std::vector<int> reads;
  bool* const wide[] = {&call.wide_x, &call.wide_w, &call.wide_bias};
  for (size_t i = 0; i < conv.inputs.size(); ++i) {
    Uncast from = uncast(b.graph(), b.fusion(), conv.inputs[i]);
    reads.push_back(b.input(from.value));
    *wide[i] = from.wide;
  }
  bool by_tensor_cores = is_tensor_stem(call.shape, call.dtype);
  int places = b.kept(size_t(b.shape(pool.outputs[0]).elements()));
  b.attachments()[pool.outputs[0]] = places;
  b.emit({"own:stem", reads, {b.define(pool.outputs[0]), places}},
         [call, has_bias, by_tensor_cores](const Launch& at) {
           DirectConv bound = call;
           size_t next = has_bias ? 3 : 2;
           bound.x = at.get(0);
           bound.w = at.get(1);
           bound.bias = has_bias ? at.get(2) : nullptr;
           bound.out = at.get(next);
           bound.places = at.get<uint8_t>(next + 1);
           by_tensor_cores ? run_tensor_stem(bound, at.stream) : run_direct_conv(bound, at.stream);
         });
}

void add_convolution_builders(OpBuilders& table) {
  table["conv2d"] = {build_conv2d};
  table["conv2d_input_grad"] = {build_input_grad};
  table["conv2d_weight_grad"] = {build_weight_grad};
}

}  // namespace stoker::cuda
