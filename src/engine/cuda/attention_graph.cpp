#include "engine/cuda/attention_graph.h"

namespace stoker::cuda {

namespace {

using Dims = std::vector<int64_t>;

cudnnDataType_t type_of(DType dtype) {
  return dtype == DType::float16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
}

struct AttentionTensor {
  Dims dims, strides;
  cudnnDataType_t type;
  Descriptor* made;
};

// Adds tensors and steps one by one, as the library matches them.
class GraphWriter {
 public:
  explicit GraphWriter(const AttentionKey& key) : key_(key) {}

  AttentionTensor tensor(int64_t id, cudnnDataType_t type, Dims dims, Dims strides,
                         bool is_virtual = false, bool by_value = false) {
    Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
    made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t(16));
    if (is_virtual) made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
    if (by_value) made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, by_value);
    good_ = made.finalize() && good_;
    return {std::move(dims), std::move(strides), type, keep(std::move(made))};
  }
  AttentionTensor between(cudnnDataType_t type, const Dims& dims, const Dims& strides) {
    return tensor(next_++, type, dims, strides, true);
  }
  AttentionTensor scalar(int64_t id) {
    return tensor(id, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
  }
  // [batch, heads, length, dim] of a tensor with heads inside, [batch, length, heads, dim].
  AttentionTensor rows(int64_t id, int64_t heads, int64_t length, int64_t pitch) {
    return tensor(id, type_of(key_.dtype), {key_.batch, heads, length, key_.dim},
                  {length * pitch, key_.dim, pitch, 1});
  }
  AttentionTensor turned_rows(int64_t id, int64_t heads, int64_t length, int64_t pitch) {
    return tensor(id, type_of(key_.dtype), {key_.batch, heads, key_.dim, length},
                  {length * pitch, key_.dim, 1, pitch});
  }
  Dims score_dims() const { return {key_.batch, key_.heads, key_.queries, key_.keys}; }
  Dims score_strides() const {
    int64_t one = key_.queries * key_.keys;
    return {key_.heads * one, one, key_.keys, 1};
  }
  Dims row_dims() const { return {key_.batch, key_.heads, key_.queries, 1}; }
  Dims row_strides() const { return {key_.heads * key_.queries, key_.queries, 1, 1}; }
  AttentionTensor scores(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return between(type, score_dims(), score_strides());
  }
  AttentionTensor row() { return between(CUDNN_DATA_FLOAT, row_dims(), row_strides()); }

  // y = mode(x[, b[, t]])
  AttentionTensor pointwise(cudnnPointwiseMode_t mode, const AttentionTensor& x,
                            const AttentionTensor* b, AttentionTensor y,
                            cudnnDataType_t precision = CUDNN_DATA_FLOAT, int64_t axis = -1,
                            const AttentionTensor* t = nullptr) {
    Descriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, precision);
    if (axis >= 0) how.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
    good_ = how.finalize() && good_;
    Descriptor made(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, *keep(std::move(how)));
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.made);
    if (b != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b->made);
    if (t != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t->made);
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y.made);
    step(std::move(made));
    return y;
  }
  AttentionTensor reduce(cudnnReduceTensorOp_t mode, const AttentionTensor& x, AttentionTensor y) {
    Descriptor how(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, mode);
    how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    good_ = how.finalize() && good_;
    Descriptor made(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, *keep(std::move(how)));
    made.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x.made);
    made.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *y.made);
    step(std::move(made));
    return y;
  }
  AttentionTensor matmul(const AttentionTensor& a, const AttentionTensor& b, AttentionTensor c) {
    Descriptor how(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    good_ = how.finalize() && good_;
    Descriptor made(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, *keep(std::move(how)));
    made.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.made);
    made.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.made);
    made.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *c.made);
    step(std::move(made));
    return c;
  }
  // The last two axes change places.
  AttentionTensor turn(const AttentionTensor& x, cudnnDataType_t type) {
    auto swapped = [](Dims all) {
      std::swap(all[2], all[3]);
      return all;
    };
    AttentionTensor y = between(type, swapped(x.dims), swapped(x.strides));
    Descriptor made(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.made);
    made.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *y.made);
    step(std::move(made));
    return y;
  }
  // x, and -infinity where a key is ahead of its query.
  AttentionTensor masked(const AttentionTensor& x) {
    AttentionTensor lowest = scalar(kLowest);
    AttentionTensor row = pointwise(CUDNN_POINTWISE_GEN_INDEX, x, nullptr, scores(CUDNN_DATA_INT32),
                                    CUDNN_DATA_FLOAT, 2);
    AttentionTensor column = pointwise(CUDNN_POINTWISE_GEN_INDEX, x, nullptr,
                                       scores(CUDNN_DATA_INT32), CUDNN_DATA_FLOAT, 3);
    AttentionTensor seen = pointwise(CUDNN_POINTWISE_CMP_GE, row, &column,
                                     scores(CUDNN_DATA_BOOLEAN), CUDNN_DATA_BOOLEAN);
    return pointwise(CUDNN_POINTWISE_BINARY_SELECT, x, &lowest, scores(), CUDNN_DATA_FLOAT, -1,
                     &seen);
  }

  std::optional<Operations> finish(cudnnHandle_t handle) {
    if (!good_) return std::nullopt;
    Operations all;
    all.graph = Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    all.graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    all.graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                  int64_t(steps_.size()), steps_.data());
    if (!all.graph.finalize()) return std::nullopt;
    for (std::unique_ptr<Descriptor>& part : parts_) all.parts.push_back(std::move(*part));
    return all;
  }

 private:
  Descriptor* keep(Descriptor made) {
    parts_.push_back(std::make_unique<Descriptor>(std::move(made)));
    return parts_.back().get();
  }
  void step(Descriptor made) {
    good_ = good_ && made.finalize();
    steps_.push_back(keep(std::move(made))->get());
  }

  const AttentionKey& key_;
  std::vector<std::unique_ptr<Descriptor>> parts_;
  std::vector<cudnnBackendDescriptor_t> steps_;
  int64_t next_ = kBetween;
  bool good_ = true;
};

