#include "train/step/training_call.h"

#include <stoker/function.h>

#include "graph/graph.h"
#include "train/model/trainer.h"

namespace stoker {

struct TrainingCall {
  TracedFunction function;
  std::vector<bool> trainable;  // which layers were, when it was made
};

namespace {

std::vector<bool> trainable_now(const ModelBase& model) {
  std::vector<bool> trainable;
  for (const auto& layer : model.leaves()) trainable.push_back(layer->trainable());
  return trainable;
}

}  // namespace

std::vector<Tensor> call_in_training(ModelBase& model, const Tensor& x) {
  Trainer& trainer = trainer_of(model);
  std::vector<bool> trainable = trainable_now(model);
  if (!trainer.training_call || trainer.training_call->trainable != trainable) {
    auto body = [&model](const Values& inputs) {
      CallContext context(*inputs[0].traced()->graph);
      return model.call(inputs, context);
    };
    trainer.training_call = std::make_shared<TrainingCall>(TrainingCall{
        TracedFunction(body, {.name = model.label(), .context = trainer.context}), trainable});
  }
  std::vector<Tensor> outputs;
  for (const LazyTensor& output : trainer.training_call->function.call({&x, 1}))
    outputs.push_back(output.tensor());
  return outputs;
}

}  // namespace stoker
