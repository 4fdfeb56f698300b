// Convolutions of cuDNN 9 through its backend API: one plan a kind and shape, chosen once and
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

// The channels that cuDNN is given for so many: kernels for sixteen bits want multiples of eight.
int64_t conv_padding(DType dtype, int64_t channels, int64_t groups);

class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  virtual size_t workspace() const = 0;
  virtual std::string name() const = 0;  // "cudnn:engine 34"
  virtual void run(const Device& device, void* x, void* w, void* y, void* bias,
                   void* workspace) const = 0;
};

// Which of cuDNN's plans were the fastest, kept in a file between processes, so that a later one
// neither measures again nor chooses another, which would change the last bits of its results. The
// file belongs to one GPU, driver and library version. A file that cannot be read or written is as
// good as none.
class PlanChoices {
 public:
  // $XDG_CACHE_HOME/stoker, or ~/.cache/stoker; STOKER_CONV_PLANS names another folder, "" none.
  explicit PlanChoices(const std::string& fingerprint);
  std::optional<std::string> find(const std::string& key) const;
  void add(const std::string& key, const std::string& plan);

 private:
  std::string path_;  // empty: nothing is kept
  std::map<std::string, std::string> choices_;
};

class ConvPlans {
 public:
  // Null when cuDNN has no plan for it. The first call for a key times the candidates, unless an
  // earlier process has.
  std::shared_ptr<const ConvPlan> find(const ConvKey& key, const std::shared_ptr<DevicePool>& pool);

 private:
  std::shared_ptr<const ConvPlan> get(const ConvKey& key, const std::shared_ptr<DevicePool>& pool);
  std::shared_ptr<const ConvPlan> choose(const ConvKey& key,
                                         const std::shared_ptr<DevicePool>& pool);

  std::mutex mutex_;
  std::unique_ptr<PlanChoices> choices_;
  std::map<std::string, std::shared_ptr<const ConvPlan>> plans_;
};

}  // namespace stoker::cuda
