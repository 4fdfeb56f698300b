#include "engine/cuda/attention_plan.h"

#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/tracing.h"

namespace stoker::cuda {

namespace {

using Dims = std::vector<int64_t>;

// How tensors are named in a call; what lies between steps is numbered from kBetween on.
enum AttentionId : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOut,
  kLse,
  kDout,
  kDquery,
  kDkey,
  kDvalue,
  kScale,
  kLowest,
  kOne,
  kDelta,
  kDqueryWide,
  kBetween
};

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

std::vector<int64_t> ids_of(const AttentionKey& key) {
  std::vector<int64_t> ids = {kQuery, kKey, kValue, kOut, kLse, kScale};
  if (key.causal) ids.push_back(kLowest);
  if (!key.backward) return ids;
  ids.insert(ids.end(), {kDout, kDquery, kDkey, kDvalue, kOne, kDelta});
  if (!key.deterministic) ids.push_back(kDqueryWide);
  return ids;
}

size_t in_lines(size_t bytes) { return (bytes + 255) / 256 * 256; }

// Bytes of delta and of dq in float32, where they exist.
std::vector<size_t> extra_of(const AttentionKey& key) {
  if (!key.backward) return {};
  size_t rows = size_t(key.batch * key.heads * key.queries) * sizeof(float);
  std::vector<size_t> extra = {in_lines(rows)};
  if (!key.deterministic) extra.push_back(in_lines(rows * size_t(key.dim)));
  return extra;
}

std::vector<Descriptor> configs_of(const Operations& operations, cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operations.graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (!heuristic.finalize()) return {};
  int64_t count = 0;
  cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                           CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr);
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configs.back().get());
  }
  if (count == 0 || cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                             raw.data()) != CUDNN_STATUS_SUCCESS)
    return {};
  configs.resize(size_t(count));
  return configs;
}

// Whether it repeats its results, and its number.
struct EngineFacts {
  bool deterministic = true;
  int64_t index = -1;
};
EngineFacts facts_of(const Descriptor& config) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  EngineFacts facts;
  int64_t count = 0;
  if (cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                               &raw) != CUDNN_STATUS_SUCCESS)
    return {false, -1};
  cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                           &count, &facts.index);
  std::array<cudnnBackendNumericalNote_t, 32> notes{};
  if (cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                               CUDNN_TYPE_NUMERICAL_NOTE, int64_t(notes.size()), &count,
                               notes.data()) == CUDNN_STATUS_SUCCESS)
    for (int64_t i = 0; i < count; ++i)
      if (notes[size_t(i)] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) facts.deterministic = false;
  return facts;
}

}  // namespace

std::string AttentionKey::text() const {
  return fmt::format("attention{} {} {}x{}/{}x{}x{}x{} pitches {} {} {} {}{}{} scale {}",
                     backward ? " gradient" : "", name(dtype), batch, heads, kv_heads, queries,
                     keys, dim, q_pitch, k_pitch, v_pitch, out_pitch, causal ? " causal" : "",
                     deterministic ? "" : " unordered", scale);
}

AttentionPlan::AttentionPlan(Descriptor plan, std::vector<int64_t> ids, float scale,
                             size_t library_workspace, std::vector<size_t> extra, std::string name)
    : plan_(std::move(plan)),
      ids_(std::move(ids)),
      scale_(scale),
      lowest_(-std::numeric_limits<float>::infinity()),
      workspace_(in_lines(library_workspace)),
      name_(std::move(name)) {
  for (size_t bytes : extra) {
    extra_.push_back(workspace_);
    workspace_ += bytes;
  }
}

cudnnStatus_t AttentionPlan::run(cudnnHandle_t handle, const AttentionOperands& operands,
                                 void* workspace) const {
  auto address = [&](int64_t id) -> void* {
    auto* base = static_cast<char*>(workspace);
    switch (id) {
      case kQuery:
        return const_cast<void*>(operands.q);
      case kKey:
        return const_cast<void*>(operands.k);
      case kValue:
        return const_cast<void*>(operands.v);
      case kOut:
        return operands.out;
      case kLse:
        return operands.lse;
      case kDout:
        return const_cast<void*>(operands.dout);
      case kDquery:
        return operands.dq;
      case kDkey:
        return operands.dk;
      case kDvalue:
        return operands.dv;
      case kScale:
        return const_cast<float*>(&scale_);
      case kLowest:
        return const_cast<float*>(&lowest_);
      case kOne:
        return const_cast<float*>(&one_);
      case kDelta:
        return base + extra_[0];
      default:
        return base + extra_[1];
    }
  };
  std::vector<void*> data;
  for (int64_t id : ids_) data.push_back(address(id));
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, int64_t(ids_.size()), ids_.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, int64_t(data.size()),
           data.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  if (!pack.finalize()) return CUDNN_STATUS_BAD_PARAM;
  return cudnnBackendExecute(handle, plan_.get(), pack.get());
}

std::vector<std::shared_ptr<const AttentionPlan>> attention_candidates(const AttentionKey& key,
                                                                       cudnnHandle_t handle,
                                                                       size_t most) {
  TraceScope trace("cuDNN: attention");
  std::vector<std::shared_ptr<const AttentionPlan>> found;
  auto describe_attention = [&] {
    GraphWriter writer(key);
    key.backward ? write_backward(writer, key) : write_forward(writer, key);
    return writer.finish(handle);
  };
  std::optional<Operations> operations = describe_attention();
  if (!operations) return found;
  for (Descriptor& config : configs_of(*operations, CUDNN_HEUR_MODE_A)) {
    if (found.size() == most) break;
    EngineFacts facts = facts_of(config);
    if (key.deterministic && !facts.deterministic) continue;
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (!plan.finalize()) continue;
    int64_t count = 0, workspace = 0;
    check(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                   CUDNN_TYPE_INT64, 1, &count, &workspace),
          "a plan's workspace");
    found.push_back(std::make_shared<AttentionPlan>(std::move(plan), ids_of(key), key.scale,
                                                    size_t(workspace), extra_of(key),
                                                    fmt::format("cudnn:engine {}", facts.index)));
  }
  return found;
}

std::shared_ptr<const AttentionPlan> AttentionPlans::find(const AttentionKey& key,
                                                          cudnnHandle_t handle) {
  std::lock_guard lock(mutex_);
  auto [place, is_new] = plans_.try_emplace(key.text());
  if (is_new) {
    auto candidates = attention_candidates(key, handle, 1);
    if (!candidates.empty()) place->second = candidates[0];
  }
  return place->second;
}

}  // namespace stoker::cuda