void write_forward(GraphWriter& w, const AttentionKey& key) {
  AttentionTensor q = w.rows(kQuery, key.heads, key.queries, key.q_pitch);
  AttentionTensor k = w.turned_rows(kKey, key.kv_heads, key.keys, key.k_pitch);
  AttentionTensor v = w.rows(kValue, key.kv_heads, key.keys, key.v_pitch);
  AttentionTensor out = w.rows(kOut, key.heads, key.queries, key.out_pitch);
  AttentionTensor lse = w.tensor(kLse, CUDNN_DATA_FLOAT, w.row_dims(), w.row_strides());
  AttentionTensor scale = w.scalar(kScale);
  AttentionTensor s = w.matmul(q, k, w.scores());
  s = w.pointwise(CUDNN_POINTWISE_MUL, s, &scale, w.scores());
  if (key.causal) s = w.masked(s);
  AttentionTensor most = w.reduce(CUDNN_REDUCE_TENSOR_MAX, s, w.row());
  AttentionTensor less = w.pointwise(CUDNN_POINTWISE_SUB, s, &most, w.scores());
  AttentionTensor e = w.pointwise(CUDNN_POINTWISE_EXP, less, nullptr, w.scores());
  AttentionTensor sum = w.reduce(CUDNN_REDUCE_TENSOR_ADD, e, w.row());
  AttentionTensor log = w.pointwise(CUDNN_POINTWISE_LOG, sum, nullptr, w.row());
  w.pointwise(CUDNN_POINTWISE_ADD, most, &log, lse);
  AttentionTensor p = w.pointwise(CUDNN_POINTWISE_DIV, e, &sum, w.scores(type_of(key.dtype)));
  w.matmul(p, v, out);
}

