// A GPU's memory. By default Stoker allocates it as it is needed. And what a training step takes is
// known before the first one runs: no batch size has to be found by running out of memory.
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

int main() {
  // Idea: 10 lines in Keras.
  std::vector<DeviceDescription> gpus = list_devices();
  gpus.erase(gpus.begin());  // the CPU comes first
  if (!gpus.empty()) {
    try {
      set_memory_growth(true);  // the default
      std::printf("%zu GPUs\n", gpus.size());
    } catch (const Error& error) {  // a GPU is in use already
      std::puts(error.what());
    }
  }
  // Shown:

  set_seed(1);
  Sequential model =
      compiled(Sequential({Input({64, 64, 3}), Conv2D(32, 3, {.activation = "relu"}),
                           MaxPooling2D(), Conv2D(64, 3, {.activation = "relu"}),
                           GlobalAveragePooling2D(), Dense(10, {.activation = "softmax"})}));
  auto [images, labels] = draw_float_pictures(256, 64);
  double before = resident_bytes();
  std::printf("planned for a batch of 256: %.1f MB\n",
              1e-6 * double(model.memory_plan(256)->total));
  History history = model.fit(images, labels, {.epochs = 2, .batch_size = 256, .verbose = 0});
  if (on_gpu(model))
    std::printf(
        "held on the GPU: %.1f MB\n",
        1e-6 * double(doctor::last_diagnosis(model) ? doctor::last_diagnosis(model)->measured_memory
                                                    : 0));
  else
    std::printf(
        "the process grew by         %.1f MB\n"
        "No GPU here: memory growth is a GPU's setting; the plan is made on every device.\n",
        1e-6 * (resident_bytes() - before));
  for (int64_t batch : {8, 32, 128})
    std::printf("batch %5ld: %8.1f MB\n", long(batch),
                1e-6 * double(model.memory_plan(batch)->total));
  require(history["loss"].back() < history["loss"].front(), "the model trains");
}
