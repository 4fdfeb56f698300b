// Matrix products of cuBLASLt, for row-major matrices, with bias and relu in the same kernel.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <stoker/dtype.h>

#include "engine/cuda/conv_plan.h"

namespace stoker::cuda {

// y[rows, columns] = op(a) · op(b), `batch` of them one after another. int8: y is int32, b is
// transposed, and columns and inner are multiples of 16.
struct MatmulKey {
  DType dtype = DType::float32;
  int64_t batch = 1, rows = 0, columns = 0, inner = 0;
  int64_t stride_a = 0, stride_b = 0;  // between the matrices of a batch; 0: one for all
  bool transpose_a = false, transpose_b = false, bias = false, relu = false, tf32 = false;
  bool wide = false;    // y in float32, whatever the dtype of a and b
  bool addend = false;  // y += a matrix of its shape and dtype
  std::string text() const;
};

struct MatmulOperands {
  const void *a = nullptr, *b = nullptr;
  const void* bias = nullptr;    // [columns], where the key has one
  const void* addend = nullptr;  // may be y
  void *y = nullptr, *workspace = nullptr;
};

class MatmulPlan {
 public:
  virtual ~MatmulPlan() = default;
  virtual size_t workspace() const = 0;
  virtual void run(const Device& device, cudaStream_t stream,
                   const MatmulOperands& operands) const = 0;
};

class MatmulPlans {
 public:
  explicit MatmulPlans(PlanChoices& choices) : choices_(choices) {}

  // The first call for a key times cuBLASLt's candidates, unless an earlier process has. Trials of a
  // process take a second in all; what is left over then takes the heuristic's first.
  std::shared_ptr<const MatmulPlan> find(const MatmulKey& key,
                                         const std::shared_ptr<DevicePool>& pool);
  // Later calls choose anew; programs keep the plans that they have.
  void forget();

 private:
  std::shared_ptr<const MatmulPlan> choose(const MatmulKey& key,
                                           const std::shared_ptr<DevicePool>& pool);

  std::mutex mutex_;
  PlanChoices& choices_;
  double trial_seconds_ = 0;  // so far
  std::map<std::string, std::shared_ptr<const MatmulPlan>> plans_;
};

}  // namespace stoker::cuda
