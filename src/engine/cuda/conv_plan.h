// Convolutions of cuDNN 9 through its backend API: one plan per kind and shape, chosen once and
// remembered for the life of the backend, so that every program of a run uses the same.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <stoker/dtype.h>

#include "engine/cuda/kernels/direct_conv.h"
#include "engine/cuda/memory.h"
#include "engine/plan_choices.h"

namespace stoker::cuda {

enum class ConvKind : uint8_t { forward, input_grad, weight_grad };

// x: NHWC, w: [filters, kh, kw, channels / groups], y: NHWC, all of one dtype; sums in float32.
struct ConvKey {
  ConvKind kind = ConvKind::forward;
  ConvShape shape;
  DType dtype = DType::float32;
  bool bias = false, relu = false;  // forward only
  bool wide = false;                // forward only: y in float32
  bool tf32 = false;                // float32 only: products of ten-bit mantissas
  bool deterministic = true;
  std::string text() const;  // unique per key, and readable
};

// The channels that cuDNN is given for so many: 16-bit kernels need multiples of eight.
int64_t conv_padding(DType dtype, int64_t channels, int64_t groups);

class ConvTrial;
class CudnnCandidates;
struct Tried;

class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  virtual size_t workspace() const = 0;
  virtual std::string name() const = 0;  // "cudnn:engine 34"
  virtual void run(const Device& device, void* x, void* w, void* y, void* bias,
                   void* workspace) const = 0;
};

class ConvPlans {
 public:
  explicit ConvPlans(PlanChoices& choices) : choices_(choices) {}

  // Null when cuDNN has no plan for it. The first call for a key times the candidates, unless an
  // earlier process has. Trials of a process take 1.5 seconds in all: what is left over then takes
  // the heuristic's first, and the next process goes on from there.
  std::shared_ptr<const ConvPlan> find(const ConvKey& key, const std::shared_ptr<DevicePool>& pool);
  // Choices that a run prefers count from the next find() on.
  void forget();

 private:
  using Plan = std::shared_ptr<const ConvPlan>;
  Plan get(const ConvKey& key, const std::shared_ptr<DevicePool>& pool);
  Plan choose(const ConvKey& key, const std::shared_ptr<DevicePool>& pool);
  // `chosen`: by an earlier process, for want of time. `next`: the first candidate that was not tried.
  void try_plans(const CudnnCandidates& candidates, ConvTrial& trial, std::optional<size_t> chosen,
                 size_t most, std::vector<Tried>& tried, size_t& next);
  Plan first_of(const ConvKey& key, const CudnnCandidates& candidates, size_t from);

  PlanChoices& choices_;
  std::mutex mutex_;
  double trial_seconds_ = 0;  // so far
  std::map<std::string, Plan> plans_;
};

}  // namespace stoker::cuda
