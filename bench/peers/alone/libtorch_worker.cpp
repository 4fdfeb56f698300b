// The step workloads in libtorch's C++ frontend, as its tutorial writes them. Built by the driver
// against each libtorch of the machine, from 1.13 on; speaks the protocol of workers/protocol.py.
//   libtorch_worker step     live worker
//   libtorch_worker start    one training step, then a line
#include <torch/torch.h>

#include <sys/resource.h>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace nn = torch::nn;
using nlohmann::json;

int threads() {
  const char* text = std::getenv("STOKER_PEERS_THREADS");
  return text ? std::atoi(text) : 1;
}

torch::Device device() { return torch::cuda::is_available() ? torch::kCUDA : torch::kCPU; }

nn::Sequential cnn(int first, int second) {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, first, 3)), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Conv2d(nn::Conv2dOptions(first, second, 3)), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Flatten(), nn::Linear(second * 5 * 5, 10));
}

nn::Conv2d conv(int in, int out, int kernel, int stride) {
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct ResidualBlockImpl : nn::Module {
  ResidualBlockImpl(int channels, int filters, int stride)
      : conv1(conv(channels, filters, 3, stride)),
        conv2(conv(filters, filters, 3, 1)),
        norm1(filters),
        norm2(filters) {
    register_module("conv1", conv1);
    register_module("norm1", norm1);
    register_module("conv2", conv2);
    register_module("norm2", norm2);
    if (stride != 1) shortcut->push_back(conv(channels, filters, 1, stride));
    if (stride != 1) shortcut->push_back(nn::BatchNorm2d(filters));
    register_module("shortcut", shortcut);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto y = norm2(conv2(norm1(conv1(x)).relu_()));
    return (y + (shortcut->is_empty() ? x : shortcut->forward(x))).relu_();
  }
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d norm1, norm2;
  nn::Sequential shortcut;
};
TORCH_MODULE(ResidualBlock);

nn::Sequential residual() {
  return nn::Sequential(conv(3, 32, 3, 1), nn::BatchNorm2d(32), nn::ReLU(nn::ReLUOptions(true)),
                        ResidualBlock(32, 32, 1), ResidualBlock(32, 64, 2),
                        ResidualBlock(64, 128, 2), nn::AdaptiveAvgPool2d(1), nn::Flatten(),
                        nn::Linear(128, 10));
}

nn::Sequential mlp() {
  return nn::Sequential(nn::Linear(784, 512), nn::ReLU(), nn::Linear(512, 512), nn::ReLU(),
                        nn::Linear(512, 10));
}

nn::Sequential build(const std::string& name) {
  if (name == "cnn64") return cnn(64, 128);
  if (name == "cnn32") return cnn(32, 64);
  if (name == "residual") return residual();
  if (name == "mlp") return mlp();
  throw std::runtime_error("unknown model " + name);
}

std::vector<int64_t> shape_of(const std::string& name) {
  if (name == "mlp") return {784};
  if (name == "residual") return {3, 32, 32};
  return {1, 28, 28};
}

// A model in training with its batches; run(n) makes n steps.
class Training {
 public:
  Training(const std::string& name, int64_t batch, bool channels_last)
      : model_(build(name)), optimizer_(model_->parameters(), torch::optim::AdamOptions(1e-4)) {
    model_->to(device());
    model_->train();
    if (channels_last)
      for (auto& parameter : model_->parameters())
        if (parameter.dim() == 4)
          parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
    std::vector<int64_t> extents = shape_of(name);
    extents.insert(extents.begin(), batch);
    for (int64_t index = 0; index < std::max<int64_t>(2, 4096 / batch); ++index) {
      auto x = torch::rand(extents, device());
      if (channels_last) x = x.contiguous(torch::MemoryFormat::ChannelsLast);
      pairs_.emplace_back(
          x, torch::randint(0, 10, {batch}, torch::TensorOptions(torch::kLong).device(device())));
    }
  }

  double run(int n) {
    torch::Tensor loss;
    for (int step = 0; step < n; ++step) {
      const auto& [x, y] = pairs_[next_++ % pairs_.size()];
      optimizer_.zero_grad();
      loss = torch::nn::functional::cross_entropy(model_->forward(x), y);
      loss.backward();
      optimizer_.step();
    }
    return loss.item<double>();
  }

 private:
  nn::Sequential model_;
  torch::optim::Adam optimizer_;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> pairs_;
  size_t next_ = 0;
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

class Session {
 public:
  json answer(const json& request) {
    const std::string op = request.at("op");
    if (op == "load") return load(request.at("workload"));
    if (op == "keep") return keep(request.at("variant"));
    if (op == "run") return run(request.at("variant"), request.at("n"));
    throw std::runtime_error("unknown operation " + op);
  }

 private:
  json load(const json& workload) {
    built_.clear();
    workload_ = workload;
    int64_t parameters = 0;
    auto model = build(workload.at("model"));
    for (const auto& parameter : model->parameters()) parameters += parameter.numel();
    json variants = {"contiguous"};
    if (shape_of(workload.at("model")).size() == 3) variants.push_back("channels_last");
    return {{"variants", variants}, {"parameters", parameters}};
  }

  json keep(const std::string& variant) {
    for (auto entry = built_.begin(); entry != built_.end();)
      entry = entry->first == variant ? std::next(entry) : built_.erase(entry);
    return json::object();
  }

  json run(const std::string& variant, int n) {
    if (!built_.count(variant))
      built_.emplace(variant,
                     std::make_unique<Training>(workload_.at("model"), workload_.at("batch"),
                                                variant == "channels_last"));
    const double cpu = cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    const double loss = built_.at(variant)->run(n);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return {{"seconds", seconds.count()}, {"cpu", cpu_seconds() - cpu}, {"n", n}, {"loss", loss}};
  }

  json workload_;
  std::map<std::string, std::unique_ptr<Training>> built_;
};

void serve() {
  Session session;
  for (std::string line; std::getline(std::cin, line);) {
    json reply;
    try {
      reply = session.answer(json::parse(line));
    } catch (const std::exception& error) {
      reply = {{"error", std::string(error.what()).substr(0, 300)}};
    }
    std::cout << reply.dump() << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  torch::set_num_threads(threads());
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "step") {
    serve();
  } else if (command == "start") {
    auto model = cnn(32, 64);
    model->to(device());
    torch::optim::Adam optimizer(model->parameters());
    auto loss = torch::nn::functional::cross_entropy(
        model->forward(torch::zeros({32, 1, 28, 28}, device())),
        torch::zeros({32}, torch::TensorOptions(torch::kLong).device(device())));
    loss.backward();
    optimizer.step();
    std::cout << json{{"loss", loss.item<double>()}}.dump() << std::endl;
  } else {
    std::cerr << "libtorch_worker step | start\n";
    return 2;
  }
}
