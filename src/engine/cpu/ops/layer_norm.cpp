#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

// x as a matrix [rows, n] whose rows are normalised.
struct Rows {
  int64_t rows, n, grain;
  Rows(const Shape& x, const Shape& gamma)
      : rows(gamma.elements() == 0 ? 0 : x.elements() / gamma.elements()),
        n(gamma.elements()),
        grain(kGrain / 2 / (n + 1) + 1) {}
};

// x: [.., n], gamma, beta: [n] → y, mean, rstd
void build_layer_norm(Builder& b, const Node& node) {
  int x = node.inputs[0];
  Rows shape(b.shape(x), b.shape(node.inputs[1]));
  auto epsilon = float(node.attrs.get<double>("epsilon"));
  int in = b.plain(x), gamma = b.plain(node.inputs[1]), beta = b.plain(node.inputs[2]);
  int y = b.define_over(node.outputs[0], {}, {in});
  b.emit(
      {own_kernel(), {in, gamma, beta}, {y, b.define(node.outputs[1]), b.define(node.outputs[2])}},
      [=](Pointers p) {
        parallel_for(shape.rows, shape.grain, [&](int64_t begin, int64_t end) {
          kernels().layer_norm(p.in<float>(0) + begin * shape.n, p.in<float>(1), p.in<float>(2),
                               p.out<float>(3) + begin * shape.n, p.out<float>(4) + begin,
                               p.out<float>(5) + begin, end - begin, shape.n, epsilon);
        });
      });
}

// dy, x, gamma, mean, rstd → dx, dgamma, dbeta
void build_layer_norm_grad(Builder& b, const Node& node) {
  Rows shape(b.shape(node.inputs[1]), b.shape(node.inputs[2]));
  std::vector<int> reads;
  for (int value : node.inputs) reads.push_back(b.plain(value));
  int dx = b.define_over(node.outputs[0], {}, {reads[0], reads[1]});
  int dgamma = b.define(node.outputs[1]), dbeta = b.define(node.outputs[2]);
  int workers = team_size();
  // A row of sums for each worker, added in their order.
  int sums = b.scratch(size_t(2 * workers * shape.n) * sizeof(float));
  b.emit({own_kernel(), reads, {dx, dgamma, dbeta, sums}}, [=](Pointers p) {
    const int64_t n = shape.n;
    float* partial = p.out<float>(8);
    for (int64_t i = 0; i < 2 * workers * n; ++i) partial[i] = 0;
    parallel_team(shape.rows * n, kGrain, [&](int worker, int team) {
      Part part = part_of(shape.rows, worker, team);
      float* mine = partial + 2 * worker * n;
      kernels().layer_norm_grad(p.in<float>(0) + part.begin * n, p.in<float>(1) + part.begin * n,
                                p.in<float>(2), p.in<float>(3) + part.begin,
                                p.in<float>(4) + part.begin, p.out<float>(5) + part.begin * n, mine,
                                mine + n, part.end - part.begin, n);
    });
    for (int64_t i = 0; i < n; ++i) {
      float gamma = 0, beta = 0;
      for (int worker = 0; worker < workers; ++worker) {
        gamma += partial[2 * worker * n + i];
        beta += partial[(2 * worker + 1) * n + i];
      }
      p.out<float>(6)[i] = gamma;
      p.out<float>(7)[i] = beta;
    }
  });
}

}  // namespace

void add_layer_norm_builders(OpBuilders& table) {
  table["layer_norm"] = {floats, build_layer_norm};
  table["layer_norm_grad"] = {floats, build_layer_norm_grad};
}

}  // namespace stoker::cpu
