#include "train/model/claimed_weights.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "train/model/model_base.h"

namespace stoker {

namespace {

struct Claims {
  std::mutex mutex;
  std::map<const void*, std::thread::id> owners;  // by the weight's identity
  std::atomic<size_t> count = 0;
};

Claims& claims() {
  static Claims all;
  return all;
}

void check_owner(const Claims& all, const Variable& weight, const char* action) {
  auto found = all.owners.find(weight.id());
  if (found != all.owners.end() && found->second != std::this_thread::get_id())
    throw Error(
        fmt::format("{}: the weight \"{}\" is being trained by a fit of another model, in another "
                    "thread, that shares it; wait until that has ended",
                    action, weight.name()));
}

}  // namespace

ClaimedWeights::ClaimedWeights(const std::vector<Variable>& weights) {
  Claims& all = claims();
  std::lock_guard lock(all.mutex);
  for (const Variable& weight : weights) check_owner(all, weight, "fit");
  for (const Variable& weight : weights)
    if (all.owners.emplace(weight.id(), std::this_thread::get_id()).second)
      claimed_.push_back(weight);
  all.count = all.owners.size();
}

ClaimedWeights::~ClaimedWeights() {
  Claims& all = claims();
  std::lock_guard lock(all.mutex);
  for (const Variable& weight : claimed_) all.owners.erase(weight.id());
  all.count = all.owners.size();
}

void check_unclaimed(const ModelBase& model, const char* action) {
  Claims& all = claims();
  if (all.count.load(std::memory_order_relaxed) == 0) return;
  std::vector<Variable> weights = model.weights();
  std::lock_guard lock(all.mutex);
  for (const Variable& weight : weights) check_owner(all, weight, action);
}

}  // namespace stoker
