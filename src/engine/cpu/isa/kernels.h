// The kernels that are compiled once per instruction set (every .cpp file of this folder), as a
// table of functions. They work on one range each and know nothing of threads, layouts or graphs:
// the builders in the folder above divide the work. Pointers may be equal where a comment says "in
// place"; otherwise they do not overlap.
#pragma once

#include <stdint.h>

namespace stoker::cpu {

inline constexpr int kUnaryFunctions = 42;  // as many as UnaryFn has

// Those of bits are for integers, and have no kernels here.
enum BinaryFn : int {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMaximum,
  kMinimum,
  kMod,
  kFloorDiv,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kBinaryFunctions,
};
enum ReduceFn : int { kSum, kMax, kMin, kProd, kReduceFunctions };

// What all optimisers do to p and g before their own rule.
struct UpdateCommon {
  float lr, weight_decay, clip_value, scale;
};

// One window's worth of geometry for pooling, on a plane of `inner` channels a pixel (see
// ImageView).
struct PoolGeometry {
  int64_t height, width;          // of x
  int64_t out_height, out_width;  // of y
  int64_t window_h, window_w, stride_h, stride_w, top, left;
  int64_t inner;             // channels a pixel
  int64_t x_pixel, y_pixel;  // elements between pixels
  bool relu;                 // max_pool_grad: also zero where x <= 0
};

// x in blocks of channels: `pixels` pixels of `inner` channels, `stride` elements apart.
struct ChannelBlock {
  int64_t pixels, inner, stride;
};

// A convolution on few channels, bias, ReLU and 2×2 max-pooling as one: the first layers of many
// networks.
struct StemGeometry {
  int64_t rows, columns;      // of the pooled image
  int64_t line, step;         // floats between rows and between columns of convolved pixels in x
  int64_t taps, filters;      // weights are [taps, filters]
  const int64_t* offsets;     // where each tap finds its x
  int64_t y_pixel, y_vector;  // floats between pooled pixels, and between vectors of filters of one
};

// Floats between the parts of images in blocks of eight channels, for the gradient of weights.
struct WeightGradBlocks {
  int64_t x_line, x_step;     // rows and pixels of x that meet neighbouring ones of dy
  int64_t dy_line, dy_block;  // rows and blocks of filters of dy
  int64_t sum_block;          // blocks of filters among the sums
};

// A step of a recurrent layer for some rows of the batch and n of its units. States and gates point
// to the first of these units in the first of these rows: states are [.., units], gates [.., gates,
// units]. Masked rows keep their states.
struct RecurrentTile {
  int64_t rows, n, units;
  int64_t width;         // of a row of `product`
  const float* product;  // [gates, kGemmRows, width]: h · R
  float* gates;          // x · W + bias on entry, after their activations then
  const float* bias;     // of a gru: the recurrent one, [gates, units]
  const float *h_before, *c_before;
  float *h, *c;      // c of a gru: h · R + bias of the candidate
  const bool* mask;  // may be null: every row counts
  int64_t mask_stride;
  float* packed;  // [n, kGemmRows]: h, for the next product
};
// The way back: dh and dc are of the states behind the step on entry, of those before it then
// (dh without what the next `product` adds). `repeated`: dy of masked steps behind this one.
struct RecurrentGradTile {
  int64_t rows, n, units, width;
  const float* product;        // [kGemmRows, width], added to dh; may be null
  const float* gates;          // may be null: only `product` is added
  float *dgates, *drecurrent;  // for the products with x and h; one buffer but for a gru
  const float *h_before, *c_before, *c;
  const float* dy;
  int64_t dy_stride;
  float *dh, *dc, *repeated;
  const bool* mask;
  int64_t mask_stride;
  bool zero_masked;
  float* packed;  // [gates · units, kGemmRows] from the first of these units on: drecurrent
};

// One head of one sequence, for attention. Lines are floats between steps. Rows that are read beyond
// `dim` or `value_dim`, in whole panels (KernelTable::attention_panel), are those of k in the
// gradient and of v in both.
struct AttentionHead {
  enum MaskKind : int { kNoMask, kBool, kBias };

  int64_t queries, keys, dim, value_dim;
  const float *q, *k, *v;
  int64_t q_line, k_line, v_line;
  float *out, *logsumexp;  // written forwards, read backwards; logsumexp: [queries]
  int64_t out_line;        // of dout too
  const float* dout;       // backwards
  float* dq;               // backwards; lines as of q
  float scale;
  bool causal;
  MaskKind mask_kind;
  const void* mask;              // of query 0 and key 0
  int64_t mask_query, mask_key;  // elements between queries, and between keys
  // Dropout: element `first_element` + query · keys + key of the sequence (seed, stream).
  uint64_t seed, stream, first_element;
  uint32_t threshold;  // 0: none
  float kept;          // what a weight is multiplied with that is not dropped
};

struct KernelTable {
  const char* name;  // "generic", "avx2", "avx512"
  int64_t lanes;     // floats in a vector

