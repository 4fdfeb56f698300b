// The program whose build is timed: a small model and one step of training. hello_stoker.cpp is its
// counterpart.
#include <torch/torch.h>

#include <iostream>

int main() {
  torch::nn::Sequential model(torch::nn::Linear(4, 8), torch::nn::ReLU(), torch::nn::Linear(8, 1));
  torch::optim::SGD optimizer(model->parameters(), 0.01);
  auto loss = torch::mse_loss(model->forward(torch::ones({2, 4})), torch::zeros({2, 1}));
  loss.backward();
  optimizer.step();
  std::cout << loss.item<float>() << '\n';
}
