// Regions of the fuser become instructions.
#include "engine/cuda/ops/fused.h"

#include <algorithm>

#include "engine/cuda/builder.h"

namespace stoker::cuda {

namespace {

using fuser::Operation;
using fuser::Scalar;

// Whether the result may lie where an operand does: every element of it is read only by the thread
// that writes the same one.
bool may_replace(const fuser::Region& region, size_t slot) {
  if (region.reduction != fuser::Reduction::none ||
      size_of(region.operands[slot].dtype) != size_of(region.store.dtype))
    return false;
  fuser::Index same = fuser::Index::of(fuser::Counter::kept, region.kept);
  return std::ranges::all_of(region.scalars, [&](const Scalar& scalar) {
    return scalar.operation != Operation::load || scalar.slot != slot ||
           (scalar.place == same && scalar.ranges.empty());
  });
}

int define_result(Builder& b, const fuser::Region& region, const std::vector<int>& reads) {
  std::vector<int> replaceable;
  for (size_t i = 0; i < reads.size(); ++i)
    if (std::ranges::count(reads, reads[i]) == 1 && may_replace(region, i))
      replaceable.push_back(reads[i]);
  return b.define_over(region.store.value, replaceable);
}

}  // namespace

void build_region(Builder& b, const fuser::Region& region) {
  std::vector<int> reads;
  for (const fuser::Region::Operand& operand : region.operands)
    reads.push_back(b.input(operand.value));
  int out = define_result(b, region, reads);
  fuser::GeneratedKernel kernel =
      fuser::generate(region, b.shared().device->info().multiprocessors);
  std::vector<int> writes = {out};
  if (kernel.partial_bytes > 0) {
    writes.push_back(b.scratch(kernel.partial_bytes));
    writes.push_back(b.zeroed(kernel.counter_bytes));
  }
  std::shared_ptr<const LoadedKernel> code = b.shared().kernels.add(kernel);
  kernel.source.clear();
  size_t operands = reads.size() + writes.size();
  InstructionCall call{
      .kernel = "own:fused", .reads = std::move(reads), .writes = std::move(writes)};
  call.bytes = region.bytes;
  b.emit(std::move(call), [kernel, code, operands](const Launch& at) {
    std::vector<void*> addresses, arguments;
    for (size_t i = 0; i < operands; ++i) addresses.push_back(at.get(i));
    for (void*& address : addresses) arguments.push_back(&address);
    code->launch(kernel, arguments, at.stream);
  });
}

}  // namespace stoker::cuda