  // --- elementwise, in place ---
  using Unary = void (*)(const float* x, float* y, int64_t n, float alpha, float beta);
  using UnaryGrad = void (*)(const float* v, const float* dy, float* dx, int64_t n, float alpha,
                             float beta);
  using Binary = void (*)(const float* a, const float* b, float* y, int64_t n);
  Unary unary[kUnaryFunctions];
  UnaryGrad unary_grad[kUnaryFunctions];
  // Both operands n long; or one of them a single number.
  Binary binary[kBinaryFunctions], binary_scalar_a[kBinaryFunctions],
      binary_scalar_b[kBinaryFunctions];
  void (*sigmoid_cross_entropy)(const float* x, const float* targets, float* loss, int64_t n);

  // --- float32 and bfloat16 ---
  void (*to_bfloat16)(const float* x, uint16_t* y, int64_t n);
  void (*from_bfloat16)(const uint16_t* x, float* y, int64_t n);

  // --- reductions ---
  using Fold = float (*)(const float* x, int64_t n);
  Fold fold[kReduceFunctions];
  double (*sum_of_squares)(const float* x, int64_t n);
  // y[n] = the fold of `rows` rows of x, `stride` apart; n <= kColumns.
  static constexpr int64_t kColumns = 256;
  void (*fold_columns[kReduceFunctions])(const float* x, float* y, int64_t rows, int64_t n,
                                         int64_t stride);

  // --- rows of a matrix [rows, n] ---
  void (*softmax)(const float* x, float* y, int64_t rows, int64_t n);      // in place
  void (*log_softmax)(const float* x, float* y, int64_t rows, int64_t n);  // in place
  void (*softmax_grad)(const float* y, const float* dy, float* dx, int64_t rows, int64_t n);
  void (*log_softmax_grad)(const float* y, const float* dy, float* dx, int64_t rows, int64_t n);
  // labels are clamped to class 0 by the caller
  void (*sparse_cross_entropy)(const float* x, const int64_t* labels, float* loss, int64_t rows,
                               int64_t n);
  void (*sparse_cross_entropy_grad)(const float* x, const int64_t* labels, const float* dloss,
                                    float* dx, int64_t rows, int64_t n);
  void (*cross_entropy)(const float* x, const float* targets, float* loss, int64_t rows, int64_t n);
  void (*cross_entropy_grad)(const float* x, const float* targets, const float* dloss, float* dx,
                             int64_t rows, int64_t n);
  void (*layer_norm)(const float* x, const float* gamma, const float* beta, float* y, float* mean,
                     float* rstd, int64_t rows, int64_t n, float epsilon);
  // dgamma and dbeta are added to.
  void (*layer_norm_grad)(const float* dy, const float* x, const float* gamma, const float* mean,
                          const float* rstd, float* dx, float* dgamma, float* dbeta, int64_t rows,
                          int64_t n);

  // --- batch norm, one block of channels; inner <= kColumns ---
  // sum and sum of squares of x - shift, added to; shift keeps the sums small.
  void (*channel_sums)(const float* x, ChannelBlock block, const float* shift, double* sum,
                       double* squares);
  // y = (x - mean) · scale + offset, then relu where asked; in place
  void (*channel_affine)(const float* x, float* y, ChannelBlock block, const float* mean,
                         const float* scale, const float* offset, bool relu);
  // sum of dy and of dy · (x - mean), added to; y (or null): dy counts only where y > 0
  void (*channel_grad_sums)(const float* x, const float* dy, const float* y, ChannelBlock block,
                            const float* mean, double* sum, double* product);
  // dx = a · dy + b · (x - mean) + c, with dy masked as above; in place on dy or x
  void (*channel_grad)(const float* x, const float* dy, const float* y, float* dx,
                       ChannelBlock block, const float* mean, const float* a, const float* b,
                       const float* c);

  // --- pooling, one plane; rows [begin, end) of y ---
  void (*max_pool)(const float* x, float* y, const PoolGeometry& g, int64_t begin, int64_t end);
  // In place on x when windows are 2×2 and side by side.
  void (*max_pool_grad)(const float* x, const float* dy, float* dx, const PoolGeometry& g);
  void (*avg_pool)(const float* x, float* y, const PoolGeometry& g, int64_t begin, int64_t end);
  void (*avg_pool_grad)(const float* dy, float* dx, const PoolGeometry& g);

