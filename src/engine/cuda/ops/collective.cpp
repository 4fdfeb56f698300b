// Sums over replicas. Where the communicator works on the device (NCCL) they are part of the
// captured step: they run on a stream of their own, beside the backward pass, and what needs a sum
// waits for it. Where it works on the host (MPI) the operands go there and come back, and the
// captured step is divided.
#include <cstring>

#include "engine/collective.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

namespace {

// From and to the elements that a sum on the host has: float, or int64_t.
template <class Element>
void sum_on_host(Communicator& communicator, Wire wire, std::span<const Tensor> inputs,
                 std::span<Tensor> outputs) {
  DType dtype = wire == Wire::int64 ? DType::int64 : DType::float32;
  std::vector<Element> bucket;
  for (const Tensor& input : inputs) {
    Tensor wide = input.cast(dtype);
    bucket.insert(bucket.end(), wide.data<Element>(), wide.data<Element>() + wide.elements());
  }
  if (!communicator.is_alone())
    communicator.wait(communicator.start_sum({bucket.data(), bucket.size(), wire}));
  const Element* from = bucket.data();
  for (Tensor& output : outputs) {
    Tensor wide =
        Tensor::from(std::vector<Element>(from, from + output.elements()), output.shape());
    std::memcpy(output.raw_mut(), wide.cast(output.dtype()).raw(), output.bytes());
    from += output.elements();
  }
}

void build_through_host(Builder& b, const Node& node, std::shared_ptr<Communicator> communicator) {
  bool floating = is_floating(b.spec(node.inputs[0]).dtype);
  Wire wire = floating ? wire_from_name(node.attrs.get<std::string>("wire")) : Wire::int64;
  emit_through_host(b, node, "host:all_reduce",
                    [communicator = std::move(communicator), wire](std::span<const Tensor> inputs,
                                                                   std::span<Tensor> outputs) {
                      if (wire == Wire::int64)
                        sum_on_host<int64_t>(*communicator, wire, inputs, outputs);
                      else
                        sum_on_host<float>(*communicator, wire, inputs, outputs);
                    });
}

// What a sum has while it is under way.
struct UnderWay {
  Event operands, summed;  // are there
};

void build_on_device(Builder& b, const Node& node, std::shared_ptr<Communicator> communicator) {
  std::vector<DeviceSum> sums;
  Call start{"nccl:all_reduce", {}, {}};
  std::vector<int> memory;
  for (int value : node.inputs) {
    start.reads.push_back(b.input(value));
    memory.push_back(b.bucket(bytes_of(b.spec(value))));
    sums.push_back({nullptr, size_t(b.shape(value).elements()), b.spec(value).dtype});
  }
  start.writes = memory;
  auto under_way = std::make_shared<UnderWay>();
  std::shared_ptr<Stream> beside = b.communication_stream();
  b.emit(std::move(start), [sums, under_way, beside, communicator](const Launch& at) {
    std::vector<DeviceSum> placed = sums;
    for (size_t i = 0; i < placed.size(); ++i) {
      placed[i].data = at.get(placed.size() + i);
      check(
          cudaMemcpyAsync(placed[i].data, at.get(i), placed[i].elements * size_of(placed[i].dtype),
                          cudaMemcpyDeviceToDevice, at.stream),
          "gathering gradients");
    }
    under_way->operands.record(at.stream);
    check(cudaStreamWaitEvent(beside->get(), under_way->operands.get()), "beginning a sum");
    if (!communicator->is_alone()) communicator->sum_on(beside->get(), placed);
    under_way->summed.record(beside->get());
  });
  b.finish_later([&b, &node, memory, under_way] {
    for (size_t i = 0; i < memory.size(); ++i) b.adopt(node.outputs[i], memory[i]);
    b.emit({"nccl:wait", memory, memory, "all_reduce_wait", b.index_of(node)},
           [under_way](const Launch& at) {
             check(cudaStreamWaitEvent(at.stream, under_way->summed.get()), "a sum");
           });
  });
}

void build_all_reduce(Builder& b, const Node& node) {
  std::shared_ptr<Communicator> communicator = communicator_of(node.attrs);
  if (communicator == nullptr)
    for (size_t i = 0; i < node.inputs.size(); ++i)
      b.emit_copy(b.input(node.inputs[i]), b.define(node.outputs[i]),
                  bytes_of(b.spec(node.inputs[i])));
  else if (communicator->on_device())
    build_on_device(b, node, std::move(communicator));
  else
    build_through_host(b, node, std::move(communicator));
}

}  // namespace

void add_collective_builders(OpBuilders& table) { table["all_reduce"] = {build_all_reduce}; }

}  // namespace stoker::cuda
