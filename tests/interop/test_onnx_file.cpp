// What an exported file holds, read back from its bytes, and which models give none.
#include <filesystem>

#include <stoker/stoker.h>

#include "base/file.h"
#include "formats/protobuf_wire.h"
#include "support/onnx_files.h"

namespace stoker::test {
namespace {

struct Written {
  std::vector<std::string> ops, nodes, initializers, inputs, outputs;
  std::string producer, metadata;
};

std::string text_of(std::span<const std::byte> message, uint32_t wanted) {
  WireReader reader(message);
  for (WireField field; reader.next(field);)
    if (field.is(wanted, WireType::bytes)) return std::string(field.text());
  return "";
}

Written read(const std::string& path) {
  std::vector<std::byte> bytes = read_file(path);
  Written written;
  WireReader model(bytes);
  for (WireField field; model.next(field);) {
    if (field.number == 2) written.producer = field.text();
    if (field.number == 14)
      written.metadata += text_of(field.bytes, 1) + "=" + text_of(field.bytes, 2);
    if (field.number != 7) continue;
    WireReader graph(field.bytes);
    for (WireField part; graph.next(part);) {
      if (part.number == 1) written.ops.push_back(text_of(part.bytes, 4));
      if (part.number == 1) written.nodes.push_back(text_of(part.bytes, 3));
      if (part.number == 5) written.initializers.push_back(text_of(part.bytes, 8));
      if (part.number == 11) written.inputs.push_back(text_of(part.bytes, 1));
      if (part.number == 12) written.outputs.push_back(text_of(part.bytes, 1));
    }
  }
  return written;
}

using Strings = std::vector<std::string>;

TEST(OnnxFile, KeepsTheNamesOfLayersAndWeights) {
  TempDir dir;
  Sequential model({Input({8, 8, 3}, {.name = "image"}), Conv2D(4, 3, {.name = "stem"}),
                    BatchNormalization({.name = "norm"}), Activation("relu", {.name = "act"}),
                    GlobalAveragePooling2D({.name = "pool"}),
                    Dense(2, {.activation = "softmax", .name = "scores"})});
  export_onnx(model, dir / "m.onnx", {.metadata = {{"classes", "cat,dog"}}});
  Written written = read(dir / "m.onnx");
  EXPECT_EQ(written.inputs, Strings{"image"});
  EXPECT_EQ(written.outputs, Strings{"scores"});
  EXPECT_EQ(written.nodes,
            (Strings{"stem/Transpose", "stem/Conv", "norm/BatchNormalization", "act/Relu",
                     "pool/ReduceMean", "scores/Gemm", "scores/Softmax"}));
  EXPECT_EQ(written.initializers,
            (Strings{"stem/kernel", "stem/bias", "norm/gamma", "norm/beta", "norm/moving_mean",
                     "norm/moving_variance", "scores/kernel", "scores/bias"}));
  EXPECT_EQ(written.producer, "stoker");
  EXPECT_EQ(written.metadata, "classes=cat,dog");
}

TEST(OnnxFile, OfAnImageNetworkHasOneTransposeAtEachEnd) {
  TempDir dir;
  Value in = Input({8, 8, 3});
  Value x = Conv2D(4, 3, {.padding = "same"})(in);
  Value y = ReLU()(Add()({x, BatchNormalization()(x)}));
  Model model(in, UpSampling2D(2)(MaxPooling2D(2)(y * 2.0)));
  export_onnx(model, dir / "m.onnx");
  EXPECT_EQ(read(dir / "m.onnx").ops, (Strings{"Transpose", "Conv", "BatchNormalization", "Add",
                                               "Relu", "Mul", "MaxPool", "Resize", "Transpose"}));
}

TEST(OnnxFile, IsInFloat32WhateverPolicyALayerHas) {
  TempDir dir;
  export_onnx(Sequential({Input({4}), Dense(2, {.dtype = "mixed_bfloat16"})}), dir / "m.onnx");
  EXPECT_EQ(read(dir / "m.onnx").ops, Strings{"Gemm"});
}

TEST(OnnxFile, HandsInputsAndSharedValuesThroughAsOutputs) {
  OnnxFiles files;
  Value in = Input({4}, {.name = "x"});
  Value y = Dense(2, {.name = "d"})(in);
  files.add("ends", Model(Values{in}, Values{y, in, y}));
  EXPECT_EQ(read(files.path("ends")).outputs, (Strings{"d", "x_1", "d_1"}));
}

std::string refusal(const Model& model, const OnnxOptions& options = {}) {
  TempDir dir;
  try {
    export_onnx(model, dir / "m.onnx", options);
  } catch (const Error& error) {
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
    return error.what();
  }
  ADD_FAILURE() << "it was exported";
  return "";
}

TEST(OnnxFile, IsNotWrittenForAModelThatOnnxCannotSay) {
  HostLayer host([](const Tensor&, Tensor&) {}, {}, {.name = "slow"});
  EXPECT_EQ(refusal(Sequential({Input({4}), host})),
            "export_onnx: layer \"slow\", op host_call: it is C++ code of this program, which no "
            "file can hold");
  Lambda batch([](const Value& x) { return x * double(x.shape()[0]); }, {.name = "odd"});
  EXPECT_EQ(refusal(Sequential({Input({4}), batch})),
            "export_onnx: layer \"odd\", op binary: what it does depends on the batch size or on "
            "another unknown dimension; export with a fixed .batch, or give Input its sizes");
  Lambda repeat(
      [](const Value& x) {
        return ops::broadcast_to(ops::mean(x, {.axes = {0}, .keepdims = true}),
                                 x.shape().with(0, 2 * x.shape()[0]));
      },
      {.name = "again"});
  EXPECT_EQ(refusal(Sequential({Input({4}), repeat})),
            "export_onnx: layer \"again\", op broadcast_to: it repeats a value as often as the "
            "batch is large; export with a fixed .batch");
}

TEST(OnnxFile, IsNotWrittenWithWrongOptions) {
  Sequential model({Input({4}), Dense(2)});
  EXPECT_EQ(refusal(model, {.opset = 16}), "export_onnx: opset is 17 to 21, got 16");
  EXPECT_EQ(refusal(model, {.batch = 0}),
            "export_onnx: batch must be at least 1 or kDynamicBatch, got 0");
  EXPECT_NE(refusal(Sequential({Dense(2)})).find("export_onnx needs the shape of its input"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker::test
