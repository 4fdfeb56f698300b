// reduce, argmax.
#include <algorithm>

#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

// The form of what is left when axes go.
Form without(const Form& form, const Ints& gone) {
  Form left;
  for (int64_t axis : form)
    if (std::ranges::find(gone, axis) == gone.end())
      left.push_back(axis - std::ranges::count_if(gone, [&](int64_t each) { return each < axis; }));
  return left;
}

void export_reduce(OnnxBuilder& builder, const Node& node) {
  static const std::map<std::string_view, const char*> kNames = {{"sum", "ReduceSum"},
                                                                 {"mean", "ReduceMean"},
                                                                 {"max", "ReduceMax"},
                                                                 {"min", "ReduceMin"},
                                                                 {"prod", "ReduceProd"}};
  const auto& fn = node.attrs.get<std::string>("fn");
  const auto& axes = node.attrs.get<Ints>("axes");
  bool keep = node.attrs.get_or("keepdims", false);
  Form form = builder.form(node.inputs[0]);
  std::string x = builder.get(node.inputs[0], form);
  if (axes.empty()) return builder.set(node.outputs[0], x, form);
  Ints places;
  for (int64_t axis : axes) places.push_back(place_of(form, axis));
  std::ranges::sort(places);
  std::vector<std::pair<std::string, OnnxAttribute>> attributes = {{"keepdims", int64_t(keep)}};
  std::vector<std::string> inputs = {x};
  // Axes became an operand, of ReduceSum first.
  if (fn == "sum" || builder.opset() >= 18)
    inputs.push_back(builder.integers(places));
  else
    attributes.emplace_back("axes", places);
  builder.set(node.outputs[0], builder.add(kNames.at(fn), inputs, attributes),
              keep ? form : without(form, axes));
}

void export_argmax(OnnxBuilder& builder, const Node& node) {
  auto axis = node.attrs.get<int64_t>("axis");
  Form form = builder.form(node.inputs[0]);
  std::string x = builder.get(node.inputs[0], form);
  std::string y =
      builder.add("ArgMax", {x}, {{"axis", place_of(form, axis)}, {"keepdims", int64_t(0)}});
  builder.set(node.outputs[0], y, without(form, {axis}));
}

}  // namespace

void add_reduction_exporters(OnnxExporters& exporters) {
  exporters["reduce"] = export_reduce;
  exporters["argmax"] = export_argmax;
}

}  // namespace stoker
