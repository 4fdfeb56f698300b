#include "engine/cuda/matmul_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"

namespace stoker::cuda {

namespace {

cudaDataType_t data_type(DType dtype) {
  if (dtype == DType::int8) return CUDA_R_8I;
  return dtype == DType::float32 ? CUDA_R_32F : dtype == DType::float16 ? CUDA_R_16F : CUDA_R_16BF;
}

class Operation {
 public:
  explicit Operation(cublasComputeType_t compute) {
    cudaDataType_t scale = compute == CUBLAS_COMPUTE_32I ? CUDA_R_32I : CUDA_R_32F;
    check(cublasLtMatmulDescCreate(&handle_, compute, scale), "a product");
  }
  ~Operation() { cublasLtMatmulDescDestroy(handle_); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, const T& value) {
    check(cublasLtMatmulDescSetAttribute(handle_, name, &value, sizeof value),
          "an attribute of a product");
  }
  cublasLtMatmulDesc_t get() const { return handle_; }

 private:
  cublasLtMatmulDesc_t handle_ = nullptr;
};

// Column-major, as cuBLAS reads: a row-major [rows, columns] is its transpose.
class Matrix {
 public:
  Matrix(cudaDataType_t type, int64_t rows, int64_t columns, int64_t batch, int64_t stride) {
    check(cublasLtMatrixLayoutCreate(&handle_, type, uint64_t(columns), uint64_t(rows), columns),
          "a matrix");
    auto count = int32_t(batch);
    check(cublasLtMatrixLayoutSetAttribute(handle_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                           sizeof count),
          "a batch of matrices");
    check(cublasLtMatrixLayoutSetAttribute(handle_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                           &stride, sizeof stride),
          "a batch of matrices");
  }
  ~Matrix() { cublasLtMatrixLayoutDestroy(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  cublasLtMatrixLayout_t get() const { return handle_; }

 private:
  cublasLtMatrixLayout_t handle_ = nullptr;
};

class Preference {
 public:
  explicit Preference(size_t workspace) {
    check(cublasLtMatmulPreferenceCreate(&handle_), "a preference");
    check(cublasLtMatmulPreferenceSetAttribute(handle_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &workspace, sizeof workspace),
          "a preference");
    // Parts of a long sum are added in float32, not in the 16-bit type of the result.
    uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    check(cublasLtMatmulPreferenceSetAttribute(handle_, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                               &schemes, sizeof schemes),
          "a preference");
  }
  ~Preference() { cublasLtMatmulPreferenceDestroy(handle_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  cublasLtMatmulPreference_t get() const { return handle_; }

 private:
  cublasLtMatmulPreference_t handle_ = nullptr;
};

constexpr size_t kMostWorkspace = size_t(32) << 20;

cublasLtEpilogue_t epilogue(const MatmulKey& key) {
  if (key.bias) return key.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return key.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

cublasComputeType_t compute_type(const MatmulKey& key) {
  if (key.dtype == DType::int8) return CUBLAS_COMPUTE_32I;
  return key.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

cudaDataType_t result_type(const MatmulKey& key) {
  if (key.dtype == DType::int8) return CUDA_R_32I;
  return data_type(key.wide ? DType::float32 : key.dtype);
}

// Products of less take so little that the host's launches would be timed.
constexpr double kWorthTiming = 1e9;  // FLOPs
constexpr double kMostTrialSeconds = 1;

size_t candidates_for(const MatmulKey& key) {
  double work =
      2.0 * double(key.batch) * double(key.rows) * double(key.columns) * double(key.inner);
  return work < kWorthTiming ? 1 : 8;
}

class LtPlan final : public MatmulPlan {
 public:
  // Rows and columns change places: y' = b' · a'.
  LtPlan(const MatmulKey& key, const Device& device)
      : key_(key),
        operation_(compute_type(key)),
        a_(data_type(key.dtype), key.transpose_a ? key.inner : key.rows,
           key.transpose_a ? key.rows : key.inner, key.batch, key.stride_a),
        b_(data_type(key.dtype), key.transpose_b ? key.columns : key.inner,
           key.transpose_b ? key.inner : key.columns, key.batch, key.stride_b),
        y_(result_type(key), key.rows, key.columns, key.batch, key.rows * key.columns) {
    operation_.set(CUBLASLT_MATMUL_DESC_TRANSA, key.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    operation_.set(CUBLASLT_MATMUL_DESC_TRANSB, key.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    operation_.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(key));
    if (key.bias) operation_.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(key.dtype));
    Preference preference(kMostWorkspace);
    candidates_.resize(candidates_for(key));
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(device.cublas(), operation_.get(), b_.get(), a_.get(),
                                         y_.get(), y_.get(), preference.get(),
                                         int(candidates_.size()), candidates_.data(), &found),
          "an algorithm for a product");
    candidates_.resize(size_t(found));
    std::erase_if(candidates_, [](const auto& one) { return one.state != CUBLAS_STATUS_SUCCESS; });
    if (candidates_.empty()) fail("an algorithm for a product", key.text());
  }

  size_t workspace() const override { return candidates_[chosen_].workspaceSize; }

  // --- before it is used ---
  size_t candidates() const { return candidates_.size(); }
  void choose(size_t which) { chosen_ = which; }
  size_t most_workspace() const {
    size_t most = 0;
    for (const auto& candidate : candidates_) most = std::max(most, candidate.workspaceSize);
    return most;
  }
  // How a candidate is named where choices are kept.
  std::string name(size_t which) const {
    int id = 0;
    size_t written = 0;
    check(cublasLtMatmulAlgoConfigGetAttribute(&candidates_[which].algo, CUBLASLT_ALGO_CONFIG_ID,
                                               &id, sizeof id, &written),
          "an algorithm's number");
    return fmt::format("{} cublaslt:{}", which, id);
  }

  void run(const Device& device, cudaStream_t stream, const MatmulOperands& on) const override {
    if (key_.bias) operation_.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, on.bias);
    float one = 1, beta = key_.addend ? 1 : 0;
    int32_t whole_one = 1, whole_zero = 0;  // of sums in int32
    bool whole = key_.dtype == DType::int8;
    const void* alpha = whole ? static_cast<const void*>(&whole_one) : &one;
    const void* addend = whole ? static_cast<const void*>(&whole_zero) : &beta;
    check(cublasLtMatmul(device.cublas(), operation_.get(), alpha, on.b, b_.get(), on.a, a_.get(),
                         addend, key_.addend ? on.addend : on.y, y_.get(), on.y, y_.get(),
                         &candidates_[chosen_].algo, on.workspace, this->workspace(), stream),
          "a product of matrices");
  }

 private:
  MatmulKey key_;
  mutable Operation operation_;  // the bias's address is set before each use, by one thread
  Matrix a_, b_, y_;
  std::vector<cublasLtMatmulHeuristicResult_t> candidates_;  // the heuristic's best first
  size_t chosen_ = 0;
};

// --- trials ---

// Memory to try a product on; nothing where it does not fit.
class MatmulTrial {
 public:
  static std::optional<MatmulTrial> make(const MatmulKey& key,
                                         const std::shared_ptr<DevicePool>& pool,
                                         size_t workspace) {
    try {
      return MatmulTrial(key, pool, workspace);
    } catch (const OutOfMemoryError&) {
      return std::nullopt;
    }
  }
  // Milliseconds, the least of five; of one that is hopeless beside `best`, of one run. Infinity of
  // one that cannot run.
  float time(const LtPlan& plan, float best) const try {
    constexpr float kHopeless = 1.5F;
    const Device& device = pool_->device();
    Event begin(Event::Timing::on), end(Event::Timing::on);
    auto run = [&] {
      plan.run(device, device.stream(),
               {.a = a_.data(),
                .b = b_.data(),
                .bias = bias_.data(),
                .addend = y_.data(),
                .y = y_.data(),
                .workspace = workspace_.data()});
    };
    run();
    float least = std::numeric_limits<float>::infinity();
    for (int repeat = 0; repeat < 5 && (repeat == 0 || least < kHopeless * best); ++repeat) {
      begin.record(device.stream());
      run();
      run();
      end.record(device.stream());
      end.wait();
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "timing a product");
      least = std::min(least, ms / 2);
    }
    return least;
  } catch (const CudaError&) {
    return std::numeric_limits<float>::infinity();
  }

 private:
  MatmulTrial(const MatmulKey& key, const std::shared_ptr<DevicePool>& pool, size_t workspace)
      : pool_(pool),
        a_(pool, bytes(key.dtype, key.batch * key.rows * key.inner), "a trial"),
        b_(pool, bytes(key.dtype, key.batch * key.columns * key.inner), "a trial"),
        y_(pool, bytes(DType::float32, key.batch * key.rows * key.columns), "a trial"),
        bias_(pool, bytes(key.dtype, key.columns), "a trial"),
        workspace_(pool, workspace, "a trial") {}
  static size_t bytes(DType dtype, int64_t elements) { return size_t(elements) * size_of(dtype); }

  std::shared_ptr<DevicePool> pool_;
  DeviceBlock a_, b_, y_, bias_, workspace_;
};

}  // namespace

std::string MatmulKey::text() const {
  return fmt::format("{} {} of {}x{}x{} strides {} {}{}{}{}{}{}{}{}", name(dtype), batch, rows,
                     columns, inner, stride_a, stride_b, transpose_a ? " ta" : "",
                     transpose_b ? " tb" : "", bias ? " bias" : "", relu ? " relu" : "",
                     tf32 ? " tf32" : "", wide ? " wide" : "", addend ? " addend" : "");
}

std::shared_ptr<const MatmulPlan> MatmulPlans::find(const MatmulKey& key,
                                                    const std::shared_ptr<DevicePool>& pool) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<const MatmulPlan>& plan = plans_[key.text()];
  if (plan == nullptr) plan = choose(key, pool);
  return plan;
}

void MatmulPlans::forget() {
  std::lock_guard lock(mutex_);
  plans_.clear();
}

std::shared_ptr<const MatmulPlan> MatmulPlans::choose(const MatmulKey& key,
                                                      const std::shared_ptr<DevicePool>& pool) {
  auto plan = std::make_shared<LtPlan>(key, pool->device());
  if (plan->candidates() == 1) return plan;
  const std::string text = "matmul " + key.text();
  std::optional<PlanChoices::Choice> known = choices_.find(text);
  for (size_t i = 0; known && i < plan->candidates(); ++i)
    if (plan->name(i) == known->plan) plan->choose(i);
  if (known && known->tried == 0) return plan;
  std::optional<MatmulTrial> trial;
  if (trial_seconds_ < kMostTrialSeconds)
    trial = MatmulTrial::make(key, pool, plan->most_workspace());
  if (!trial) {
    if (!known) choices_.add(text, {plan->name(0), 1});
    return plan;
  }
  const int64_t began = steady_clock().now();
  float best = std::numeric_limits<float>::infinity();
  size_t fastest = 0;
  for (size_t i = 0; i < plan->candidates(); ++i) {
    plan->choose(i);
    if (float ms = trial->time(*plan, best); ms < best) {
      best = ms;
      fastest = i;
    }
  }
  trial_seconds_ += double(steady_clock().now() - began) * 1e-9;
  plan->choose(fastest);
  choices_.add(text, {plan->name(fastest)});
  return plan;
}

}  // namespace stoker::cuda
