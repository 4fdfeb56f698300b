#include "engine/cuda/conv_descriptors.h"

namespace stoker::cuda {

namespace {

cudnnDataType_t data_type(DType dtype) {
  return dtype == DType::float32   ? CUDNN_DATA_FLOAT
         : dtype == DType::float16 ? CUDNN_DATA_HALF
                                   : CUDNN_DATA_BFLOAT16;
}

// [n, c, h, w] with channels innermost.
Descriptor tensor(int64_t id, cudnnDataType_t type, int64_t n, int64_t c, int64_t h, int64_t w,
                  bool is_virtual = false) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, h, w});
  made.set(CUDNN_ATTR_TENSOR_STRIDES, {h * w * c, 1, w * c, c});
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t(16));
  if (is_virtual) made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  if (!made.finalize()) fail("a cuDNN tensor", "not supported");
  return made;
}

Descriptor convolution(const ConvShape& s) {
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t(2));
  made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {s.dilation_y, s.dilation_x});
  made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {s.stride_y, s.stride_x});
  made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {s.top, s.left});
  made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {s.bottom, s.right});
  if (!made.finalize()) fail("a cuDNN convolution", "not supported");
  return made;
}

struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};

OperationNames names_of(ConvKind kind) {
  switch (kind) {
    case ConvKind::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvKind::input_grad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvKind::weight_grad:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

// One elementwise operation of a fused graph: result = mode(x[, b]).
std::optional<Descriptor> pointwise(cudnnPointwiseMode_t mode, const Descriptor& x,
                                    const Descriptor* b, const Descriptor& y) {
  Descriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  if (!how.finalize()) return std::nullopt;
  Descriptor made(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (!made.finalize()) return std::nullopt;
  return made;
}

}  // namespace

std::optional<Operations> describe(const ConvKey& key, cudnnHandle_t handle) {
  const ConvShape& s = key.shape;
  cudnnDataType_t type = data_type(key.dtype);
  bool fused = key.bias || key.relu;
  Operations all;
  Descriptor x = tensor(kX, type, s.batch, s.channels, s.height, s.width);
  Descriptor w = tensor(kW, type, s.filters, s.channels / s.groups, s.kernel_y, s.kernel_x);
  Descriptor y =
      tensor(kY, key.wide ? CUDNN_DATA_FLOAT : type, s.batch, s.filters, s.out_height, s.out_width);
  Descriptor convolved =
      tensor(kConvolved, CUDNN_DATA_FLOAT, s.batch, s.filters, s.out_height, s.out_width, true);
  Descriptor how = convolution(s);
  OperationNames names = names_of(key.kind);
  Descriptor operation(names.type);
  operation.set(names.x, x);
  operation.set(names.w, w);
  operation.set(names.y, fused ? convolved : y);
  operation.set(names.convolution, how);
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  if (!operation.finalize()) return std::nullopt;
  std::vector<cudnnBackendDescriptor_t> steps = {operation.get()};
  if (key.bias) {
    Descriptor bias = tensor(kBias, type, 1, s.filters, 1, 1);
    Descriptor biased =
        tensor(kBiased, CUDNN_DATA_FLOAT, s.batch, s.filters, s.out_height, s.out_width, true);
    auto add = pointwise(CUDNN_POINTWISE_ADD, convolved, &bias, key.relu ? biased : y);
    if (!add) return std::nullopt;
    steps.push_back(add->get());
    all.parts.push_back(std::move(*add));
    all.parts.push_back(std::move(bias));
    if (key.relu) std::swap(convolved, biased);
    all.parts.push_back(std::move(biased));
  }
  if (key.relu) {
    auto relu = pointwise(CUDNN_POINTWISE_RELU_FWD, convolved, nullptr, y);
    if (!relu) return std::nullopt;
    steps.push_back(relu->get());
    all.parts.push_back(std::move(*relu));
  }
  all.graph = Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  all.graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  all.graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(steps.size()),
                steps.data());
  if (!all.graph.finalize()) return std::nullopt;
  for (Descriptor* part : {&x, &w, &y, &convolved, &how, &operation})
    all.parts.push_back(std::move(*part));
  return all;
}

std::vector<Descriptor> proposed_configs(const Operations& operations,
                                         cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operations.graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (!heuristic.finalize()) return {};
  auto results = [&](int64_t most, int64_t& count, cudnnBackendDescriptor_t* into) {
    return cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count, into);
  };
  int64_t count = 0;
  results(0, count, nullptr);
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configs.back().get());
  }
  if (count == 0 || results(count, count, raw.data()) != CUDNN_STATUS_SUCCESS) return {};
  configs.resize(size_t(count));
  return configs;
}

}  // namespace stoker::cuda
