// What stands behind Input: a layer that passes its input on, and knows what it is.
#pragma once

#include <stoker/layers.h>

namespace stoker {

class InputLayer : public LayerBase {
 public:
  InputLayer(const Shape& shape, const InputOptions& options);

  std::string kind() const override { return "InputLayer"; }
  Values call(const Values& inputs, CallContext& context) override;
  Attrs config() const override;

  const TensorSpec& element() const { return element_; }  // without the batch
  const Value& value() const { return value_; }           // sketched, [None, …]

 private:
  TensorSpec element_;
  Value value_;
};

}  // namespace stoker
