#include "train/step/distribution.h"

#include <utility>

namespace stoker {

namespace {

constinit thread_local DistributionScope* innermost_scope = nullptr;

}  // namespace

std::shared_ptr<Distribution> make_distribution() {
  return innermost_scope != nullptr ? innermost_scope->make_() : nullptr;
}

std::shared_ptr<Distribution> distribution_of_functions() {
  if (innermost_scope == nullptr) return nullptr;
  std::shared_ptr<Distribution>& shared = innermost_scope->of_functions_;
  if (shared == nullptr) shared = innermost_scope->make_();
  return shared;
}

DistributionScope::DistributionScope(DistributionMaker make)
    : make_(std::move(make)), before_(std::exchange(innermost_scope, this)) {}

DistributionScope::~DistributionScope() { innermost_scope = before_; }

}  // namespace stoker
