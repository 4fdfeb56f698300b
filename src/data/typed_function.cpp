#include <fmt/format.h>
#include <stoker/typed_function.h>

namespace stoker::data {

std::string to_string(const ElementSpec& spec) {
  std::string text = "(";
  for (const TensorSpec& component : spec) {
    if (text.size() > 1) text += ", ";
    text += stoker::to_string(component);
  }
  return text + ")";
}

namespace typed {

void wrong_arity(const std::string& name, size_t takes, const ElementSpec& in) {
  throw ShapeError(fmt::format("\"{}\" takes {} components, but elements have {}: {}", name, takes,
                               in.size(), to_string(in)));
}

void wrong_argument(const std::string& name, size_t index, std::string_view wanted,
                    const ElementSpec& in) {
  throw ShapeError(fmt::format("\"{}\" takes {} as its parameter {}, but elements are {}", name,
                               wanted, index, to_string(in)));
}

void missing_spec(const std::string& name, const char* why) {
  throw ShapeError(fmt::format(
      "\"{}\": {}, so the spec of its result has to be given: {{.spec = ElementSpec{{…}}}}", name,
      why));
}

void check_declared_size(const std::string& name, size_t results,
                         const std::optional<ElementSpec>& declared) {
  if (declared && declared->size() != results)
    throw ShapeError(fmt::format("\"{}\" gives {} components, but .spec declares {}: {}", name,
                                 results, declared->size(), to_string(*declared)));
}

TensorSpec spec_of_tensor_result(const std::string& name, size_t index, const ElementSpec& in,
                                 const std::optional<ElementSpec>& declared) {
  if (declared) return (*declared)[index];
  if (index >= in.size()) missing_spec(name, "it gives more components than it takes");
  return in[index];
}

TensorSpec spec_of_typed_result(const std::string& name, size_t index, DType dtype,
                                const Shape& shape, const std::optional<ElementSpec>& declared) {
  if (!declared) return {dtype, shape};
  const TensorSpec& spec = (*declared)[index];
  if (spec.dtype != dtype || spec.shape.rank() != shape.rank())
    throw ShapeError(
        fmt::format("\"{}\": .spec declares component {} as {}, but the function gives {}", name,
                    index, stoker::to_string(spec), stoker::to_string(TensorSpec{dtype, shape})));
  return spec;
}

Tensor borrowed(const ConstTensorView& view) {
  // An owner that frees nothing: the view's owner does.
  auto* data = const_cast<void*>(view.data);
  return Tensor::wrap(std::shared_ptr<void>(std::shared_ptr<void>(), data), data, view.dtype,
                      view.shape);
}

}  // namespace typed

}  // namespace stoker::data
