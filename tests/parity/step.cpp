#include "parity/step.h"

#include <utility>

namespace stoker::test {

Step::Step(const std::string& device, TracedFunction::Body body, Mode mode)
    : context_{.seed = 1, .device = device, .out = nullptr},
      function_(std::move(body), {.training = mode == Mode::training, .context = &context_}) {}

std::vector<Tensor> Step::run(const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> outputs;
  for (const LazyTensor& output : function_.call(inputs)) outputs.push_back(output.tensor());
  return outputs;
}

std::vector<Tensor> run_once(const std::string& device, const std::vector<Tensor>& inputs,
                             TracedFunction::Body body) {
  return Step(device, std::move(body)).run(inputs);
}

std::string untestable(const std::string& device) {
#ifdef STOKER_TSAN
  if (device == "cpu") return "ThreadSanitizer does not see libgomp's synchronisation";
#endif
  (void)device;
  return "";
}

}  // namespace stoker::test
