// What the layers share that look rows up by number.
#pragma once

#include <stoker/ops.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

// x as integers for ops::gather. The engine refuses a batch with a number that is not below `rows`.
Value row_ids(const Value& x, int64_t rows, CallContext& context);

// A layer of rows that are looked up by number; with the option mask_zero, row 0 is padding.
template <class Config>
class LookupLayer : public Configured<SingleInputLayer, Config> {
 public:
  using Configured<SingleInputLayer, Config>::Configured;
  bool supports_masking() const override { return this->options().mask_zero; }
  Values compute_mask(const Values& inputs, const Values&) const override {
    return this->options().mask_zero ? Values{ops::not_equal(inputs[0], 0)} : Values();
  }
};

}  // namespace stoker
