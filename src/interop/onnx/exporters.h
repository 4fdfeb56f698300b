// How each op of the registry is expressed in ONNX. An op is in exactly one of the two tables; a test
// walks the registry.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "interop/onnx/builder.h"

namespace stoker {

// Adds the ONNX nodes of one node and sets its outputs.
using OnnxExporter = void (*)(OnnxBuilder& builder, const Node& node);
using OnnxExporters = std::map<std::string_view, OnnxExporter>;

const OnnxExporters& onnx_exporters();
// Ops that are refused, with the reason.
const std::map<std::string_view, std::string>& onnx_refusals();

void export_node(OnnxBuilder& builder, const Node& node);

// One function a family, one file each.
void add_elementwise_exporters(OnnxExporters& exporters);
void add_shape_exporters(OnnxExporters& exporters);
void add_reduction_exporters(OnnxExporters& exporters);
void add_linear_exporters(OnnxExporters& exporters);
void add_normalization_exporters(OnnxExporters& exporters);
void add_lookup_exporters(OnnxExporters& exporters);
void add_order_exporters(OnnxExporters& exporters);
void add_recurrent_exporters(OnnxExporters& exporters);
void add_quantized_exporters(OnnxExporters& exporters);

// The `activation` that a fused node ends in, applied to what it gave.
std::string add_activation(OnnxBuilder& builder, const Node& node, const std::string& value);

}  // namespace stoker