// c = a · b of all heads; where heads share keys, summed over the heads that do.
void write_shared(GraphWriter& w, const AttentionKey& key, const AttentionTensor& a,
                  const AttentionTensor& b, int64_t id) {
  AttentionTensor c = w.rows(id, key.kv_heads, key.keys, id == kDkey ? key.k_pitch : key.v_pitch);
  if (key.heads == key.kv_heads) {
    w.matmul(a, b, c);
    return;
  }
  int64_t head = key.keys * key.dim;
  AttentionTensor all = w.between(type_of(key.dtype), {key.batch, key.heads, key.keys, key.dim},
                                  {key.heads * head, head, key.dim, 1});
  w.reduce(CUDNN_REDUCE_TENSOR_ADD, w.matmul(a, b, all), c);
}

void write_backward(GraphWriter& w, const AttentionKey& key) {
  AttentionTensor q = w.rows(kQuery, key.heads, key.queries, key.q_pitch);
  AttentionTensor k = w.turned_rows(kKey, key.kv_heads, key.keys, key.k_pitch);
  AttentionTensor v = w.turned_rows(kValue, key.kv_heads, key.keys, key.v_pitch);
  AttentionTensor out = w.rows(kOut, key.heads, key.queries, key.out_pitch);
  AttentionTensor dout = w.rows(kDout, key.heads, key.queries, key.out_pitch);
  AttentionTensor lse = w.tensor(kLse, CUDNN_DATA_FLOAT, w.row_dims(), w.row_strides());
  AttentionTensor scale = w.scalar(kScale), one = w.scalar(kOne);
  // delta: the sum of dout · out over a row
  int64_t rows = key.queries * key.dim;
  AttentionTensor both =
      w.between(CUDNN_DATA_FLOAT, q.dims, {key.heads * rows, rows, key.heads * key.dim, 1});
  both = w.pointwise(CUDNN_POINTWISE_MUL, dout, &out, both);
  AttentionTensor delta = w.tensor(kDelta, CUDNN_DATA_FLOAT, w.row_dims(), w.row_strides());
  AttentionTensor unscaled = w.reduce(CUDNN_REDUCE_TENSOR_ADD, both, w.row());
  w.pointwise(CUDNN_POINTWISE_MUL, unscaled, &one, delta);
  // p
  AttentionTensor s = w.matmul(q, k, w.scores());
  s = w.pointwise(CUDNN_POINTWISE_MUL, s, &scale, w.scores());
  s = w.pointwise(CUDNN_POINTWISE_SUB, s, &lse, w.scores());
  if (key.causal) s = w.masked(s);
  AttentionTensor p = w.pointwise(CUDNN_POINTWISE_EXP, s, nullptr, w.scores());
  write_shared(w, key, w.turn(p, type_of(key.dtype)), dout, kDvalue);
  // ds
  AttentionTensor ds = w.matmul(dout, v, w.scores());
  ds = w.pointwise(CUDNN_POINTWISE_SUB, ds, &delta, w.scores());
  ds = w.pointwise(CUDNN_POINTWISE_MUL, ds, &p, w.scores());
  ds = w.pointwise(CUDNN_POINTWISE_MUL, ds, &scale, w.scores(type_of(key.dtype)));
  write_shared(w, key, w.turn(ds, type_of(key.dtype)), q, kDkey);
  AttentionTensor straight = w.turn(k, type_of(key.dtype));
  AttentionTensor dq = w.rows(kDquery, key.heads, key.queries, key.q_pitch);
  if (key.deterministic) {
    w.matmul(ds, straight, dq);
    return;
  }
  AttentionTensor wide =
      w.tensor(kDqueryWide, CUDNN_DATA_FLOAT, q.dims, {key.heads * rows, rows, key.dim, 1});
  w.pointwise(CUDNN_POINTWISE_IDENTITY, w.matmul(ds, straight, wide), nullptr, dq);
}

}  // namespace

std::optional<Operations> describe(const AttentionKey& key, cudnnHandle_t handle) {
  GraphWriter writer(key);
  if (key.backward)
    write_backward(writer, key);
  else
    write_forward(writer, key);
  return writer.finish(handle);
}

}  // namespace stoker::cuda
