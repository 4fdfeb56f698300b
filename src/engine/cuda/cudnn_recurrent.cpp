#include "engine/cuda/cudnn_recurrent.h"

#include <array>
#include <vector>

namespace stoker::cuda {

namespace {

cudnnDataType_t rnn_dtype(DType dtype) {
  return dtype == DType::float16    ? CUDNN_DATA_HALF
         : dtype == DType::bfloat16 ? CUDNN_DATA_BFLOAT16
                                    : CUDNN_DATA_FLOAT;
}

cudnnRNNMode_t rnn_mode(Cell cell) {
  switch (cell) {
    case Cell::lstm:
      return CUDNN_LSTM;
    case Cell::gru:
      return CUDNN_GRU;
    case Cell::rnn_tanh:
      return CUDNN_RNN_TANH;
    case Cell::rnn_relu:
      return CUDNN_RNN_RELU;
  }
  return CUDNN_LSTM;
}

// cuDNN's gate for a gate of the graph: its gru begins with the reset gate.
int32_t rnn_gate(Cell cell, int gate) {
  constexpr std::array<int32_t, 3> kGru = {1, 0, 2};
  return cell == Cell::gru ? kGru[size_t(gate)] : gate;
}

}  // namespace

CudnnRecurrent::CudnnRecurrent(const RecurrentShape& shape, DType dtype, bool training)
    : shape_(shape), dtype_(dtype), training_(training) {
  check(cudnnCreateRNNDescriptor(&layer_), "a recurrent layer");
  check(cudnnCreateDropoutDescriptor(&dropout_), "a recurrent layer");
  check(cudnnCreateRNNDataDescriptor(&x_), "a recurrent layer");
  check(cudnnCreateRNNDataDescriptor(&y_), "a recurrent layer");
  check(cudnnCreateTensorDescriptor(&state_), "a recurrent layer");
}

CudnnRecurrent::~CudnnRecurrent() {
  if (state_ != nullptr) cudnnDestroyTensorDescriptor(state_);
  if (y_ != nullptr) cudnnDestroyRNNDataDescriptor(y_);
  if (x_ != nullptr) cudnnDestroyRNNDataDescriptor(x_);
  if (dropout_ != nullptr) cudnnDestroyDropoutDescriptor(dropout_);
  if (layer_ != nullptr) cudnnDestroyRNNDescriptor(layer_);
}

// cuDNN 9.14's persistent kernels are slower where it has them (float16, two LSTMs of 512 units on 64
// sequences of 200 steps: 6.9 against 4.2 ms on an H200), and its bfloat16 is the standard way anyway.
bool CudnnRecurrent::set_up(bool tf32, const Device& device) {
  auto works = [](cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS; };
  cudnnDataType_t dtype = rnn_dtype(dtype_);
  cudnnMathType_t math = dtype_ != DType::float32 ? CUDNN_TENSOR_OP_MATH
                         : tf32                   ? CUDNN_DEFAULT_MATH
                                                  : CUDNN_FMA_MATH;
  cudnnForwardMode_t mode = training_ ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  std::vector<int> lengths(size_t(shape_.batch), int(shape_.length));
  float padding = 0;
  int dims[3] = {1, int(shape_.batch), int(shape_.units)};
  int strides[3] = {dims[1] * dims[2], dims[2], 1};
  return works(cudnnSetDropoutDescriptor(dropout_, device.cudnn(), 0, nullptr, 0, 0)) &&
         works(cudnnSetRNNDescriptor_v8(layer_, CUDNN_RNN_ALGO_STANDARD, rnn_mode(shape_.cell),
                                        CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL,
                                        CUDNN_LINEAR_INPUT, dtype, CUDNN_DATA_FLOAT, math,
                                        int(shape_.features), int(shape_.units), int(shape_.units),
                                        1, dropout_, CUDNN_RNN_PADDED_IO_DISABLED)) &&
         works(cudnnSetRNNDataDescriptor(x_, dtype, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                         int(shape_.length), int(shape_.batch),
                                         int(shape_.features), lengths.data(), &padding)) &&
         works(cudnnSetRNNDataDescriptor(y_, dtype, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                         int(shape_.length), int(shape_.batch), int(shape_.units),
                                         lengths.data(), &padding)) &&
         works(cudnnSetTensorNdDescriptor(state_, dtype, 3, dims, strides)) &&
         works(cudnnGetRNNWeightSpaceSize(device.cudnn(), layer_, &sizes_.weights)) &&
         works(cudnnGetRNNTempSpaceSizes(device.cudnn(), layer_, mode, x_, &sizes_.work,
                                         &sizes_.reserve));
}

std::shared_ptr<const CudnnRecurrent> CudnnRecurrent::make(const RecurrentShape& shape, DType dtype,
                                                           bool training, bool tf32,
                                                           const Device& device) {
  auto made = std::make_shared<CudnnRecurrent>(shape, dtype, training);
  return made->set_up(tf32, device) ? made : nullptr;
}

void CudnnRecurrent::find_weights(const Device& device, void* space,
                                  RecurrentWeights& weights) const {
  cudnnTensorDescriptor_t matrix = nullptr, vector = nullptr;
  check(cudnnCreateTensorDescriptor(&matrix), "the weights of a recurrent layer");
  check(cudnnCreateTensorDescriptor(&vector), "the weights of a recurrent layer");
  int gates = int(shape_.gates());
  for (int i = 0; i < 2 * gates; ++i)
    check(cudnnGetRNNWeightParams(device.cudnn(), layer_, 0, sizes_.weights, space,
                                  int32_t(i / gates * gates) + rnn_gate(shape_.cell, i % gates),
                                  matrix, &weights.matrices[i], vector, &weights.vectors[i]),
          "the weights of a recurrent layer");
  cudnnDestroyTensorDescriptor(matrix);
  cudnnDestroyTensorDescriptor(vector);
  weights.dtype = dtype_;
  weights.gates = gates;
  weights.features = int(shape_.features);
  weights.units = int(shape_.units);
  weights.biases = shape_.cell == Cell::gru ? 2 : 1;
}

void CudnnRecurrent::forward(const Device& device, const Forward& at) const {
  check(cudnnRNNForward(
            device.cudnn(), layer_, training_ ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE,
            nullptr, x_, at.x, y_, at.y, state_, at.h, at.last_h, state_, at.c, at.last_c,
            sizes_.weights, at.weights, sizes_.work, at.work, sizes_.reserve, at.reserve),
        "cudnnRNNForward");
}

void CudnnRecurrent::backward(const Device& device, const Backward& at, cudaStream_t stream) const {
  check(cudnnRNNBackwardData_v8(device.cudnn(), layer_, nullptr, y_, at.y, at.dy, x_, at.dx, state_,
                                at.h, at.dlast_h, at.dh, state_, at.c, at.dlast_c, at.dc,
                                sizes_.weights, at.weights, sizes_.work, at.work, sizes_.reserve,
                                at.reserve),
        "cudnnRNNBackwardData");
  check(cudaMemsetAsync(at.dweights, 0, sizes_.weights, stream), "zeroing gradients");
  check(cudnnRNNBackwardWeights_v8(device.cudnn(), layer_, CUDNN_WGRAD_MODE_ADD, nullptr, x_, at.x,
                                   state_, at.h, y_, at.y, sizes_.weights, at.dweights, sizes_.work,
                                   at.work, sizes_.reserve, at.reserve),
        "cudnnRNNBackwardWeights");
}

}  // namespace stoker::cuda
