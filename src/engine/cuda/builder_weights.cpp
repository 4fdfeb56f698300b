// The part of the builder that gives weights another dtype or order, many in one launch.
#include <algorithm>

#include "engine/cuda/builder.h"
#include "engine/cuda/kernels/shape.h"
#include "engine/cuda/kernels/update.h"
#include "engine/cuda/ops/conv_frames.h"

namespace stoker::cuda {

namespace {

// Whether cuDNN reads it, which wants it in its own order.
bool is_conv_kernel(const Graph& graph, const Node& user, int value) {
  bool convolves = user.is("conv2d") || user.is("conv2d_input_grad") || user.is("conv2d_transpose");
  return convolves && user.inputs[1] == value && user.inputs[0] != value &&
         !takes_kernel_as_it_is(graph, user);
}

}  // namespace

bool Builder::is_cast_of_variable(int value) const {
  const Node* node = graph().producer(value);
  return node != nullptr && node->is("cast") && is_floating(spec(value).dtype) &&
         is_floating(spec(node->inputs[0]).dtype) &&
         graph().values()[size_t(node->inputs[0])].kind == ValueKind::variable;
}

// A cast of a float32 variable to `dtype` that is not made yet, and not made by who reads it.
bool Builder::is_cast_to_make(int index, DType dtype) const {
  const Node& cast = graph().nodes()[size_t(index)];
  if (!cast.is("cast") || fusion_.is_inlined(index)) return false;
  int value = cast.outputs[0];
  return !is_defined(value) && is_cast_of_variable(value) && spec(value).dtype == dtype &&
         spec(cast.inputs[0]).dtype == DType::float32;
}

// Casts of variables are deferred until one is needed; then all of that dtype are made in one launch.
void Builder::cast_variables(int wanted) {
  DType dtype = spec(wanted).dtype;
  Call call{"own", {}, {}, "cast"};
  for (int i = 0; i < int(graph().nodes().size()); ++i) {
    if (!is_cast_to_make(i, dtype)) continue;
    const Node& cast = graph().nodes()[size_t(i)];
    int value = cast.outputs[0];
    // Kernels of convolutions alone are not needed in this order, unless own kernels take them.
    bool few = shape(value).rank() == 4 && shape(value)[2] <= 4;
    bool plain = value == wanted || few;
    for (const Node& user : graph().nodes())
      if (std::ranges::find(user.inputs, value) != user.inputs.end())
        plain |= !is_conv_kernel(graph(), user, value);
    if (!plain || call.reads.size() == CopyList::kMost) continue;
    call.reads.push_back(input(cast.inputs[0]));
    call.writes.push_back(define(value));
  }
  std::vector<int64_t> elements;
  for (int buffer : call.writes)
    elements.push_back(int64_t(parts_.buffers[size_t(buffer)].bytes / size_of(dtype)));
  emit(std::move(call), [dtype, elements](const Launch& at) {
    CopyList list;
    list.convert = true;
    list.to_dtype = dtype;
    for (size_t i = 0; i < elements.size(); ++i)
      list.add(at.get(i), at.get(elements.size() + i), elements[i]);
    run_copies(list, at.stream);
  });
}

// Of a convolution's kernel, a matrix that is turned, or a vector, which stays as it is.
void WeightLayouts::add(const Shape& w, int64_t padded) {
  if (w.rank() == 4)
    places_.push_back({w[0] * w[1], w[2], padded, w[3]});
  else
    places_.push_back({1, w.rank() > 0 ? w[0] : 1, padded, w.rank() == 2 ? w[1] : 1});
}

// The variable that a value is, or is a cast of that is not made yet; else -1.
int Builder::leaf_of(int value) const {
  if (graph().values()[size_t(value)].kind == ValueKind::variable) return value;
  return is_cast_of_variable(value) && !is_defined(value) ? graph().producer(value)->inputs[0] : -1;
}

void Builder::add_layout(WeightLayouts& layouts, Call& call, int value, int from, int64_t padded) {
  const Shape& w = shape(value);
  layouts.add(w, padded);
  int64_t elements = w.rank() == 4 ? w[0] * w[1] * padded * w[3] : w.elements();
  int to = new_buffer({BufferKind::arena, size_t(elements) * size_of(spec(value).dtype),
                       MemoryCategory::workspace, -1});
  call.reads.push_back(input(from));
  call.writes.push_back(to);
  cudnn_kernels_[{value, padded}] = to;
}

// All kernels of this dtype that variables hold now, and the vectors beside them.
void Builder::add_all_layouts(WeightLayouts& layouts, Call& call, DType dtype, DType from_dtype) {
  constexpr int64_t kMostTurned = 4096;  // of a vector: its tiles are mostly empty
  auto add = [&](int value, int64_t padded) {
    int from = leaf_of(value);
    if (from >= 0 && spec(value).dtype == dtype && spec(from).dtype == from_dtype &&
        !cudnn_kernels_.contains({value, padded}) && !layouts.is_full())
      add_layout(layouts, call, value, from, padded);
  };
  for (const Node& user : graph().nodes()) {
    if (user.inputs.size() < 2 || !is_conv_kernel(graph(), user, user.inputs[1]) ||
        fusion_.is_inlined(int(index_of(user))))
      continue;
    int value = user.inputs[1];
    auto groups = user.attrs.get_or<int64_t>("groups", 1);
    add(value, conv_padding(spec(value).dtype, shape(value)[2], groups));
  }
  for (const auto& [node, special] : fusion_.special)
    if (int weights = special->turned_weights(); weights >= 0) add(weights, shape(weights)[0]);
  // Biases are cast on the way: one launch less.
  if (from_dtype != DType::float32 || dtype == DType::float32) return;
  for (int i = 0; i < int(graph().nodes().size()); ++i) {
    if (!is_cast_to_make(i, dtype) || layouts.is_full()) continue;
    const Node& cast = graph().nodes()[size_t(i)];
    const Shape& vector = shape(cast.outputs[0]);
    if (vector.rank() != 1 || vector[0] > kMostTurned) continue;
    layouts.add(vector, vector[0]);
    call.reads.push_back(input(cast.inputs[0]));
    call.writes.push_back(define(cast.outputs[0]));
  }
}

int Builder::kernel_for_cudnn(int wanted, int64_t padded) {
  if (auto known = cudnn_kernels_.find({wanted, padded}); known != cudnn_kernels_.end())
    return known->second;
  // Of variables all in one launch; another value alone.
  DType dtype = spec(wanted).dtype;
  int leaf = leaf_of(wanted);
  DType from_dtype = leaf >= 0 ? spec(leaf).dtype : dtype;
  Call call{"own", {}, {}, "reorder"};
  WeightLayouts layouts(from_dtype, dtype, KernelLayouts::kMost);
  if (leaf >= 0) add_all_layouts(layouts, call, dtype, from_dtype);
  if (!cudnn_kernels_.contains({wanted, padded}))
    add_layout(layouts, call, wanted, leaf >= 0 ? leaf : wanted, padded);
  layouts.set_operands(0, call.reads.size());
  emit(std::move(call), [layouts](const Launch& at) {
    auto all = layouts.bind<KernelLayouts>(at);
    run_kernel_layouts(all, at.stream);
  });
  return cudnn_kernels_.at({wanted, padded});
}

WeightLayouts Builder::take_layouts(DType dtype, Call& call) {
  constexpr int64_t kMostElements = 1 << 19;
  int64_t elements = 0;
  for (const Node& user : graph().nodes())
    if (user.inputs.size() > 1 && is_conv_kernel(graph(), user, user.inputs[1]))
      elements += shape(user.inputs[1]).elements();
  WeightLayouts layouts(DType::float32, dtype, FewLayouts::kMost);
  if (elements > kMostElements || dtype == DType::float32) return layouts;
  size_t reads = call.reads.size(), writes = call.writes.size();
  add_all_layouts(layouts, call, dtype, DType::float32);
  layouts.set_operands(reads, call.reads.size() + writes);
  return layouts;
}

int Builder::define_from_cudnn(int value, int64_t padded) {
  const Shape& w = shape(value);
  size_t bytes = size_t(w[0] * w[1] * padded * w[3]) * size_of(spec(value).dtype);
  int buffer = new_buffer({BufferKind::arena, bytes, MemoryCategory::gradients, -1});
  untaken_[value] = {buffer, padded};
  return buffer;
}

std::optional<Builder::FromCudnn> Builder::unturned(int value) const {
  constexpr int64_t kMostElements = 1 << 19;  // of all: what one pass over them hardly notices
  int64_t elements = 0;
  for (const auto& [gradient, from] : untaken_) elements += shape(gradient).elements();
  auto found = untaken_.find(value);
  bool fits = found != untaken_.end() && elements <= kMostElements && shape(value)[3] % 4 == 0;
  return fits ? std::optional(found->second) : std::nullopt;
}

void Builder::turn_gradients() {
  Call call{"own", {}, {}, "reorder"};
  struct Place {
    int64_t pixels, channels, padded, filters;
  };
  std::vector<Place> shapes;
  DType dtype = spec(untaken_.begin()->first).dtype;
  for (auto next = untaken_.begin(); next != untaken_.end();) {
    auto [value, from] = *next;
    if (spec(value).dtype != dtype || shapes.size() == KernelLayouts::kMost) {
      ++next;
      continue;
    }
    const Shape& w = shape(value);
    call.reads.push_back(from.buffer);
    call.writes.push_back(define(value));
    shapes.push_back({w[0] * w[1], w[2], from.padded, w[3]});
    next = untaken_.erase(next);
  }
  emit(std::move(call), [=](const Launch& at) {
    KernelLayouts all;
    all.way = KernelLayouts::Way::from_cudnn;
    all.from_dtype = all.to_dtype = dtype;
    for (size_t i = 0; i < shapes.size(); ++i)
      all.add(at.get(i), at.get(shapes.size() + i), shapes[i].pixels, shapes[i].channels,
              shapes[i].padded, shapes[i].filters);
    run_kernel_layouts(all, at.stream);
  });
  if (!untaken_.empty()) turn_gradients();
}

}  // namespace stoker::cuda
