// A node that asks a predicate about each element: what filter and take_while share.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include "data/node.h"

namespace stoker::data {

class PredicateNode : public Node {
 public:
  std::string details() const override {
    return options_.name.empty() ? "" : fmt::format("\"{}\"", options_.name);
  }
  bool draws_at_random() const override { return predicate_->is_random(); }
  std::string recipe() const override {
    std::string known = predicate_->identity();
    return known.empty() ? details() : known;
  }
  const std::type_info* unknown_code() const override {
    const ElementPredicate& asked = *predicate_;
    return asked.identity().empty() ? &typeid(asked) : nullptr;
  }

 protected:
  PredicateNode(std::string kind, const NodeRef& input, Cardinality cardinality,
                PredicateRef predicate, FilterOptions options)
      : Node(std::move(kind), {input}, input->spec(), cardinality, false),
        predicate_(std::move(predicate)),
        options_(std::move(options)) {
    predicate_->check(spec());
  }

  const PredicateRef& predicate() const { return predicate_; }

 private:
  PredicateRef predicate_;
  FilterOptions options_;
};

}  // namespace stoker::data
