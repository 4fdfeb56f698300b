#include "engine/cuda/matmul_plan.h"

#include <fmt/format.h>

namespace stoker::cuda {

namespace {

cudaDataType_t data_type(DType dtype) {
  return dtype == DType::float32 ? CUDA_R_32F : dtype == DType::float16 ? CUDA_R_16F : CUDA_R_16BF;
}

class Operation {
 public:
  explicit Operation(cublasComputeType_t compute) {
    check(cublasLtMatmulDescCreate(&handle_, compute, CUDA_R_32F), "a product");
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
    // Parts of a long sum are added in float32, not in the sixteen bits of the result.
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

class LtPlan final : public MatmulPlan {
 public:
  // Rows and columns change places: y' = b' · a'.
  LtPlan(const MatmulKey& key, const Device& device)
      : key_(key),
        operation_(key.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F),
        a_(data_type(key.dtype), key.transpose_a ? key.inner : key.rows,
           key.transpose_a ? key.rows : key.inner, key.batch, key.stride_a),
        b_(data_type(key.dtype), key.transpose_b ? key.columns : key.inner,
           key.transpose_b ? key.inner : key.columns, key.batch, key.stride_b),
        y_(data_type(key.wide ? DType::float32 : key.dtype), key.rows, key.columns, key.batch,
           key.rows * key.columns) {
    operation_.set(CUBLASLT_MATMUL_DESC_TRANSA, key.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    operation_.set(CUBLASLT_MATMUL_DESC_TRANSB, key.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    operation_.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(key));
    if (key.bias) operation_.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(key.dtype));
    Preference preference(kMostWorkspace);
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(device.cublas(), operation_.get(), b_.get(), a_.get(),
                                         y_.get(), y_.get(), preference.get(), 1, &result, &found),
          "an algorithm for a product");
    if (found == 0) fail("an algorithm for a product", key.text());
    algorithm_ = result.algo;
    workspace_ = result.workspaceSize;
  }

  size_t workspace() const override { return workspace_; }

  void run(const Device& device, cudaStream_t stream, const void* a, const void* b,
           const void* bias, void* y, void* workspace) const override {
    if (key_.bias) operation_.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    float one = 1, zero = 0;
    check(cublasLtMatmul(device.cublas(), operation_.get(), &one, b, b_.get(), a, a_.get(), &zero,
                         y, y_.get(), y, y_.get(), &algorithm_, workspace, workspace_, stream),
          "a product of matrices");
  }

 private:
  MatmulKey key_;
  mutable Operation operation_;  // the bias's address is set before each use, by one thread
  Matrix a_, b_, y_;
  cublasLtMatmulAlgo_t algorithm_{};
  size_t workspace_ = 0;
};

}  // namespace

std::string MatmulKey::text() const {
  return fmt::format("{} {} of {}x{}x{} strides {} {}{}{}{}{}{}{}", name(dtype), batch, rows,
                     columns, inner, stride_a, stride_b, transpose_a ? " ta" : "",
                     transpose_b ? " tb" : "", bias ? " bias" : "", relu ? " relu" : "",
                     tf32 ? " tf32" : "", wide ? " wide" : "");
}

std::shared_ptr<const MatmulPlan> MatmulPlans::find(const MatmulKey& key, const Device& device) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<const MatmulPlan>& plan = plans_[key.text()];
  if (plan == nullptr) plan = std::make_shared<LtPlan>(key, device);
  return plan;
}

}  // namespace stoker::cuda
