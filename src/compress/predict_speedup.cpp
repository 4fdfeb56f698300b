// How much faster a smaller model should train, from the ops of the larger one.
#include <stoker/compare.h>

#include "compress/compared.h"
#include "compress/step_prediction.h"

namespace stoker {

double predict_speedup(const Model& model, const Model& smaller, const Batch& batch,
                       const CompareOptions& options) {
  std::vector<ComparedModel> both = {{"the model", model}, {"the smaller one", smaller}};
  compress::check_comparable(both);
  const Model* settings = compress::first_compiled(both);
  if (settings == nullptr && options.loss.list().empty())
    throw ValueError("predict_speedup: no loss is known; compile one of the models, or give .loss");
  Model large = compress::view_of(model, options, settings);
  Model small = compress::view_of(smaller, options, settings);
  StateSnapshot before(ModelAccess::base(large));
  std::span<const Tensor> tensors(batch.tensors());
  auto step_of = [&](const Model& each) -> CachedProgram& {
    return program_for(ModelAccess::base(each), StepKind::train, tensors, "predict_speedup");
  };
  CachedProgram& step = step_of(large);
  before.cover(*step.graph);
  compress::StepWork timed = compress::work_of(step);
  compress::time_ops(step, tensors, timed);
  double predicted = compress::predicted_seconds(timed, compress::work_of(step_of(small)));
  return predicted > 0 ? compress::total_seconds(timed) / predicted : 1;
}

}  // namespace stoker
