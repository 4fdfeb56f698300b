// What a layer is, and how to write one.
//
//   class Scale : public LayerBase {
//    public:
//     std::string kind() const override { return "Scale"; }
//     void build(const std::vector<Shape>& inputs) override {
//       scale_ = add_weight("scale", {inputs[0][-1]}, {.initializer = "ones"});
//     }
//     Values call(const Values& inputs, CallContext&) override { return {inputs[0] * scale_}; }
//
//    private:
//     Variable scale_;
//   };
//   Layer scale = make_layer<Scale>();
//
// The gradient follows from the ops that call() uses. A layer is built once, when it first meets an
// input; call() runs once per graph, never per step.
//
// Layers and models that call() calls are the layer's children: their weights are its weights too.
// They are members, or made in the constructor or in build(). Weights are made in the constructor
// or in build().
//
// A mask is a bool Value whose shape is the beginning of the shape that it masks, mostly [B, T]:
// false marks steps that do not count. It travels with a Value from layer to layer, as in Keras:
// Embedding and Masking make one, a layer reads it with CallContext::mask(), compute_mask() says
// what its outputs carry, and losses and metrics skip what is masked. What ops return has none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/constraints.h>
#include <stoker/initializers.h>
#include <stoker/ops.h>
#include <stoker/regularizers.h>
#include <stoker/value.h>

namespace stoker {

class Layer;
struct RematScopeOptions;

// How a layer or a model is called:
//   Value features = teacher(x, {.training = false});
struct CallOptions {
  // Whether it runs as in training (dropout drops, batch normalisation uses its batch), with all
  // that it calls, unless one of those calls says otherwise. Empty: as the caller runs.
  std::optional<bool> training = {};
  // Masks for this call, one per input, in place of those that the inputs carry; empty or
  // undefined: the input's own.
  Values mask = {};
  // The layer's own arguments of a call, by name (LayerBase::call_arguments): {{"reverse", true}}.
  // Layers that have some usually take them by an operator() of their own.
  Attrs arguments = {};
};

// What call() may ask of the graph that is being traced.
class CallContext {
 public:
  explicit CallContext(Graph& graph, Values masks = {}, Attrs arguments = {})
      : graph_(graph), masks_(std::move(masks)), arguments_(std::move(arguments)) {}
  bool training() const;  // of this call, see CallOptions
  // For ops::dropout; Error in a graph without a random state.
  Value random_state() const;
  int64_t next_stream();
  // After every step `variable` holds `value` (moving averages and the like).
  void update(const Variable& variable, const Value& value);
  // The variable's value as of here: what an earlier update() gave it, else its contents.
  Value current(const Variable& variable) const;
  // Adds a scalar to the loss.
  void add_loss(const Value& scalar);
  // The mask of the call's input `index`; undefined: none, every step counts.
  Value mask(size_t index = 0) const { return index < masks_.size() ? masks_[index] : Value(); }
  // Of this call, see CallOptions: context.arguments().get_or("reverse", false).
  const Attrs& arguments() const { return arguments_; }
  // The mask that a value of this graph carries; undefined: none.
  Value mask_of(const Value& value) const;
  // From here on layers that take `value` get this mask. compute_mask() leaves it as it is.
  // ShapeError unless the mask's shape is the beginning of the value's (extents of 1 also fit).
  void set_mask(const Value& value, const Value& mask);
  Graph& graph() { return graph_; }

 private:
  Graph& graph_;
  Values masks_;
  Attrs arguments_;
};

struct WeightOptions {
  Initializer initializer = "glorot_uniform";
  Regularizer regularizer = {};
  Constraint constraint = {};  // applied after every update
  bool trainable = true;
  DType dtype = DType::float32;
  // Drawn in this shape and reshaped: [inputs, outputs] of a kernel with more dimensions, whose fans
  // the initialiser then sees. Empty: its own shape.
  Shape drawn_as = {};
};

class LayerBase {
 public:
  LayerBase();
  virtual ~LayerBase() = default;

  virtual std::string kind() const = 0;  // Keras's class name: "Conv2D"
  // Makes the weights for inputs of these shapes (batch included, meaningless; -1: unknown).
  virtual void build(const std::vector<Shape>& inputs) { (void)inputs; }
  virtual Values call(const Values& inputs, CallContext& context) = 0;
  // The names that CallOptions::arguments may have. Others are a ValueError.
  virtual std::vector<std::string> call_arguments() const { return {}; }
  // Whether the layer knows what to do with a mask. One that does not drops it; fit says so once.
  virtual bool supports_masking() const { return false; }
  // The masks of the outputs, given those of the inputs (undefined: none). Fewer than outputs, or
  // undefined: none. Default: the inputs' own where supports_masking(), else none. Runs after
  // call(); outputs that already carry a mask keep it.
  virtual Values compute_mask(const Values& inputs, const Values& masks) const;
  // What it was constructed with, by Keras's names: enough to make the layer again.
  virtual Attrs config() const { return {}; }

