#include "train/step/distribution.h"

#include <utility>

namespace stoker {

namespace {

constinit thread_local const DistributionMaker* innermost_maker = nullptr;

}  // namespace

std::shared_ptr<Distribution> make_distribution() {
  return innermost_maker != nullptr ? (*innermost_maker)() : nullptr;
}

DistributionScope::DistributionScope(DistributionMaker make)
    : make_(std::move(make)), before_(std::exchange(innermost_maker, &make_)) {}

DistributionScope::~DistributionScope() { innermost_maker = before_; }

}  // namespace stoker
