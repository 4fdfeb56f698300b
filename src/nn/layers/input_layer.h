// What stands behind Input: a layer that passes its input on, and knows what it is.
#pragma once

#include "nn/layers/configured_layer.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

struct InputConfig : InputOptions {
  Shape shape = {};
  static constexpr const char* kKind = "InputLayer";
  static Fields<InputConfig> fields();
};

class InputLayer : public Configured<SingleInputLayer, InputConfig> {
 public:
  explicit InputLayer(InputConfig config);

  const TensorSpec& element() const { return element_; }  // without the batch
  const Value& value() const { return value_; }           // sketched, [None, …]

 protected:
  Value forward(const Value& x, CallContext& context) override;

 private:
  TensorSpec element_;
  Value value_;
};

}  // namespace stoker
