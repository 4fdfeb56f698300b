// Seed 001, block 3: a GPU's memory. Stoker takes what it needs when it needs it, unless told
// otherwise; a limit makes room for others. And what a training step takes is known before the
// first one runs, so that nobody has to find the batch size by running out of memory.
#include "side_by_side.h"

using namespace stoker;

int main() {
  std::vector<DeviceDescription> devices = list_devices();
  for (const DeviceDescription& device : devices)
    std::printf("%-8s %s, %.1f GB\n", device.name.c_str(), device.description.c_str(),
                1e-9 * double(device.memory));
  std::printf("%zu GPUs\n\n", devices.size() - 1);

  set_memory_growth(true);  // the default
  set_memory_limit(size_t(4) << 30);
  default_context().device = "auto";  // a GPU where there is one

  set_seed(1);
  Sequential model({Input({64, 64, 3}), Conv2D(32, 3, {.activation = "relu"}), MaxPooling2D(),
                    Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(), Flatten(),
                    Dense(10, {.activation = "softmax"})});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});

  size_t largest = 0;
  for (int64_t batch : {8, 32, 128, 512, 2048}) {
    MemoryUse use = *model.memory_plan(batch);
    bool fits = use.total <= size_t(4) << 30;
    std::printf("batch %5ld: %8.1f MB, of it activations %8.1f MB%s\n", long(batch),
                1e-6 * double(use.total), 1e-6 * double(use.activations),
                fits ? "" : "  (beyond the limit)");
    if (fits) largest = std::max(largest, use.total);
  }

  Tensor images = Tensor::zeros({64, 64, 64, 3}), labels = Tensor::zeros({64}, DType::int32);
  History history = model.fit(images, labels, {.epochs = 2, .batch_size = 32, .verbose = 0});
  require(largest > 0 && history["loss"].back() < history["loss"].front(),
          "a batch fits the limit, and the model trains");
}
