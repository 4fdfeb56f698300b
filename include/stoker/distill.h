// Distillation: a small student learns from a larger teacher's outputs besides the targets.
//
//   Distiller distiller(teacher, student, {.alpha = 0.1, .temperature = 5});
//   distiller.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy",
//                      .metrics = {"accuracy"}});
//   distiller.fit(x, y, {.epochs = 10});
//   student.save("student.stoker");
//
// A Distiller is a model: its layers and weights are the student's, and fit, evaluate, predict,
// callbacks, checkpoints and files work as for any other. The loss of a step is
//
//   alpha · student_loss + (1 − alpha) · distillation_loss + Σ weight · feature_loss
//
// with the loss of compile(), Hinton's T² · KL(softmax(teacher / T) ‖ softmax(student / T)), and the
// mean squared distance of features. Logs hold each of the three. Sample weights and masks weigh all
// of them; the penalties of the student's layers are added in full.
//
// The teacher runs in the same program, in inference mode. It gets no gradients, and none of its
// weights or statistics changes. predict() does not run it; save() and checkpoints do not hold it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <stoker/model.h>

namespace stoker {

// Two layers whose outputs are to become alike, by name; "encoder/dense" inside of models and
// layers. Where only the last extents differ, the student's output goes through a projection (Dense
// without bias) that is trained with the student but is not part of it.
struct FeaturePair {
  std::string student;
  std::string teacher;
  double weight = 1.0;  // of its loss
};

// What the outputs are; decides how the student is compared with the teacher.
enum class DistillKind : uint8_t {
  automatic,  // by the loss of compile() and the last op of the model
  classes,    // exactly one holds: softmax over the last axis
  labels,     // each holds or not: sigmoid
  values,     // numbers: mean squared distance, without temperature
};

// The form of outputs that are classes or labels. The logits before a final softmax or sigmoid are
// found. For outputs without one, `automatic` follows the model's own loss (from_logits) and assumes
// logits if there is none.
enum class DistillOutputs : uint8_t { automatic, logits, probabilities };

struct DistillOptions {
  double alpha = 0.1;        // the share of the targets' loss, in [0, 1]
  double temperature = 3.0;  // above 0: softens both, so that unlikely classes count
  std::vector<FeaturePair> features = {};
  DistillKind kind = DistillKind::automatic;
  DistillOutputs teacher_outputs = DistillOutputs::automatic;
  DistillOutputs student_outputs = DistillOutputs::automatic;
};

class Distiller : public Model {
 public:
  // Both models have inputs and outputs of the same shapes, in the same order. ValueError for
  // options out of range, models that share weights, a layer that does not exist; ShapeError for
  // inputs, outputs or features that do not fit.
  Distiller(const Model& teacher, const Model& student, const DistillOptions& options = {});

  const Model& teacher() const { return teacher_; }
  const Model& student() const { return student_; }

 private:
  Model teacher_, student_;
};

}  // namespace stoker
