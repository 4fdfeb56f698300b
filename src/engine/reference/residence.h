// A variable's contents while a program of a reference backend uses it.
#pragma once

#include "engine/reference/array.h"
#include "engine/variable_homes.h"

namespace stoker::reference {

class ArrayResidence final : public CountedResidence {
 public:
  // Two backends that round differently do not share contents: `rounding` distinguishes them.
  ArrayResidence(const Tensor& contents, Rounding rounding)
      : array_(to_array(contents)), rounding_(rounding) {}

  Tensor read() const override { return to_tensor(array_); }
  void write(const Tensor& value) override {
    changed();
    load(value, array_);
  }

  Array& array() { return array_; }
  Rounding rounding() const { return rounding_; }

 private:
  Array array_;
  Rounding rounding_;
};

// The variable's contents where the reference backend can reach them, moving them here if they are
// elsewhere.
std::shared_ptr<ArrayResidence> take(Variable variable, Rounding rounding);

}  // namespace stoker::reference
