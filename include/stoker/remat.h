// Rematerialisation (gradient checkpointing): activations are computed again in the backward pass in
// place of being kept in memory until then. Costs at most one more forward pass; losses, gradients and
// weights keep their bits. Model::memory_plan() shows the gain.
//
//   RematScope scope;                     // every layer that is constructed while it lives
//   Value y = TransformerBlock(…)(x);
//
//   auto block = remat([&](const Value& x) { return project(ops::gelu(expand(x))); });
//   Value y = block(x);
//
// Kept are the inputs of a layer or function and what others read of it; so the gain is that of layers
// with much inside: blocks, expansions, activations that need their input. It is a setting of the
// program, not of the model: files do not hold it, and load_model() inside a RematScope applies it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stoker/layer.h>

namespace stoker {

struct RematScopeOptions {
  // full: the whole call of every layer; activations: the activation functions of layers, {.activation
  // = "gelu"}; larger_than: layers whose outputs have more elements than the threshold, without the
  // batch; list_of_layers: the layers of these names; "": none.
  std::string mode = "full";
  int64_t output_size_threshold = 1024;
  std::vector<std::string> layer_names = {};
};
// Applies to layers that this thread constructs while it lives; the innermost one counts. Not to
// models, whose whole call would be one region without a gain, but to their layers.
class RematScope {
 public:
  explicit RematScope(const RematScopeOptions& options = {});  // ValueError for an unknown mode
  ~RematScope();
  RematScope(const RematScope&) = delete;
  RematScope& operator=(const RematScope&) = delete;

 private:
  std::shared_ptr<const RematScopeOptions> outer_;
};

// The same function of ops, whose inside the backward pass computes again. It may use layers. In a
// functional model it becomes a Lambda layer.
std::function<Value(const Value&)> remat(std::function<Value(const Value&)> function);
// Likewise for all calls of this layer, which is returned.
Layer remat(const Layer& layer);

}  // namespace stoker
