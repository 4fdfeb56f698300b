// The part of the builder that gives weights another dtype or order, many in one launch.
#include <algorithm>

#include "engine/cuda/builder.h"
#include "engine/cuda/kernels/shape.h"
#include "engine/cuda/kernels/update.h"

namespace stoker::cuda {

namespace {

bool is_conv_kernel(const Node& user, int value) {
  return (user.op->name == "conv2d" || user.op->name == "conv2d_input_grad") &&
         user.inputs[1] == value && user.inputs[0] != value;
}

}  // namespace

bool Builder::is_cast_of_variable(int value) const {
  const Node* node = graph().producer(value);
  return node != nullptr && node->op->name == "cast" && is_floating(spec(value).dtype) &&
         is_floating(spec(node->inputs[0]).dtype) &&
         graph().values()[size_t(node->inputs[0])].kind == ValueKind::variable;
}

// A cast of a float32 variable to `dtype` that is not made yet, and not made by who reads it.
bool Builder::is_cast_to_make(int index, DType dtype) const {
  const Node& cast = graph().nodes()[size_t(index)];
  if (cast.op->name != "cast" || fusion_.is_inlined(index)) return false;
  int value = cast.outputs[0];
  return !is_defined(value) && is_cast_of_variable(value) && spec(value).dtype == dtype &&
         spec(cast.inputs[0]).dtype == DType::float32;
}

// Casts of variables wait until somebody needs one; then all of that dtype are made in one launch.
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
        plain |= !is_conv_kernel(user, value);
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

namespace {

struct KernelShape {
  int64_t pixels, channels, padded, filters;
};

// Of a convolution's kernel, a matrix that is turned, or a vector, which stays as it is.
KernelShape kernel_shape(const Shape& w, int64_t padded) {
  if (w.rank() == 4) return {w[0] * w[1], w[2], padded, w[3]};
  return {1, w.rank() > 0 ? w[0] : 1, padded, w.rank() == 2 ? w[1] : 1};
}

}  // namespace

int Builder::kernel_for_cudnn(int wanted, int64_t padded) {
  constexpr int64_t kMostTurned = 4096;  // of a vector: its tiles are mostly empty
  if (auto known = cudnn_kernels_.find({wanted, padded}); known != cudnn_kernels_.end())
    return known->second;
  // All kernels of this dtype that variables hold now, in one launch; else this one alone.
  auto source_of = [&](int value) {
    if (graph().values()[size_t(value)].kind == ValueKind::variable) return value;
    return is_cast_of_variable(value) && !is_defined(value) ? graph().producer(value)->inputs[0]
                                                            : -1;
  };
  DType dtype = spec(wanted).dtype;
  int from_variable = source_of(wanted);
  DType from_dtype = from_variable >= 0 ? spec(from_variable).dtype : dtype;
  Call call{"own", {}, {}, "reorder"};
  std::vector<KernelShape> shapes;
  auto add = [&](int value, int from, int64_t channels) {
    KernelShape w = kernel_shape(shape(value), channels);
    size_t bytes = size_t(w.pixels * w.padded * w.filters) * size_of(dtype);
    int to = new_buffer({BufferKind::arena, bytes, MemoryCategory::workspace, -1});
    call.reads.push_back(input(from));
    call.writes.push_back(to);
    shapes.push_back(w);
    cudnn_kernels_[{value, channels}] = to;
  };
  // Biases are cast on the way: one launch less.
  auto add_vectors = [&] {
    if (from_dtype != DType::float32 || dtype == DType::float32) return;
    for (int i = 0; i < int(graph().nodes().size()); ++i) {
      if (!is_cast_to_make(i, dtype) || shapes.size() == KernelLayouts::kMost) continue;
      const Node& cast = graph().nodes()[size_t(i)];
      const Shape& vector = shape(cast.outputs[0]);
      if (vector.rank() != 1 || vector[0] > kMostTurned) continue;
      call.reads.push_back(input(cast.inputs[0]));
      call.writes.push_back(define(cast.outputs[0]));
      shapes.push_back(kernel_shape(vector, vector[0]));
    }
  };
  if (from_variable < 0) {
    add(wanted, wanted, padded);
  } else {
    for (const Node& user : graph().nodes()) {
      if (user.inputs.size() < 2 || !is_conv_kernel(user, user.inputs[1]) ||
          fusion_.is_inlined(int(&user - graph().nodes().data())))
        continue;
      int value = user.inputs[1], from = source_of(value);
      int64_t channels =
          conv_padding(spec(value).dtype, shape(value)[2], user.attrs.get_or<int64_t>("groups", 1));
      if (from < 0 || spec(value).dtype != dtype || spec(from).dtype != from_dtype ||
          cudnn_kernels_.contains({value, channels}) || shapes.size() == KernelLayouts::kMost)
        continue;
      add(value, from, channels);
    }
    for (const std::optional<Head>& head : fusion_.heads) {
      int from = head ? source_of(head->weights) : -1;
      if (from < 0 || spec(head->weights).dtype != dtype || spec(from).dtype != from_dtype ||
          cudnn_kernels_.contains({head->weights, shape(from)[0]}) ||
          shapes.size() == KernelLayouts::kMost)
        continue;
      add(head->weights, from, shape(from)[0]);
    }
    if (!cudnn_kernels_.contains({wanted, padded})) add(wanted, from_variable, padded);
    add_vectors();
  }
  emit(std::move(call), [=](const Launch& at) {
    KernelLayouts all;
    all.way = KernelLayouts::Way::to_cudnn;
    all.from_dtype = from_dtype;
    all.to_dtype = dtype;
    for (size_t i = 0; i < shapes.size(); ++i)
      all.add(at.get(i), at.get(shapes.size() + i), shapes[i].pixels, shapes[i].channels,
              shapes[i].padded, shapes[i].filters);
    run_kernel_layouts(all, at.stream);
  });
  return cudnn_kernels_.at({wanted, padded});
}

int Builder::define_from_cudnn(int value, int64_t padded) {
  const Shape& w = shape(value);
  size_t bytes = size_t(w[0] * w[1] * padded * w[3]) * size_of(spec(value).dtype);
  int buffer = new_buffer({BufferKind::arena, bytes, MemoryCategory::gradients, -1});
  untaken_[value] = {buffer, padded};
  return buffer;
}

void Builder::turn_gradients() {
  Call call{"own", {}, {}, "reorder"};
  std::vector<KernelShape> shapes;
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
