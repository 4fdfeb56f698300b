#include "train/step/target_values.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/visit_dtype.h"
#include "train/model/model_base.h"

namespace stoker {

namespace {

// The first element outside [0, 1], rounding allowed; -1: there is none. Blocks are looked through
// without a branch, so that the compiler can use vectors.
template <class T>
int64_t first_that_is_no_share(std::span<const T> values) {
  constexpr float kRounding = 1e-3F;
  constexpr size_t kBlock = 4096;
  auto bad = [](T value) { return !(float(value) >= -kRounding && float(value) <= 1 + kRounding); };
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    std::span<const T> block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    int any = 0;
    for (T value : block) any |= int(bad(value));
    if (any != 0) return int64_t(begin) + (std::ranges::find_if(block, bad) - block.begin());
  }
  return -1;
}

void check_shares(const Loss& loss, const Tensor& y, const std::string& output,
                  const char* action) {
  constexpr std::array<std::string_view, 4> kTakeShares = {
      "BinaryCrossentropy", "CategoricalCrossentropy", "BinaryFocalCrossentropy",
      "CategoricalFocalCrossentropy"};
  bool shares = std::ranges::find(kTakeShares, loss.kind()) != kTakeShares.end();
  if (!shares || y.dtype() == DType::bytes) return;  // which the step refuses
  int64_t at = visit_numeric(y.dtype(), [&]<class T>(std::type_identity<T>) {
    return first_that_is_no_share(y.values<T>());
  });
  if (at >= 0)
    throw ValueError(fmt::format(
        "{}: target of output \"{}\": {} takes numbers from 0 to 1, got {} at element {}; divide "
        "masks by their largest value, and use sparse_categorical_crossentropy for class ids",
        action, output, loss.kind(), y.at(at), at));
}

}  // namespace

void check_target_values(ModelBase& model, std::span<const Tensor> tensors, const char* action) {
  const Topology& topology = model.topology(action);
  const Compiled& compiled = *model.trainer->compiled;
  size_t inputs = topology.inputs.size();
  if (tensors.size() < inputs + compiled.judged.size()) return;
  for (size_t i = 0; i < compiled.judged.size(); ++i)
    check_shares(compiled.losses[compiled.judged[i]], tensors[inputs + i],
                 topology.output_names[compiled.judged[i]], action);
}

}  // namespace stoker
