// Functions of elements for chains: pure, on plain values, and the same one as a dataset takes it.
#pragma once

#include <functional>

#include "support/chain.h"

namespace stoker::test {

struct PlainFunction {
  std::string name;
  bool random = false;
  std::function<Element(Element, Rng&)> apply;
  std::function<data::ElementSpec(data::ElementSpec)> spec;  // none: stays
};

struct PlainPredicate {
  std::string name;
  std::function<bool(const Element&, Rng&)> test;
};

data::FunctionRef as_function(const PlainFunction& function);
data::PredicateRef as_predicate(const PlainPredicate& predicate);

PlainFunction affine();
PlainFunction noisy();           // random
PlainFunction grow();            // one more component, of 0 … 3 numbers
PlainFunction summary();         // of the whole element, as one number
PlainFunction picky(int64_t m);  // throws for one element in m, about
PlainPredicate most();           // of the elements
PlainPredicate lucky();          // random

uint64_t hash_of(const Element& element);

}  // namespace stoker::test
