// Random image networks, for what no single op shows: fusion, layouts kept between ops, memory that
// is used again. The same seed gives the same network, weights and input.
#pragma once

#include <string>
#include <vector>

#include "engine/backend.h"
#include "support/draw.h"

namespace stoker::test {

struct RandomNetwork {
  Graph graph;  // outputs: the loss, then its gradient by each parameter
  std::vector<Variable> parameters;
  std::vector<Tensor> inputs;
  std::string story;  // "conv 3x3 s1 | bias | relu | …", for messages

  explicit RandomNetwork(uint64_t seed);

 private:
  using Step = void (RandomNetwork::*)();
  void stem();
  void padding();
  void convolution();
  void bias();
  void activation();
  void pooling();
  void normalization();
  void shortcut();
  void head();

  int64_t pick(std::initializer_list<int64_t> choices);
  Variable parameter(const Shape& shape, double low, double high);
  void then(const std::string& what, const Value& value);

  Rng rng_;
  Value x_;
  Values earlier_;  // values that a shortcut may add
};

}  // namespace stoker::test
