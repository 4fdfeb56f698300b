#include "train/files/model_config.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "train/files/architecture.h"

namespace stoker {

namespace {

std::string entry_of(size_t constant, const char* what) {
  return fmt::format("constants.{}.{}", constant, what);
}

void put_constant(Attrs& attrs, size_t number, const Tensor& constant) {
  if (constant.dtype() == DType::bytes)
    throw ValueError("a text among the ops of a model inside a layer cannot be written to a file");
  Shape shape = constant.shape();
  attrs.set(entry_of(number, "dtype"), std::string(name(constant.dtype())));
  attrs.set(entry_of(number, "shape"), Ints(shape.begin(), shape.end()));
  if (constant.dtype() == DType::int64)
    attrs.set(entry_of(number, "values"), constant.to_vector<int64_t>());
  else
    attrs.set(entry_of(number, "values"), constant.to_vector<double>());
}

Tensor take_constant(const Attrs& attrs, size_t number) {
  DType dtype = dtype_from_name(attrs.get<std::string>(entry_of(number, "dtype")));
  const auto& dims = attrs.get<Ints>(entry_of(number, "shape"));
  Shape shape{std::span<const int64_t>(dims)};
  if (dtype == DType::int64)
    return Tensor::from(attrs.get<Ints>(entry_of(number, "values")), shape);
  return Tensor::from(attrs.get<Doubles>(entry_of(number, "values")), shape).cast(dtype);
}

Layer model_from_config(const Attrs& config, const LayerFactories& custom) {
  std::vector<Tensor> constants;
  while (config.has(entry_of(constants.size(), "dtype")))
    constants.push_back(take_constant(config, constants.size()));
  return ModelAccess::wrap(
      architecture_from_json(config.get<std::string>("architecture"), constants, custom));
}

}  // namespace

Attrs model_config(const ModelBase& model) {
  std::vector<Tensor> constants;
  Attrs attrs = {{"architecture", architecture_to_json(model, constants)}};
  for (size_t i = 0; i < constants.size(); ++i) put_constant(attrs, i, constants[i]);
  return attrs;
}

LayerFactories with_models(const LayerFactories& custom) {
  LayerFactories all = custom;
  for (const char* kind : {"Functional", "Sequential"})
    all.try_emplace(kind,
                    [custom](const Attrs& config) { return model_from_config(config, custom); });
  return all;
}

}  // namespace stoker
