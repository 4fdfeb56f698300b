#include "train/step/target_values.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/visit_dtype.h"
#include "train/model/model_base.h"

namespace stoker {

namespace {

void check_shares(const Loss& loss, const Tensor& y, const std::string& output,
                  const char* action) {
  constexpr float kRounding = 1e-3F;
  bool shares = loss.kind() == "BinaryCrossentropy" || loss.kind() == "CategoricalCrossentropy";
  if (!shares || y.dtype() == DType::bytes) return;  // which the step refuses
  int64_t at = visit_numeric(y.dtype(), [&]<class T>(std::type_identity<T>) {
    auto bad = [](T value) {
      return !(float(value) >= -kRounding && float(value) <= 1 + kRounding);
    };
    std::span<const T> values = y.values<T>();
    auto found = std::find_if(values.begin(), values.end(), bad);
    return found == values.end() ? int64_t(-1) : int64_t(found - values.begin());
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
  size_t inputs = topology.inputs.size(), outputs = topology.outputs.size();
  if (tensors.size() < inputs + outputs) return;
  for (size_t i = 0; i < outputs; ++i)
    check_shares(model.trainer->compiled->losses[i], tensors[inputs + i], topology.output_names[i],
                 action);
}

}  // namespace stoker
