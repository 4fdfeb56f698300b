// rejection_resample: leaves elements out so that classes have given shares. A class i with target
// t_i and share s_i is kept with probability (t_i / s_i) / max_j (t_j / s_j): the fewest rejections
// that one pass allows, and no element twice.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "data/ops/in_order.h"

namespace stoker::data {

namespace {

using Shares = std::vector<double>;

Shares normalised(Shares shares, const char* what) {
  bool fits = !shares.empty() && std::ranges::all_of(shares, [](double share) {
    return std::isfinite(share) && share >= 0;
  });
  double total = fits ? std::accumulate(shares.begin(), shares.end(), 0.0) : 0;
  if (!(total > 0))
    throw ValueError(fmt::format(
        "rejection_resample: {} is {{{}}}, expected shares of 0 or more that are not all 0", what,
        fmt::join(shares, ", ")));
  for (double& share : shares) share /= total;
  return shares;
}

class ResamplePass final : public Pass {
 public:
  ResamplePass(ElementKey class_func, Shares target, Shares initial, uint64_t key)
      : class_func_(std::move(class_func)),
        target_(std::move(target)),
        initial_(std::move(initial)),
        counts_(target_.size(), 0.0),
        key_(key) {}

  Verdict see(Ticket& ticket) override {
    const Batch& element = ticket.held->element;
    int64_t label = class_func_(element);
    if (label < 0 || label >= int64_t(target_.size()))
      throw ValueError(
          fmt::format("class_func gave {}, but target_dist has {} classes", label, target_.size()));
    counts_[size_t(label)] += 1;
    Rng rng(mixed(key_, uint64_t(ticket.epoch)), uint64_t(ticket.index));
    if (double(rng.uniform()) >= accepted(size_t(label))) return Verdict::drop;
    std::vector<Tensor> components{Tensor::full({}, double(label), DType::int64)};
    components.insert(components.end(), element.begin(), element.end());
    auto held = std::make_shared<Held>();
    held->element = Batch(std::move(components));
    ticket.held = std::move(held);
    return Verdict::keep;
  }

 private:
  double accepted(size_t label) const {
    const Shares& shares = initial_.empty() ? counts_ : initial_;
    double most = 0;
    for (size_t i = 0; i < shares.size(); ++i)
      if (shares[i] > 0) most = std::max(most, target_[i] / shares[i]);
    return most > 0 && shares[label] > 0 ? target_[label] / shares[label] / most : 0;
  }

  ElementKey class_func_;
  Shares target_, initial_, counts_;
  uint64_t key_;
};

class ResampleNode final : public Node {
 public:
  ResampleNode(const NodeRef& input, ElementKey class_func, Shares target, ResampleOptions options)
      : Node("rejection_resample", {input}, with_front({DType::int64, {}}, input->spec()),
             input->cardinality().infinite() ? input->cardinality() : Cardinality{}, false),
        class_func_(std::move(class_func)),
        target_(std::move(target)),
        options_(std::move(options)) {}
  std::string details() const override {
    std::string text = fmt::format("{{{}}}", fmt::join(target_, ", "));
    if (!options_.initial_dist.empty())
      text += fmt::format(", initial_dist = {{{}}}", fmt::join(options_.initial_dist, ", "));
    return options_.seed ? text + fmt::format(", seed = {}", *options_.seed) : text;
  }
  bool draws_at_random() const override { return !options_.seed; }
  const std::type_info* unknown_code() const override { return &class_func_.target_type(); }
  Planned plan(PlanContext& context) const override {
    uint64_t key = options_.seed ? mixed(*options_.seed, 0x7E) : context.key(*this);
    return in_order(*this, context, [this, key](int64_t) {
      return std::make_unique<ResamplePass>(class_func_, target_, options_.initial_dist, key);
    });
  }

 private:
  ElementKey class_func_;
  Shares target_;
  ResampleOptions options_;
};

}  // namespace

Dataset Dataset::rejection_resample(ElementKey class_func, std::vector<double> target_dist,
                                    const ResampleOptions& options) const {
  if (!class_func) throw ValueError("rejection_resample: no class_func was given");
  ResampleOptions shares = options;
  target_dist = normalised(std::move(target_dist), "target_dist");
  if (!shares.initial_dist.empty()) {
    shares.initial_dist = normalised(std::move(shares.initial_dist), "initial_dist");
    if (shares.initial_dist.size() != target_dist.size())
      throw ValueError(
          fmt::format("rejection_resample: initial_dist has {} classes, target_dist {}",
                      shares.initial_dist.size(), target_dist.size()));
  }
  return Dataset(std::make_shared<ResampleNode>(node_, std::move(class_func),
                                                std::move(target_dist), std::move(shares)));
}

}  // namespace stoker::data
