// Factorisations and solutions, in the precision of the reference.
#include "engine/matrix_ops.h"
#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

void matrices(const Call& call) {
  bool solves = call.inputs.size() == 2;
  matrix::Operation op(call.attrs, call.in(0).shape(), solves ? &call.in(1).shape() : nullptr);
  std::vector<const Number*> in;
  std::vector<void*> out;
  for (const Array* input : call.inputs) in.push_back(input->data.data());
  for (Array* output : call.outputs) out.push_back(output->data.data());
  for (int64_t index = 0; index < op.batch; ++index)
    matrix::run<Number, Number, Number>(op, in, out, index);
}

}  // namespace

void add_matrix_kernels(KernelTable& table) {
  table["factorize"] = matrices;
  table["solve"] = matrices;
}

}  // namespace stoker::reference