  const std::string& name() const { return name_; }  // "" until it gets one
  std::string label() const;  // name(), or the kind in snake case ("conv2d") while it has none
  // label() behind the path of the layer that it is a child of ("block/dense"), if it is one. A
  // child of several belongs to the one that called it first.
  std::string path() const;
  std::string title() const;                // for errors: Conv2D "stem"
  virtual void set_name(std::string name);  // renames the weights "path/kernel", … too
  bool built() const { return built_; }
  bool trainable() const { return trainable_; }
  // false: weights are constants for the optimiser; BatchNormalization uses its moving statistics.
  // Sets the children too; a child can be set again by itself.
  virtual void set_trainable(bool trainable);
  // As Keras's dtype: "" for the model's policy (context.h), else one of its own. A layer that
  // computes in float32 converts 16-bit inputs to float32. ValueError lists the names.
  const std::string& dtype_policy() const { return dtype_policy_; }
  void set_dtype_policy(const std::string& policy);
  // What the backward pass computes again of its calls (remat.h): as the RematScope says in which it
  // was constructed. Null: nothing.
  const std::shared_ptr<const RematScopeOptions>& remat() const { return remat_; }
  void set_remat(const RematScopeOptions& options);  // ValueError for an unknown mode
  // The layers that its calls called, each once, in the order of their first calls; a model's
  // layers. A child without a name gets one that its siblings do not have: "dense", "dense_1".
  virtual std::vector<Layer> children() const;
  // Its own, trainable first, in creation order; then its children's. Each once.
  virtual std::vector<Variable> weights() const;
  virtual std::vector<Variable> trainable_weights() const;  // without those of frozen layers
  int64_t parameters() const;                               // elements of weights()

  // Builds if need be, then calls, inside the layer's scope; adds the regularisers of its weights
  // and the masks of its outputs. A layer that fails at its first input is as it was before.
  // masks: one per input, each may be undefined.
  Values run(Graph& graph, const Values& inputs, const Values& masks = {},
             const Attrs& arguments = {});
  void ensure_built(const std::vector<Shape>& inputs);
  // Adds the regularisers of the trainable weights to the loss and notes their constraints for the
  // optimiser, once per graph.
  virtual void add_penalties(Graph& graph) const;

  // For what the layer becomes part of: a model ("") or another layer (its path). The first one
  // keeps it; returns whether this is the first.
  bool take_place(const std::string& owner);
  // The owner's path has changed.
  virtual void set_owner(std::string owner);
  // Its parent named it, not the program.
  bool has_borrowed_name() const { return borrowed_name_; }

 protected:
  // Makes `child` a child; nothing when it is one already.
  virtual void adopt(const std::shared_ptr<LayerBase>& child);
  Variable add_weight(const std::string& name, const Shape& shape,
                      const WeightOptions& options = {});
  // ShapeError in the house's form:
  //   Conv2D "stem": expected 4-D input [B, H, W, C], got [32, 784]; `advice`.
  [[noreturn]] void fail_input(const std::string& expected, const Shape& got,
                               const std::string& advice = "") const;
  // The same with free text: ShapeError for what it meets, ValueError for what it was made with.
  [[noreturn]] void fail_input(const std::string& what) const;
  [[noreturn]] void fail_option(const std::string& what) const;

 private:
  friend class Layer;
  friend class LayerCall;
  struct Weight {
    Variable variable;
    std::string local_name;
    Regularizer regularizer;
    Constraint constraint;
    bool trainable;
  };
  struct Child {
    std::shared_ptr<LayerBase> layer;
    bool placed_here;  // this layer is its owner
    bool built_here;   // it was first called here
  };
  void rename_weights();
  void name_child(LayerBase& child);
  void disown_from(size_t first);  // the children from there on, of a call that failed
  void unbuild();

  std::string name_, owner_;
  bool placed_ = false;
  bool borrowed_name_ = false;
  bool built_ = false;
  bool trainable_ = true;
  std::string dtype_policy_;
  std::shared_ptr<const RematScopeOptions> remat_;
  std::string born_in_;  // the scope that was traced when it was constructed; empty: none
  std::vector<Weight> weights_;
  size_t weights_before_build_ = 0;
  std::vector<Child> children_;
};

// A value handle on a layer: copies share the layer and its weights.
class Layer {
 public:
  Layer() = default;
  explicit Layer(std::shared_ptr<LayerBase> base) : base_(std::move(base)) {}
  Layer(std::shared_ptr<LayerBase> base, const std::string& dtype_policy) : Layer(std::move(base)) {
    base_->set_dtype_policy(dtype_policy);
  }

  Value operator()(const Value& input, const CallOptions& options = {}) const;
  // Layers of several inputs: Add()({a, b}).
  Value operator()(const Values& inputs, const CallOptions& options = {}) const;
  // Layers of several outputs.
  Values call_all(const Values& inputs, const CallOptions& options = {}) const;

  LayerBase& base() const { return *base_; }
  const std::shared_ptr<LayerBase>& shared() const { return base_; }
  const std::string& name() const { return base_->name(); }
  bool trainable() const { return base_->trainable(); }
  void set_trainable(bool trainable) const { base_->set_trainable(trainable); }
  const std::string& dtype_policy() const { return base_->dtype_policy(); }
  void set_dtype_policy(const std::string& policy) const { base_->set_dtype_policy(policy); }
  std::vector<Layer> children() const { return base_->children(); }
  std::vector<Variable> weights() const;  // each once
  std::vector<Variable> trainable_weights() const;
  int64_t parameters() const { return base_->parameters(); }
  std::vector<Tensor> get_weights() const;
  void set_weights(const std::vector<Tensor>& values) const;
  friend bool operator==(const Layer& a, const Layer& b) { return a.base_ == b.base_; }

 protected:
  std::shared_ptr<LayerBase> base_;
};

// Makes a layer from what its config() gave; "name" is among the attributes.
using LayerFactory = std::function<Layer(const Attrs& config)>;

template <class L, class... Args>
Layer make_layer(Args&&... args) {
  return Layer(std::make_shared<L>(std::forward<Args>(args)...));
}

}  // namespace stoker
