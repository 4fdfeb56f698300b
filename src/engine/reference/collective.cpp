// Sums over replicas, in what the wire holds: float32 or int64.
#include <vector>

#include "engine/collective.h"
#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

template <class Element>
void sum(const Call& call, Communicator& communicator, Wire wire) {
  std::vector<Element> bucket;
  for (const Array* input : call.inputs)
    for (Number value : input->data) bucket.push_back(Element(value));
  communicator.wait(communicator.start_sum({bucket.data(), bucket.size(), wire}));
  size_t next = 0;
  for (Array* output : call.outputs)
    for (Number& value : output->data) value = Number(bucket[next++]);
}

void all_reduce(const Call& call) {
  std::shared_ptr<Communicator> communicator = communicator_of(call.attrs);
  if (communicator == nullptr || communicator->is_alone()) {
    for (size_t i = 0; i < call.inputs.size(); ++i) call.out(i).data = call.in(i).data;
  } else if (is_floating(call.in(0).spec.dtype)) {
    sum<float>(call, *communicator, wire_from_name(call.attrs.get<std::string>("wire")));
  } else {
    sum<int64_t>(call, *communicator, Wire::int64);
  }
}

}  // namespace

void add_collective_kernels(KernelTable& table) { table["all_reduce"] = all_reduce; }

}  // namespace stoker::reference
