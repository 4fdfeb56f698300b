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
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/initializers.h>
#include <stoker/ops.h>
#include <stoker/regularizers.h>
#include <stoker/value.h>

namespace stoker {

// What call() may ask of the graph that is being traced.
class CallContext {
 public:
  explicit CallContext(Graph& graph) : graph_(graph) {}
  bool training() const;
  // For ops::dropout; Error in a graph without a random state.
  Value random_state() const;
  int64_t next_stream();
  // After every step `variable` holds `value` (moving averages and the like).
  void update(const Variable& variable, const Value& value);
  // The variable's value as of here: what an earlier update() gave it, else its contents.
  Value current(const Variable& variable) const;
  // Adds a scalar to the loss.
  void add_loss(const Value& scalar);
  Graph& graph() { return graph_; }

 private:
  Graph& graph_;
};

struct WeightOptions {
  Initializer initializer = "glorot_uniform";
  Regularizer regularizer = {};
  bool trainable = true;
  DType dtype = DType::float32;
};

class LayerBase {
 public:
  virtual ~LayerBase() = default;

  virtual std::string kind() const = 0;  // Keras's class name: "Conv2D"
  // Makes the weights for inputs of these shapes (batch included, its extent meaningless).
  virtual void build(const std::vector<Shape>& inputs) { (void)inputs; }
  virtual Values call(const Values& inputs, CallContext& context) = 0;
  // What it was constructed with, by Keras's names: enough to make the layer again.
  virtual Attrs config() const { return {}; }

  const std::string& name() const { return name_; }  // "" until it gets one
  std::string label() const;  // name(), or the kind in snake case ("conv2d") while it has none
  virtual void set_name(std::string name);  // renames the weights "name/kernel", … too
  bool built() const { return built_; }
  bool trainable() const { return trainable_; }
  // false: weights are constants for the optimiser; BatchNormalization uses its moving statistics.
  virtual void set_trainable(bool trainable);
  // As Keras's dtype: "" for the model's policy (context.h), else one of its own. A layer that
  // computes in float32 takes sixteen-bit inputs as float32. ValueError lists the names.
  const std::string& dtype_policy() const { return dtype_policy_; }
  void set_dtype_policy(const std::string& policy);
  virtual std::vector<Variable> weights() const;  // all, trainable first, in creation order
  virtual std::vector<Variable> trainable_weights() const;  // empty while the layer is frozen
  int64_t parameters() const;                               // elements of weights()

  // Builds if need be, then calls, inside the layer's scope; adds the regularisers of its weights.
  Values run(Graph& graph, const Values& inputs);
  void ensure_built(const std::vector<Shape>& inputs);
  // Adds the regularisers of the trainable weights to the loss, once per graph.
  virtual void add_penalties(Graph& graph) const;

 protected:
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
  struct Weight {
    Variable variable;
    std::string local_name;
    Regularizer regularizer;
    bool trainable;
  };
  std::string name_;
  bool built_ = false;
  bool trainable_ = true;
  std::string dtype_policy_;
  std::vector<Weight> weights_;
};

// A value handle on a layer: copies share the layer and its weights.
class Layer {
 public:
  Layer() = default;
  explicit Layer(std::shared_ptr<LayerBase> base) : base_(std::move(base)) {}
  Layer(std::shared_ptr<LayerBase> base, const std::string& dtype_policy) : Layer(std::move(base)) {
    base_->set_dtype_policy(dtype_policy);
  }

  Value operator()(const Value& input) const;
  Value operator()(const Values& inputs) const;  // layers of several inputs: Add()({a, b})
  Values call_all(const Values& inputs) const;   // layers of several outputs

  LayerBase& base() const { return *base_; }
  const std::shared_ptr<LayerBase>& shared() const { return base_; }
  const std::string& name() const { return base_->name(); }
  bool trainable() const { return base_->trainable(); }
  void set_trainable(bool trainable) const { base_->set_trainable(trainable); }
  const std::string& dtype_policy() const { return base_->dtype_policy(); }
  void set_dtype_policy(const std::string& policy) const { base_->set_dtype_policy(policy); }
  std::vector<Variable> weights() const { return base_->weights(); }
  std::vector<Tensor> get_weights() const;
  void set_weights(const std::vector<Tensor>& values) const;
  friend bool operator==(const Layer& a, const Layer& b) { return a.base_ == b.base_; }

 protected:
  std::shared_ptr<LayerBase> base_;
};

template <class L, class... Args>
Layer make_layer(Args&&... args) {
  return Layer(std::make_shared<L>(std::forward<Args>(args)...));
}

}  // namespace stoker
