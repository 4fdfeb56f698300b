// Convolutions that are products: of patches, where the kernel is the stride; of pixels, where 1×1
// kernels meet few of them.
#include "engine/cuda/kernels/patches.h"
#include "engine/cuda/kernels/tile_conv.h"
#include "engine/cuda/ops/conv_frames.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

int64_t patch_count(const ConvShape& s) { return int64_t(s.batch) * s.out_height * s.out_width; }
int64_t patch_size(const ConvShape& s) { return int64_t(s.kernel_y) * s.kernel_x * s.channels; }

int patch_buffer(Builder& b, const ConvShape& s, DType dtype) {
  return b.scratch(size_t(patch_count(s) * patch_size(s)) * size_of(dtype));
}

int cut_patches(Builder& b, int image, const ConvShape& shape, DType dtype) {
  int patches = patch_buffer(b, shape, dtype);
  b.emit({"own:patches", {image}, {patches}, "patches"}, [shape, dtype](const Launch& at) {
    run_cut_patches(shape, dtype, at.get(0), at.get(1), at.stream);
  });
  return patches;
}

}  // namespace

bool is_patch_conv(const ConvShape& s, DType dtype) {
  bool patches = s.groups == 1 && s.kernel_y == s.stride_y && s.kernel_x == s.stride_x &&
                 s.kernel_y * s.kernel_x > 1 && s.dilation_y == 1 && s.dilation_x == 1 &&
                 s.top + s.bottom + s.left + s.right == 0;
  // cuDNN reads other images as they are; patches are a pass of their own.
  bool few = s.channels < 8 || conv_padding(dtype, s.channels, 1) != s.channels;
  return patches && few && s.out_height > 0 && s.out_width > 0 && s.batch > 0 && s.channels > 0 &&
         !prefers_direct_conv(s, dtype);
}

void build_patch_conv(Builder& b, const Node& node, const ConvShape& shape) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  int w = b.input(node.inputs[1]);
  int patches = cut_patches(b, b.input(node.inputs[0]), shape, dtype);
  MatmulKey key = product_key(b, dtype, patch_count(shape), shape.filters, patch_size(shape));
  emit_product(b, node, key, patches, w);
}

void build_patch_conv_input_grad(Builder& b, const Node& node, const ConvShape& shape) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  int dy = b.input(node.inputs[0]), w = b.input(node.inputs[1]);
  int patches = patch_buffer(b, shape, dtype), dx = b.define(node.outputs[0]);
  MatmulKey key = product_key(b, dtype, patch_count(shape), patch_size(shape), shape.filters);
  key.transpose_b = true;
  emit_plain_product(b, key, dy, w, patches);
  b.emit({"own:patches", {patches}, {dx}, "patches"}, [shape, dtype](const Launch& at) {
    run_join_patches(shape, dtype, at.get(0), at.get(1), at.stream);
  });
}

void build_patch_conv_weight_grad(Builder& b, const Node& node, const ConvShape& shape) {
  DType dtype = b.spec(node.inputs[0]).dtype;
  int dy = b.input(node.inputs[1]);
  int patches = cut_patches(b, b.input(node.inputs[0]), shape, dtype);
  MatmulKey key = product_key(b, dtype, patch_size(shape), shape.filters, patch_count(shape));
  key.transpose_a = true;
  emit_plain_product(b, key, patches, dy, b.define(node.outputs[0]));
}

// --- 1×1 over few pixels, as behind global pooling ---

bool is_small_product(const ConvShape& s) {
  constexpr int64_t kFewPixels = 4096;
  int64_t pixels = int64_t(s.batch) * s.height * s.width;
  return s.groups == 1 && is_pixel_product(s) && s.channels > 0 && pixels > 0 &&
         pixels <= kFewPixels;
}

void build_small_product(Builder& b, const Node& node, const ConvShape& shape) {
  MatmulKey key = product_key(b, b.spec(node.inputs[0]).dtype, patch_count(shape), shape.filters,
                              shape.channels);
  emit_product(b, node, key, b.input(node.inputs[0]), b.input(node.inputs[1]),
               {.bias_apart = true});
}

void build_small_product_input_grad(Builder& b, const Node& node, const ConvShape& shape) {
  MatmulKey key = product_key(b, b.spec(node.inputs[0]).dtype, patch_count(shape), shape.channels,
                              shape.filters);
  key.transpose_b = true;
  int dy = b.input(node.inputs[0]), w = b.input(node.inputs[1]);
  emit_plain_product(b, key, dy, w, b.define(node.outputs[0]));
}

void build_small_product_weight_grad(Builder& b, const Node& node, const ConvShape& shape) {
  MatmulKey key = product_key(b, b.spec(node.inputs[0]).dtype, shape.channels, shape.filters,
                              patch_count(shape));
  key.transpose_a = true;
  int x = b.input(node.inputs[0]), dy = b.input(node.inputs[1]);
  emit_plain_product(b, key, x, dy, b.define(node.outputs[0]));
}

}  // namespace stoker::cuda
