// Random graphs of what the fuser takes: elementwise ops, index maps and reductions, forwards and
// backwards. The same seed gives the same graph and inputs.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/draw.h"

namespace stoker::test {

struct RandomMoves {
  struct Options {
    DType dtype = DType::float32;
    int64_t scale = 1;  // of the extents: 1 gives a few hundred elements
    bool gradients = true;
  };

  Graph graph;  // outputs: some values, the loss, and its gradient by each input
  std::vector<Tensor> inputs;
  std::string story;

  explicit RandomMoves(uint64_t seed) : RandomMoves(seed, Options()) {}
  RandomMoves(uint64_t seed, const Options& options);

 private:
  using Step = void (RandomMoves::*)();
  int64_t pick(std::initializer_list<int64_t> choices);
  Value input(const Shape& shape);
  const Value& some();
  void then(const std::string& what, const Value& value);

  void unary();
  void binary();
  void broadcast();
  void select();
  void slice();
  void pad();
  void concat();
  void transpose();
  void reshape();
  void upsample();
  void reduce();
  void cast();

  Options options_;
  Rng rng_;
  Values values_, leaves_;
};

}  // namespace stoker::test
