// How far a student's output is from the teacher's.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "compress/distiller.h"
#include "nn/logits.h"
#include "nn/masks.h"
#include "nn/targets.h"

namespace stoker::compress {

namespace {

constexpr double kLeastProbability = 1e-7;

bool is_one_of(const std::string& kind, std::initializer_list<std::string_view> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

bool expects_classes(const Loss& loss) {
  return is_one_of(
      loss.kind(),
      {"SparseCategoricalCrossentropy", "CategoricalCrossentropy", "CategoricalFocalCrossentropy",
       "CategoricalGeneralizedCrossEntropy", "KLDivergence", "CategoricalHinge"});
}

bool expects_labels(const Loss& loss) {
  return is_one_of(loss.kind(), {"BinaryCrossentropy", "BinaryFocalCrossentropy"});
}

// Own losses and those between numbers leave the last op to tell.
DistillKind kind_of(const TaughtOutput& output, const DistillOptions& options) {
  if (options.kind != DistillKind::automatic) return options.kind;
  if (expects_classes(output.loss)) return DistillKind::classes;
  if (expects_labels(output.loss)) return DistillKind::labels;
  if (logits_behind_softmax(output.student).defined()) return DistillKind::classes;
  if (logits_behind_sigmoid(output.student).defined()) return DistillKind::labels;
  bool classes = output.loss.custom() && output.student.shape()[-1] > 1;
  return classes ? DistillKind::classes : DistillKind::values;
}

// Whether the outputs that a loss is given are probabilities, as far as it says.
bool takes_probabilities(const Loss& loss) {
  if (!loss.defined() || loss.custom() || loss.kind() == "CategoricalHinge") return false;
  if (is_one_of(loss.kind(), {"KLDivergence", "CategoricalGeneralizedCrossEntropy"})) return true;
  return (expects_classes(loss) || expects_labels(loss)) &&
         !loss.config().get_or("from_logits", false);
}

Value logits_of(const Value& output, bool classes, DistillOutputs given, const Loss& loss) {
  if (given == DistillOutputs::logits) return output;
  Value behind = classes ? logits_behind_softmax(output) : logits_behind_sigmoid(output);
  if (behind.defined()) return behind;
  if (given == DistillOutputs::automatic && !takes_probabilities(loss)) return output;
  Value p = ops::clip(output, kLeastProbability, 1 - kLeastProbability);
  return classes ? ops::log(p) : ops::log(p) - ops::log(1.0 - p);
}

// Per element of [.., C]: [..]. Logits are softened already.
Value class_divergence(const Value& teacher, const Value& student) {
  Value shares = ops::softmax(teacher);
  Value entropy = ops::sum(shares * ops::log_softmax(teacher), {.axes = {-1}});
  return ops::softmax_cross_entropy(student, shares) + entropy;
}

Value label_divergence(const Value& teacher, const Value& student) {
  Value share = ops::sigmoid(teacher);
  Value entropy = share * ops::softplus(-teacher) + (1.0 - share) * ops::softplus(teacher);
  Value each = ops::sigmoid_cross_entropy(student, share) - entropy;
  return each.shape().rank() > 1 ? ops::mean(each, {.axes = {-1}}) : each;
}

Value squared_distance(const Value& teacher, const Value& student) {
  Value each = ops::square(student - teacher);
  return each.shape().rank() > 1 ? ops::mean(each, {.axes = {-1}}) : each;
}

void check_axis(const TaughtOutput& output) {
  auto axis = output.loss.config().get_or<int64_t>("axis", -1);
  if (axis != -1 && axis != output.student.shape().rank() - 1)
    throw ValueError(fmt::format(
        "Distiller: the loss of output \"{}\" has its classes along axis {}; the teacher's are "
        "compared along the last one: put a Permute at the end of both models",
        output.name, axis));
}

}  // namespace

Value distillation_loss(const TaughtOutput& output, const DistillOptions& options,
                        const Value& weights) {
  DistillKind kind = kind_of(output, options);
  LossOptions reduction{.reduction = output.loss.reduction()};
  if (kind == DistillKind::values)
    return Loss("distillation", squared_distance, reduction)(output.teacher, output.student,
                                                             weights);
  bool classes = kind == DistillKind::classes;
  if (classes) check_axis(output);
  double t = options.temperature;
  Value teacher = logits_of(output.teacher, classes, options.teacher_outputs, output.teacher_loss);
  Value student = logits_of(output.student, classes, options.student_outputs, output.loss);
  auto divergence = [&](const Value& y_true, const Value& y_pred) {
    Value soft_teacher = y_true / t, soft_student = y_pred / t;
    return classes ? class_divergence(soft_teacher, soft_student)
                   : label_divergence(soft_teacher, soft_student);
  };
  if (mask_of(output.student).defined() && !mask_of(student).defined())
    copy_mask(output.student, student);
  return Loss("distillation", divergence, reduction)(teacher, student, weights) * (t * t);
}

}  // namespace stoker::compress
