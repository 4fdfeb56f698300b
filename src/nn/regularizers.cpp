#include <stoker/regularizers.h>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

namespace stoker {

Regularizer::Regularizer(const std::string& name) {
  constexpr double kDefault = 0.01;
  bool both = name == "l1_l2" || name == "L1L2";
  if (both || name == "l1" || name == "L1") l1_ = kDefault;
  if (both || name == "l2" || name == "L2") l2_ = kDefault;
  if (l1_ == 0 && l2_ == 0)
    throw ValueError(fmt::format("unknown regularizer \"{}\"; there are l1, l2, l1_l2", name));
}

Value Regularizer::operator()(const Value& weight) const {
  Value absolute = l1_ == 0 ? Value() : ops::sum(ops::abs(weight)) * l1_;
  Value squared = l2_ == 0 ? Value() : ops::sum(ops::square(weight)) * l2_;
  if (absolute.defined() && squared.defined()) return absolute + squared;
  if (absolute.defined()) return absolute;
  return squared.defined() ? squared : Value(0.0);
}

}  // namespace stoker
