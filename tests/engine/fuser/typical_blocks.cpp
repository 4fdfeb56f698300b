#include "engine/fuser/typical_blocks.h"

#include <stoker/ops.h>

#include "graph/emit.h"

namespace stoker::test {

namespace {

void finish(Graph& graph, const Value& y, const Values& by) {
  graph.output(y, "y");
  Value dy = graph.input("dy", y.spec());
  Value loss = ops::sum(ops::cast(y * dy, DType::float32));
  for (const Value& gradient : gradients(loss, by)) graph.output(gradient, "gradient");
}

// [B, H, W, C] → [B, H · f, W · f, C]
Value upsampled(const Value& x, int64_t f) {
  const Shape& s = x.shape();
  Value apart = ops::reshape(x, {s[0], s[1], 1, s[2], 1, s[3]});
  Value wide = ops::broadcast_to(apart, {s[0], s[1], f, s[2], f, s[3]});
  return ops::reshape(wide, {s[0], s[1] * f, s[2] * f, s[3]});
}

// The decoder of a U-Net: what comes from below beside the skip connection.
void unet(Graph& graph, DType dtype) {
  Value low = graph.input("low", {dtype, {8, 40, 40, 128}});
  Value skip = graph.input("skip", {dtype, {8, 80, 80, 64}});
  finish(graph, ops::concatenate({upsampled(ops::relu(low), 2), skip}), {low, skip});
}

// Squeeze and excitation with SiLU.
void efficientnet(Graph& graph, DType dtype) {
  Value x = graph.input("x", {dtype, {16, 28, 28, 240}});
  Value weights = graph.input("weights", {dtype, {240, 240}});
  Value active = ops::silu(x);
  Value gate = ops::sigmoid(ops::matmul(ops::mean(active, {.axes = {1, 2}}), weights));
  finish(graph, active * ops::reshape(gate, {16, 1, 1, 240}), {x, weights});
}

// GELU, layer scale and the residual sum.
void convnext(Graph& graph, DType dtype) {
  Value x = graph.input("x", {dtype, {16, 28, 28, 192}});
  Value residual = graph.input("residual", {dtype, {16, 28, 28, 192}});
  Value scale = graph.input("scale", {DType::float32, {192}});
  Value bias = graph.input("bias", {dtype, {192}});
  Value y = residual + ops::gelu(x + bias) * ops::cast(scale, dtype);
  finish(graph, y, {x, residual, scale, bias});
}

// Heads of an attention, and its padding.
void attention(Graph& graph, DType dtype) {
  Value x = graph.input("x", {dtype, {16, 197, 3 * 384}});
  Value heads = ops::transpose(ops::reshape(x, {16, 197, 3, 6, 64}), {2, 0, 3, 1, 4});
  Value q = ops::slice(heads, {0, 0, 0, 0, 0}, {1, 16, 6, 197, 64}) * 0.125;
  Value k = ops::slice(heads, {1, 0, 0, 0, 0}, {1, 16, 6, 197, 64});
  finish(graph, ops::pad(q + k, {0, 0, 0, 0, 0}, {0, 0, 0, 3, 0}), {x});
}

// Root mean square normalisation of rows, by ops.
void rows(Graph& graph, DType dtype) {
  Value x = graph.input("x", {dtype, {4096, 512}});
  Value square = ops::mean(ops::square(x), {.axes = {1}, .keepdims = true});
  finish(graph, x * ops::rsqrt(square + 1e-5), {x});
}

}  // namespace

std::vector<TypicalBlock> typical_blocks() {
  return {{"U-Net", unet},
          {"EfficientNet", efficientnet},
          {"ConvNeXt", convnext},
          {"attention", attention},
          {"rows", rows}};
}

}  // namespace stoker::test
