// One training on several devices. Started by itself it uses two logical devices of the CPU; started
// by mpirun or srun, the processes are the devices:
//
//   example_several_devices
//   mpirun -n 4 example_several_devices
#include <cmath>
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kRows = 2048, kFeatures = 16, kClasses = 4;

struct Rows {
  Tensor x, y;
};

// Points, and which of four quarters of a plane through their features they lie in.
Rows make_rows() {
  Rng rng(1);
  Tensor x(DType::float32, {kRows, kFeatures}), y(DType::int32, {kRows});
  for (int64_t i = 0; i < x.elements(); ++i) x.data_mut<float>()[i] = rng.normal();
  for (int64_t row = 0; row < kRows; ++row) {
    const float* features = x.data<float>() + row * kFeatures;
    y.data_mut<int32_t>()[row] = (features[0] > 0 ? 1 : 0) + (features[1] > features[2] ? 2 : 0);
  }
  return {x, y};
}

// The same training wherever it runs.
Logs train(const Rows& rows) {
  set_seed(7);
  // Idea: 7 lines in Keras.
  Sequential model({Input({kFeatures}), Dense(64, {.activation = "relu"}),
                    Dense(kClasses, {.activation = "softmax"})});
  model.compile({.optimizer = Adam({.learning_rate = 5e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  model.fit(rows.x, rows.y, {.epochs = 5, .batch_size = 128, .verbose = 0});
  // Shown:
  return model.evaluate(rows.x, rows.y, {.verbose = 0});
}

Logs train_on(const Strategy& strategy, const Rows& rows) {
  auto scope = strategy.scope();
  return train(rows);
}

}  // namespace

int main() {
  Rows rows = make_rows();
  Logs alone = train(rows);
  MultiWorkerMirroredStrategy processes;  // one, unless a launcher started several
  MirroredStrategy devices({.devices = {"cpu:0", "cpu:1"}});
  bool launched = processes.num_workers() > 1;
  Logs together = launched ? train_on(processes, rows) : train_on(devices, rows);
  int64_t replicas = launched ? processes.num_workers() : devices.num_replicas_in_sync();
  if (processes.worker() == 0)
    std::printf("one device:  loss %.4f, accuracy %.3f\n%d replicas:  loss %.4f, accuracy %.3f\n",
                alone["loss"], alone["accuracy"], int(replicas), together["loss"],
                together["accuracy"]);
  // The batches are the same; what differs is the order in which sums are added.
  return std::abs(alone["loss"] - together["loss"]) < 1e-2 ? 0 : 1;
}
