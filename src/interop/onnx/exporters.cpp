#include "interop/onnx/exporters.h"

namespace stoker {

const OnnxExporters& onnx_exporters() {
  static const OnnxExporters table = [] {
    OnnxExporters all;
    add_elementwise_exporters(all);
    add_shape_exporters(all);
    add_reduction_exporters(all);
    add_linear_exporters(all);
    add_normalization_exporters(all);
    add_lookup_exporters(all);
    add_order_exporters(all);
    add_recurrent_exporters(all);
    add_quantized_exporters(all);
    return all;
  }();
  return table;
}

const std::map<std::string_view, std::string>& onnx_refusals() {
  static const std::map<std::string_view, std::string> table = [] {
    std::map<std::string_view, std::string> all = {
        {"all_reduce", "it is part of a training on several replicas"},
        {"host_call", "it is C++ code of this program, which no file can hold"},
        {"dropout", "it draws random numbers, which predictions do not"},
        {"random", "it draws random numbers, and an ONNX model has none of ours"},
        {"augment", "it draws random numbers, which predictions do not"},
        {"augment_mix", "it draws random numbers, which predictions do not"},
        {"batch_norm",
         "it normalises by the batch's own statistics; batch_norm_inference takes moving ones"},
        {"moving_average", "it changes a weight, and an ONNX model has no state"},
        {"attention", "it is exported as the ops that it is composed of"},
        {"factorize", "ONNX has no factorisations of matrices"},
        {"bitcast", "ONNX's opset has no numbers as other numbers' bits"},
        {"solve", "ONNX has no solutions of linear equations"},
        {"segment_reduce",
         "ONNX has no reduction by segments of any number of elements; ops::one_hot and a product "
         "give sums"},
        {"in_top_k", "it is a metric; export the predictions that it counts"},
        {"scan",
         "it is a loop, which is not exported; LSTM, GRU and SimpleRNN with their default "
         "activations, "
         "and GRU with reset_after, have ONNX operators"},
    };
    for (std::string_view op : {"cached_attention", "cache_append"})
      all[op] = "it is a step of generation, and an ONNX model has no state";
    for (std::string_view op :
         {"sparse_softmax_cross_entropy", "softmax_cross_entropy", "sigmoid_cross_entropy"})
      all[op] = "it is a loss; export the predictions that it is taken of";
    for (std::string_view op :
         {"unary_grad", "conv2d_input_grad", "conv2d_weight_grad", "max_pool2d_grad",
          "avg_pool2d_grad", "batch_norm_grad", "layer_norm_grad", "softmax_grad",
          "log_softmax_grad", "sparse_softmax_cross_entropy_grad", "softmax_cross_entropy_grad",
          "gather_grad", "take_grad", "recurrent_grad", "attention_grad"})
      all[op] = "it is a gradient, which is for training";
    constexpr const char* kUpdate = "it is part of an optimizer's update, which is for training";
    for (const auto& op : OpRegistry::get().all())
      if (op->traits.reads_gradients) all[op->name] = kUpdate;
    all["loss_scale_update"] = kUpdate;
    return all;
  }();
  return table;
}

void export_node(OnnxBuilder& builder, const Node& node) {
  const std::string& op = node.op->name;
  if (auto refused = onnx_refusals().find(op); refused != onnx_refusals().end())
    builder.refuse(node, refused->second);
  auto exporter = onnx_exporters().find(op);
  if (exporter == onnx_exporters().end()) builder.refuse(node, "it is not known to the exporter");
  exporter->second(builder, node);
}

}  // namespace stoker
