// batch_norm_inference, layer_norm, softmax, log_softmax.
#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

void export_batch_norm(OnnxBuilder& builder, const Node& node) {
  Form form = channels_first(builder.shape(node.inputs[0]).rank());
  std::vector<std::string> operands = {builder.get(node.inputs[0], form)};
  for (size_t i = 1; i < node.inputs.size(); ++i) operands.push_back(builder.get(node.inputs[i]));
  std::string y = builder.add("BatchNormalization", operands,
                              {{"epsilon", float(node.attrs.get<double>("epsilon"))}});
  builder.set(node.outputs[0], add_activation(builder, node, y), form);
}

void export_layer_norm(OnnxBuilder& builder, const Node& node) {
  std::vector<std::string> operands;
  for (int id : node.inputs) operands.push_back(builder.get(id));
  int64_t axis = -builder.shape(node.inputs[1]).rank();
  builder.set(node.outputs[0],
              builder.add("LayerNormalization", operands,
                          {{"axis", axis}, {"epsilon", float(node.attrs.get<double>("epsilon"))}}));
}

void export_softmax(OnnxBuilder& builder, const Node& node, const char* op) {
  Form form = builder.form(node.inputs[0]);
  std::string x = builder.get(node.inputs[0], form);
  int64_t axis = place_of(form, int64_t(form.size()) - 1);
  builder.set(node.outputs[0], builder.add(op, {x}, {{"axis", axis}}), form);
}

}  // namespace

void add_normalization_exporters(OnnxExporters& exporters) {
  exporters["batch_norm_inference"] = export_batch_norm;
  exporters["layer_norm"] = export_layer_norm;
  exporters["softmax"] = [](OnnxBuilder& builder, const Node& node) {
    export_softmax(builder, node, "Softmax");
  };
  exporters["log_softmax"] = [](OnnxBuilder& builder, const Node& node) {
    export_softmax(builder, node, "LogSoftmax");
  };
}

}  // namespace stoker