  // --- stem, one image whose padding is part of x; filters in whole vectors ---
  // winner: [rows, columns, filters], which of the four was largest, or kNobody when ReLU lets
  // nothing through
  static constexpr uint8_t kNobody = 4;
  void (*stem)(const float* x, const float* w, const float* bias, float* y, uint8_t* winner,
               const StemGeometry& g);
  // dw: [taps, filters] and db are added to.
  void (*stem_grad)(const float* x, const float* dy, const uint8_t* winner, float* dw, float* db,
                    const StemGeometry& g);

  // --- weight gradient of a convolution, in tiles of channels × filters ---
  int64_t tile_channels, tile_filters;
  // x: [.., tile_channels], dy: [.., tile_filters], `line` floats between rows and `step` between
  // the pixels of x that meet neighbouring pixels of dy; sum: [tile_channels, tile_filters] is
  // added to.
  void (*weight_grad_tile)(const float* x, int64_t x_line, int64_t x_step, const float* dy,
                           int64_t dy_line, int64_t rows, int64_t columns, float* sum);

  // x: four channels of a block, dy: two or three (index + 2) blocks of filters; sum: [4, 8] for
  // each block of filters is added to. Null without AVX2.
  void (*weight_grad_blocks[2])(const float* x, const float* dy, const WeightGradBlocks& g,
                                int64_t rows, int64_t columns, float* sum);

  // Of a depthwise convolution: `lanes` channels of x and dy, `step` floats between pixels; the first
  // index + 1 taps lie `tap_step` apart in x. sums: [taps, lanes] is added to.
  static constexpr int kDepthwiseTaps = 8;
  void (*depthwise_taps[kDepthwiseTaps])(const float* x, int64_t x_step, int64_t tap_step,
                                         const float* dy, int64_t dy_step, int64_t pixels,
                                         float* sums);

  // --- matrix products, one tile ---
  // a: [k, kGemmRows], b: [k, gemm_columns]; the first index + 1 rows of a give as many of c, which
  // are replaced or added to.
  static constexpr int kGemmRows = 6;
  int64_t gemm_columns;
  void (*gemm_tile[kGemmRows])(const float* a, const float* b, int64_t k, float* c, int64_t c_line,
                               bool add);

  // --- recurrent layers, by cell: lstm, gru, rnn_tanh, rnn_relu ---
  void (*recurrent_tile[4])(const RecurrentTile& tile);
  void (*recurrent_grad_tile[4])(const RecurrentGradTile& tile);

  // --- attention, one head ---
  int64_t attention_panel;
  // A panel of queries from `query` on; scratch floats as attention_scratch says.
  void (*attention)(const AttentionHead& head, int64_t query, float* scratch);
  int64_t (*attention_scratch)(const AttentionHead& head);
  // dq of all queries; dk: [keys, padded dim] and dv: [keys, padded value_dim] are added to.
  void (*attention_grad)(const AttentionHead& head, float* dk, float* dv, float* scratch);
  int64_t (*attention_grad_scratch)(const AttentionHead& head);

  // --- one row times a matrix: rows of n floats, `stride` apart ---
  // y[j] = scale · (x · row j)
  void (*dot_rows)(const float* x, const float* rows, int64_t stride, int64_t count, int64_t n,
                   float scale, float* y);
  // y: [n] += the sum of x[j] · row j
  void (*mix_rows)(const float* x, const float* rows, int64_t stride, int64_t count, int64_t n,
                   float* y);

  // --- optimisers, on n elements of one parameter; in place ---
  void (*sgd)(float* p, const float* g, float* m, int64_t n, const UpdateCommon& common,
              float momentum, bool nesterov);
  // rate: lr with both bias corrections; rest_1 = 1 − β₁ and rest_2 = 1 − β₂, from double: 1 −
  // 0.999F has five digits. vhat may be null.
  void (*adam)(float* p, const float* g, float* m, float* v, float* vhat, int64_t n,
               const UpdateCommon& common, float rate, float rest_1, float rest_2, float epsilon);
  // rest = 1 − ρ. mean and momentum may be null.
  void (*rmsprop)(float* p, const float* g, float* v, float* mean, float* step, int64_t n,
                  const UpdateCommon& common, float rho, float rest, float momentum, float epsilon);

  // --- randomness: elements first … first + n - 1 of the sequence (seed, stream), first a multiple
  // of 4; an element is kept when the upper 24 of its bits are at least `threshold`; in place ---
  void (*dropout)(const float* x, float* y, int64_t n, uint64_t seed, uint64_t stream,
                  uint64_t first, uint32_t threshold, float scale);
};

// The table of the best instruction set that this host has; STOKER_MAX_ISA=generic or avx2 in the
// environment asks for less. Chosen once.
const KernelTable& kernels();

}  // namespace stoker::cpu
