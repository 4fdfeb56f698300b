// The smallest training step there is, for tests of what a Program promises.
#pragma once

#include <stoker/ops.h>

#include "graph/graph.h"

namespace stoker::test {

inline const TensorSpec kVector{DType::float32, {3}};

inline Tensor vector(float a, float b, float c) { return Tensor::from<float>({a, b, c}, {3}); }

inline Attrs plain_sgd() {
  return {{"momentum", 0.0},
          {"nesterov", false},
          {"weight_decay", 0.0},
          {"clipvalue", 0.0},
          {"scaled", false}};
}

// loss = sum(x * w); w <- w - 0.5 * x; steps <- steps + 1. The loss is the guard.
struct GuardedStep {
  Graph graph;
  Variable w{"w", vector(1, 2, 3)};
  Variable steps{"steps", Tensor::zeros({}, DType::int64)};

  GuardedStep() {
    Value x = graph.input("x", kVector);
    Value loss = ops::sum(x * Value(w));
    graph.output(loss, "loss");
    graph.guard(loss);
    graph.assign(steps, Value(steps) + graph.constant(Tensor::full({}, 1, DType::int64)));
    Values gradient = gradients(loss, std::vector{w});
    Graph::Scope update(graph, Phase::update);
    Value lr = graph.constant(Tensor(0.5F));
    graph.assign(w, apply1("sgd_update", {lr, graph.variable(w), gradient[0]}, plain_sgd()));
  }
};

}  // namespace stoker::test
