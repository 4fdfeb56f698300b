#include "step/peers.h"

#ifdef STOKER_HAVE_TORCH
#include "step/torch/peer.h"
#endif

namespace stoker::bench {

#ifdef STOKER_HAVE_TORCH

std::vector<Contender> torch_contenders(const TrainingStep& step, const TorchCase& which,
                                        int threads) {
  auto shape_of = [](const Tensor& tensor) {
    return std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end());
  };
  std::vector<Tensor> values;  // kept until both steps have copied them
  PlainStep plain{which.tower,
                  which.first,
                  which.second,
                  shape_of(step.batch()[0]),
                  step.batch()[0].data<float>(),
                  step.batch()[1].data<int64_t>(),
                  {}};
  for (const Variable& parameter : step.parameters()) values.push_back(parameter.read());
  for (const Tensor& value : values)
    plain.parameters.push_back({shape_of(value), value.data<float>()});
  std::vector<Contender> contenders;
  for (bool channels_last : {false, true}) {
    std::shared_ptr<TorchStep> peer = make_torch_step(plain, channels_last, threads);
    contenders.push_back(
        {channels_last ? "libtorch NHWC" : "libtorch NCHW", [peer] { return peer->run(); }});
  }
  return contenders;
}

#else

std::vector<Contender> torch_contenders(const TrainingStep&, const TorchCase&, int) { return {}; }

#endif

}  // namespace stoker::bench
