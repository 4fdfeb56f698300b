// The inside of Model: the layer that replays a topology, and what compile() and training added to
// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/model.h>

#include "train/model/topology.h"

namespace stoker {

struct Trainer;

// What the loss of a step is computed from, traced: one target, weight and prediction per output.
// Weights may be undefined.
struct StepValues {
  Values inputs, targets, weights, predictions;
};
struct StepLoss {
  Value total;
  Values beside;  // one scalar for each of losses_beside()
};

class ModelBase : public LayerBase {
 public:
  // A functional model.
  ModelBase(const Values& inputs, const Values& outputs, std::string name);
  // A list of layers, which may still lack its input.
  ModelBase(const std::vector<Layer>& layers, std::string name);
  // The same with its input.
  ModelBase(const Value& input, const std::vector<Layer>& layers, std::string name);
  ~ModelBase() override;

  // --- as a layer ---
  std::string kind() const override { return sequential_ ? "Sequential" : "Functional"; }
  void build(const std::vector<Shape>& inputs) override;
  Values call(const Values& inputs, CallContext& context) override;
  bool supports_masking() const override { return true; }  // its layers say what becomes of masks
  Values compute_mask(const Values&, const Values&) const override { return {}; }
  void set_trainable(bool trainable) override;
  Attrs config() const override;  // for a layer around it (train/files/model_config.h)
  std::vector<Layer> children() const override { return layers(); }
  // Part of a layer, it names its layers by their paths, unless it was trained, run or frozen by
  // itself before.
  void set_owner(std::string owner) override;
  void set_name(std::string name) override;
  std::vector<Variable> weights() const override;
  std::vector<Variable> trainable_weights() const override;

  // --- as a model ---
  void add(const Layer& layer);
  Layer pop();
  bool sequential() const { return sequential_; }
  bool connected() const { return !topology_.outputs.empty(); }
  // Error, naming `action`, for a Sequential that has not met an input yet.
  const Topology& topology(const char* action) const;
  const std::vector<Layer>& layers() const { return sequential_ ? list_ : topology_.layers; }
  // Every layer that is not a model, those inside of models and layers included, each once and
  // after all layers that call it.
  std::vector<std::shared_ptr<LayerBase>> leaves() const;
  std::string title() const;  // Sequential "digits"

  // --- for a model that learns from more than its targets (compress/distiller.h) ---
  // The loss of a step, given that of its targets; the penalties of the model's layers come to it
  // afterwards, those of what is called here do not.
  virtual StepLoss step_loss(Graph& graph, const Value& of_targets, const StepValues& values) {
    (void)graph, (void)values;
    return {of_targets, {}};
  }
  virtual std::vector<std::string> losses_beside() const { return {}; }  // names in logs
  // Layers that only training needs, among children(). Checkpoints hold their weights, files of
  // the model do not.
  virtual std::vector<Layer> training_layers() const { return {}; }
  // Weights that a step reads and nothing trains, none of the model's own.
  virtual std::vector<Variable> borrowed_weights() const { return {}; }

  const std::unique_ptr<Trainer> trainer;

 protected:
  void adopt(const std::shared_ptr<LayerBase>&) override {}  // its calls are its topology's

 private:
  void connect(const Value& input);
  void own_layers(const std::string& path);
  void forget_programs();  // of an architecture that was another

  bool sequential_;
  bool names_layers_ = false;
  std::vector<Layer> list_;  // of a Sequential, without its Input
  Topology topology_;
};

// For the free functions of this room.
class ModelAccess {
 public:
  static Model wrap(std::shared_ptr<ModelBase> base) { return Model(std::move(base)); }
  static ModelBase& base(const Model& model) { return model.impl(); }
  // Null when the layer is not a model.
  static ModelBase* base(const Layer& layer) { return dynamic_cast<ModelBase*>(&layer.base()); }
};

// A value or tensor that stands for a model's input: cast to its dtype and given the last dimension
// of 1 that Keras forgives. ShapeError with the input's name when it cannot be one. `row`: what the
// input declares.
Value adapt_input(const Value& given, const TensorSpec& row, const std::string& who,
                  const std::string& name);
void check_input(const TensorSpec& given, const TensorSpec& row, const std::string& who,
                 const std::string& name);

}  // namespace stoker
