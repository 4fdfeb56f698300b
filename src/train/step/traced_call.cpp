#include "train/step/traced_call.h"

#include <stoker/function.h>

#include "graph/graph.h"
#include "train/model/trainer.h"

namespace stoker {

struct TracedCall {
  TracedFunction function;
  bool training, masked;
  std::vector<bool> trainable;  // which layers were, when it was made
};

namespace {

std::vector<bool> trainable_now(const ModelBase& model) {
  std::vector<bool> trainable;
  for (const auto& layer : model.leaves()) trainable.push_back(layer->trainable());
  return trainable;
}

// The body's inputs: x and, where there is one, its mask.
TracedFunction make_function(ModelBase& model, bool training) {
  auto body = [&model](const Values& inputs) {
    CallContext context(*inputs[0].traced()->graph, Values(inputs.begin() + 1, inputs.end()));
    return model.call({inputs[0]}, context);
  };
  return {body,
          {.training = training,
           .name = model.label(),
           .context = trainer_of(model).context,
           .replicated = false}};
}

}  // namespace

std::vector<Tensor> call_traced(ModelBase& model, const Tensor& x,
                                const TracedCallOptions& options) {
  Trainer& trainer = trainer_of(model);
  bool training = options.training, masked = options.mask.defined();
  std::vector<bool> trainable = trainable_now(model);
  const TracedCall* made = trainer.traced_call.get();
  if (made == nullptr || made->training != training || made->masked != masked ||
      made->trainable != trainable)
    trainer.traced_call = std::make_shared<TracedCall>(
        TracedCall{make_function(model, training), training, masked, trainable});
  std::vector<Tensor> inputs = {x};
  if (masked) inputs.push_back(options.mask);
  std::vector<Tensor> outputs;
  for (const LazyTensor& output : trainer.traced_call->function.call(inputs))
    outputs.push_back(output.tensor());
  return outputs;
}

}  // namespace stoker
