// A custom layer that computes on the host in plain C++, and the same layer made of ops. A
// HostLayer's input leaves the device and its output comes back in every step, forward and
// backward, and a captured step is cut in two. The op runs where the data is.
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

// Idea: 30 lines in Keras.
Layer slow_layer() {
  return HostLayer(
      [](const Tensor& x, Tensor& y) {
        for (int64_t i = 0; i < x.elements(); ++i)
          y.data_mut<float>()[i] = std::sin(x.data<float>()[i]);
      },
      [](const Tensor& x, const Tensor&, const Tensor& dy, Tensor& dx) {
        for (int64_t i = 0; i < x.elements(); ++i)
          dx.data_mut<float>()[i] = dy.data<float>()[i] * std::cos(x.data<float>()[i]);
      },
      {.name = "slow_layer"});
}

Layer op_layer() {
  return Lambda([](const Value& x) { return ops::sin(x); }, {.name = "op_layer"});
}

Sequential create_model(const Layer& custom) {
  set_seed(1);
  return compiled(Sequential({Input({64, 64, 3}), Conv2D(32, 3, {.activation = "relu"}), custom,
                              Flatten(), Dense(10, {.activation = "softmax"})}));
}
// Shown:

}  // namespace

int main() {
  auto [images, labels] = draw_float_pictures(128, 64);
  Sequential host = create_model(slow_layer()), op = create_model(op_layer());
  double host_loss = 0, op_loss = 0;
  std::printf("4 steps of 32 images, on %s\n", on_gpu(op) ? "a GPU" : "the CPU");
  compare({"std::sin on the host: HostLayer",
           [&] { host_loss = host.fit(images, labels, {.verbose = 0})["loss"].back(); }},
          {"ops::sin", [&] { op_loss = op.fit(images, labels, {.verbose = 0})["loss"].back(); }});
  if (!on_gpu(op))
    std::printf(
        "On a CPU the host layer only lacks threads and vectors; on a GPU it also copies "
        "its values to the host and back.\n");
  require(std::abs(host_loss - op_loss) < 1e-2 * host_loss, "both learn the same");
}
