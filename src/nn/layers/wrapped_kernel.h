// The base of layers around one with a kernel, which they replace in its calls. They have its name,
// and its weights before their own.
#pragma once

#include "nn/layers/affine_layer.h"
#include "nn/layers/families.h"

namespace stoker {

class KernelWrapper : public LayerBase {
 public:
  bool supports_masking() const override { return inner_->supports_masking(); }
  Attrs config() const override;  // "layer", and its options behind it
  void build(const std::vector<Shape>& inputs) override;
  Values call(const Values& inputs, CallContext& context) override;
  void set_name(std::string name) override;
  void set_owner(std::string owner) override;
  void set_trainable(bool trainable) override;
  std::vector<Variable> weights() const override;
  std::vector<Variable> trainable_weights() const override;
  void add_penalties(Graph& graph) const override { inner_->add_penalties(graph); }

 protected:
  // ValueError unless `layer` is of a kind that `wraps` lists.
  KernelWrapper(const Layer& layer, const std::string& name, const std::string& own_kind,
                const std::vector<std::string>& wraps);
  // Makes the weights beside the layer's, which is built.
  virtual void build_own() = 0;
  // What the layer is called with.
  virtual Value kernel_for(CallContext& context) = 0;
  const Variable& kernel() const { return inner_->kernel(); }
  AffineLayer& inner() { return *inner_; }

 private:
  std::shared_ptr<AffineLayer> inner_;
};

// The wrapped layer that such a config holds.
Layer wrapped_layer(const Attrs& attrs, const LayerFactories& custom);

}  // namespace stoker
