// A whole expression of elementwise ops in one kernel: a short program that every thread runs for
// the elements it owns, with one accumulator and a few temporaries. Everything elementwise goes
// through it, alone or fused. (Why an interpreter: docs/design/007-gpu-engine.md.)
#pragma once

#include <cstdint>

#include <cuda_runtime.h>
#include <stoker/dtype.h>

namespace stoker::cuda {

enum class PointwiseOp : uint8_t {
  load,     // acc = a
  save,     // temporary[fn] = acc
  unary,    // acc = fn(acc)
  slope,    // acc = acc · fn'(a); reversed: a · fn'(acc)
  binary,   // acc = fn(acc, a); reversed: fn(a, acc)
  compare,  // likewise, 0 or 1
  select,   // acc = temporary[fn] != 0 ? acc : a
  round,    // acc as the dtype `fn` would hold it
};

enum class BinaryFn : uint8_t {
  add,
  sub,
  mul,
  div,
  pow,
  maximum,
  minimum,
  mod,
  floor_div,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,  // integers
  sigmoid_cross_entropy,
};
enum class CompareFn : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

struct PointwiseStep {
  PointwiseOp op = PointwiseOp::load;
  uint8_t fn = 0;
  int8_t a = -1;  // operand; kTemporary + i: a temporary; -1: none
  bool reversed = false;
  float alpha = 0, beta = 0;
};

// How element i of the result finds its element of an operand.
enum class Reading : uint8_t { same, scalar, channels, strided };

struct PointwiseOperand {
  static constexpr int kMaxRank = 8;
  const void* data = nullptr;
  DType dtype = DType::float32;
  Reading reading = Reading::same;
  int64_t extent = 1;  // channels: i % extent
  int64_t strides[kMaxRank] = {};
};

struct PointwiseProgram {
  static constexpr int kMaxSteps = 28, kMaxOperands = 10, kMaxTemporaries = 4, kTemporary = 64;
  int steps = 0, operands = 0;
  PointwiseStep step[kMaxSteps];
  PointwiseOperand operand[kMaxOperands];
  int rank = 0;  // of the result, axes merged where every operand allows it
  int64_t dims[PointwiseOperand::kMaxRank] = {};
  int64_t elements = 0;
  void* out = nullptr;
  DType out_dtype = DType::float32;
  bool integers = false;         // compute in int64 instead of float
  const int* enabled = nullptr;  // if not null and 0 there: leave `out` alone
};

void run_pointwise(const PointwiseProgram& program, cudaStream_t stream);

}  // namespace stoker::cuda
