// The implementation of Distiller: the student as a model whose loss also runs the teacher.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <stoker/distill.h>

#include "train/model/model_base.h"

namespace stoker::compress {

struct Feature {
  Layer student, teacher;
  Layer projection;  // empty: none is needed
  FeaturePair pair;
};

class DistillerBase : public ModelBase {
 public:
  // `student`: connected.
  DistillerBase(const Model& teacher, const ModelBase& student, const DistillOptions& options);
  DistillerBase(const Model& teacher, const Value& input, const std::vector<Layer>& layers,
                const std::string& name, const DistillOptions& options);

  Values call(const Values& inputs, CallContext& context) override;
  std::vector<Layer> children() const override;
  std::vector<Variable> weights() const override;
  std::vector<Variable> trainable_weights() const override;

  StepLoss step_loss(Graph& graph, const Value& of_targets, const StepValues& values) override;
  std::vector<std::string> losses_beside() const override;
  std::vector<Layer> training_layers() const override;
  std::vector<Variable> borrowed_weights() const override { return teacher_.weights(); }

  void set_features(std::vector<Feature> features) { features_ = std::move(features); }

 private:
  Values teach(Graph& graph, const Values& inputs);
  Value output_loss(size_t index, const Value& taught, const Value& student,
                    const Value& weights) const;
  Value feature_loss(Graph& graph, const Feature& feature, const Value& weights);

  Model teacher_;
  DistillOptions options_;
  std::vector<Feature> features_;
};

// What a student learns from for one output. `loss`: of compile(), for this output; `teacher_loss`:
// that of the teacher where it is compiled, else empty.
struct TaughtOutput {
  Value teacher, student;  // as the models give them, float32
  const Loss& loss;
  const Loss& teacher_loss;
  std::string name;
};
// One number: T² · KL, or the mean squared distance. `weights` may be undefined.
Value distillation_loss(const TaughtOutput& output, const DistillOptions& options,
                        const Value& weights);

}  // namespace stoker::compress
