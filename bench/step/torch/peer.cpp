#include "step/torch/peer.h"

#include <torch/torch.h>

namespace stoker::bench {

namespace {

namespace nn = torch::nn;

nn::Sequential make_cnn(int64_t first, int64_t second) {
  return nn::Sequential(nn::Conv2d(1, first, 3), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Conv2d(first, second, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                        nn::Linear(second * 25, 10));
}

nn::Sequential make_tower() {
  nn::Sequential model;
  for (int block = 0; block < 3; ++block) {
    model->push_back(nn::Conv2d(nn::Conv2dOptions(64, 64, 3).padding(1).bias(false)));
    model->push_back(nn::BatchNorm2d(64));
    model->push_back(nn::ReLU());
  }
  model->push_back(nn::AdaptiveAvgPool2d(1));
  model->push_back(nn::Flatten());
  model->push_back(nn::Linear(64, 10));
  return model;
}

torch::Tensor as_tensor(const PlainParameter& plain) {
  return torch::from_blob(const_cast<float*>(plain.data), plain.shape).clone();
}

// Stoker's layout to libtorch's: [kh, kw, C, F] → [F, C, kh, kw]; [in, units] → [units, in], where
// the rows behind the flattened image go from (h, w, c) to (c, h, w).
torch::Tensor to_torch(const PlainParameter& plain, const torch::Tensor& like) {
  torch::Tensor value = as_tensor(plain);
  if (value.dim() == 4) return value.permute({3, 2, 0, 1}).contiguous();
  if (value.dim() != 2) return value;
  int64_t side = 5, channels = value.size(0) / (side * side);
  if (value.size(0) == 64) return value.t().contiguous();
  return value.reshape({side, side, channels, value.size(1)})
      .permute({3, 2, 0, 1})
      .reshape(like.sizes())
      .contiguous();
}

class Step final : public TorchStep {
 public:
  Step(const PlainStep& plain, bool channels_last)
      : model_(plain.tower ? make_tower() : make_cnn(plain.first, plain.second)) {
    load(plain, channels_last);
    x_ = torch::from_blob(const_cast<float*>(plain.x), plain.x_shape).clone().permute({0, 3, 1, 2});
    x_ = x_.contiguous(channels_last ? at::MemoryFormat::ChannelsLast
                                     : at::MemoryFormat::Contiguous);
    y_ = torch::from_blob(const_cast<int64_t*>(plain.y), {plain.x_shape[0]}, torch::kLong).clone();
    optimizer_ = std::make_unique<torch::optim::Adam>(model_->parameters(), 1e-3);
  }

  float run() override {
    optimizer_->zero_grad();
    torch::Tensor loss = nn::functional::cross_entropy(model_->forward(x_), y_);
    loss.backward();
    optimizer_->step();
    return loss.item<float>();
  }

 private:
  void load(const PlainStep& plain, bool channels_last) {
    torch::NoGradGuard guard;
    std::vector<torch::Tensor> parameters = model_->parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].copy_(to_torch(plain.parameters[i], parameters[i]));
      if (channels_last && parameters[i].dim() == 4)
        parameters[i].set_data(parameters[i].contiguous(at::MemoryFormat::ChannelsLast));
    }
  }

  nn::Sequential model_;
  torch::Tensor x_, y_;
  std::unique_ptr<torch::optim::Adam> optimizer_;
};

}  // namespace

std::unique_ptr<TorchStep> make_torch_step(const PlainStep& plain, bool channels_last,
                                           int threads) {
  at::set_num_threads(threads);
  return std::make_unique<Step>(plain, channels_last);
}

std::string torch_version() { return TORCH_VERSION; }

}  // namespace stoker::bench
