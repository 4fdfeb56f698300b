// A user's own function, on tensors of the dtypes it was written for.
#include <vector>

#include "base/host_function.h"
#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

void host_call(const Call& call) {
  const auto& function = call.attrs.get<std::shared_ptr<const HostFunction>>("function");
  std::vector<Tensor> inputs, outputs;
  for (const Array* input : call.inputs) inputs.push_back(to_tensor(*input));
  for (const Array* output : call.outputs)
    outputs.emplace_back(output->spec.dtype, output->shape());
  function->run(inputs, outputs);
  for (size_t which = 0; which < outputs.size(); ++which) load(outputs[which], call.out(which));
}

}  // namespace

void add_host_kernels(KernelTable& table) { table["host_call"] = host_call; }

}  // namespace stoker::reference
