#include "formats/onnx.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "formats/protobuf_wire.h"

namespace stoker {

namespace {

constexpr uint64_t kMaxProtobuf = (uint64_t(1) << 31) - 1;

// The intermediate representation that a set of operators came with.
int64_t ir_version(int64_t opset) { return opset < 19 ? 8 : opset < 21 ? 9 : 10; }

struct AttributeWriter {
  WireWriter& out;
  // AttributeProto: f = 2, i = 3, s = 4, ints = 8, strings = 9; type = 20, of AttributeType.
  void operator()(float value) {
    out.floating(2, value);
    out.varint(20, 1);
  }
  void operator()(int64_t value) {
    out.varint(3, uint64_t(value));
    out.varint(20, 2);
  }
  void operator()(const std::string& value) {
    out.bytes(4, value);
    out.varint(20, 3);
  }
  void operator()(const std::vector<int64_t>& values) {
    for (int64_t value : values) out.varint(8, uint64_t(value));
    out.varint(20, 7);
  }
  void operator()(const std::vector<std::string>& values) {
    for (const std::string& value : values) out.bytes(9, value);
    out.varint(20, 8);
  }
};

std::string node_message(const OnnxNode& node) {
  WireWriter out;
  for (const std::string& input : node.inputs) out.bytes(1, input);
  for (const std::string& output : node.outputs) out.bytes(2, output);
  out.bytes(3, node.name);
  out.bytes(4, node.op);
  for (const auto& [name, value] : node.attributes) {
    WireWriter attribute;
    attribute.bytes(1, name);
    std::visit(AttributeWriter{attribute}, value);
    out.bytes(5, attribute.message());
  }
  return out.message();
}

std::string value_message(const OnnxValue& value) {
  WireWriter shape, tensor, type, out;
  for (const auto& extent : value.shape) {
    WireWriter dimension;
    if (const auto* number = std::get_if<int64_t>(&extent))
      dimension.varint(1, uint64_t(*number));
    else if (const auto& name = std::get<std::string>(extent); !name.empty())
      dimension.bytes(2, name);
    shape.bytes(1, dimension.message());
  }
  tensor.varint(1, uint64_t(onnx_dtype(value.dtype)));
  tensor.bytes(2, shape.message());
  type.bytes(1, tensor.message());
  out.bytes(1, value.name);
  out.bytes(2, type.message());
  return out.message();
}

// GraphProto's field of an initialiser, up to where the tensor's own bytes follow.
std::string initializer_head(const std::string& name, const Tensor& tensor) {
  WireWriter inner, out;
  for (int64_t extent : tensor.shape()) inner.varint(1, uint64_t(extent));
  inner.varint(2, uint64_t(onnx_dtype(tensor.dtype())));
  inner.bytes(8, name);
  inner.bytes_header(9, tensor.bytes());
  out.bytes_header(5, inner.message().size() + tensor.bytes());
  return out.message() + inner.message();
}

std::string graph_head(const OnnxModel& model) {
  WireWriter out;
  for (const OnnxNode& node : model.nodes) out.bytes(1, node_message(node));
  out.bytes(2, model.name);
  for (const OnnxValue& input : model.inputs) out.bytes(11, value_message(input));
  for (const OnnxValue& output : model.outputs) out.bytes(12, value_message(output));
  return out.message();
}

// Everything but the graph, whose field comes last.
std::string model_head(const OnnxModel& model, uint64_t graph_bytes) {
  WireWriter out, opset;
  out.varint(1, uint64_t(ir_version(model.opset)));
  out.bytes(2, "stoker");
  out.bytes(3, model.producer_version);
  opset.bytes(1, "");  // ONNX's own operators
  opset.varint(2, uint64_t(model.opset));
  out.bytes(8, opset.message());
  for (const auto& [key, value] : model.metadata) {
    WireWriter entry;
    entry.bytes(1, key);
    entry.bytes(2, value);
    out.bytes(14, entry.message());
  }
  out.bytes_header(7, graph_bytes);
  return out.message();
}

}  // namespace

int64_t onnx_dtype(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 1;
    case DType::uint8:
      return 2;
    case DType::int8:
      return 3;
    case DType::int16:
      return 5;
    case DType::int32:
      return 6;
    case DType::int64:
      return 7;
    case DType::bool_:
      return 9;
    case DType::float16:
      return 10;
    case DType::bfloat16:
      return 16;
    case DType::bytes:
      break;
  }
  throw ValueError("ONNX files hold no tensors of bytes");
}

void write_onnx(const std::string& path, const OnnxModel& model, FileSystem& files) {
  std::string graph = graph_head(model);
  std::vector<std::string> heads;
  heads.reserve(model.initializers.size());
  uint64_t graph_bytes = graph.size();
  for (const auto& [name, tensor] : model.initializers) {
    heads.push_back(initializer_head(name, tensor));
    graph_bytes += heads.back().size() + tensor.bytes();
  }
  std::string head = model_head(model, graph_bytes);
  if (head.size() + graph_bytes > kMaxProtobuf)
    throw ValueError(fmt::format(
        "{}: the model takes {} bytes, and an ONNX file holds at most {}; save() has no such limit",
        path, head.size() + graph_bytes, kMaxProtobuf));
  std::vector<std::span<const std::byte>> pieces = {as_bytes(head), as_bytes(graph)};
  for (size_t i = 0; i < heads.size(); ++i) {
    const Tensor& tensor = model.initializers[i].second;
    pieces.push_back(as_bytes(heads[i]));
    pieces.emplace_back(static_cast<const std::byte*>(tensor.raw()), tensor.bytes());
  }
  write_file_atomically(path, pieces, files);
}

}  // namespace stoker
