// Graph: what makes one the body of a loop.
#include <stoker/error.h>

#include "graph/graph.h"
#include "graph/placement.h"

namespace stoker {

void Graph::begin_body(Graph& outer) {
  outer_ = &outer;
  scope_ = outer.scope_;
  phase_ = outer.phase_;
  training_ = outer.training_;
  compute_dtype_ = outer.compute_dtype_;
  policy_dtypes_ = outer.policy_dtypes_;
  call_ = outer.call_;
}

void Graph::end_body() {
  outer_ = nullptr;
  call_ = nullptr;
  captured_.clear();
  inner_.clear();
}

Value Graph::capture(const Value& value) {
  if (outer_ == nullptr) throw Error("only the body of a loop takes values of another graph");
  Value there = place(*outer_, value);
  auto [known, is_new] = inner_.try_emplace(there.traced()->id, -1);
  if (is_new) {
    known->second = input("captured", there.spec()).traced()->id;
    captured_.resize(inputs_.size());
    captured_.back() = there;
  }
  return this->value(known->second);
}

Value Graph::captured_from(int value) const {
  const ValueInfo& info = values_[size_t(value)];
  bool known = info.kind == ValueKind::input && size_t(info.source) < captured_.size();
  return known ? captured_[size_t(info.source)] : Value();
}

void Graph::add_penalty(const Value& scalar) {
  if (outer_ != nullptr)
    throw Error(
        "a penalty cannot be added to the loss inside a loop (ops::scan); give the loop's result "
        "what it is computed from, and add it behind the loop");
  penalties_.push_back(scalar);
}

}  // namespace stoker
