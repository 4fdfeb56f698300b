// Two random maps one after the other, then batch and prefetch. Written so, every map passes each
// image through memory once. Stoker runs both on the worker that makes the row, and the second
// writes into the batch itself. What is drawn for an image depends on its number, not on threads:
// both forms train to the same weights.
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

int main() {
  auto [train_images, train_labels] = draw_float_pictures(480, 160);
  // Average colours are enough for the tints, so that the input is most of the work.
  auto train = [](const data::Dataset& dataset) {
    set_seed(1);
    Sequential model = compiled(Sequential(
        {Input({160, 160, 3}), GlobalAveragePooling2D(), Dense(10, {.activation = "softmax"})}));
    model.fit(dataset, {.epochs = 4, .verbose = 0});
    return model.get_weights();
  };
  // Idea: 6 lines in Keras.
  data::Dataset images = data::from_tensor_slices({train_images, train_labels});
  images = images.map(image::random_flip_left_right());
  images = images.map(image::random_brightness(0.2));
  images = images.batch(32).prefetch(AUTOTUNE);
  // Shown:
  data::Dataset plain = data::from_tensor_slices({train_images, train_labels})
                            .map(image::random_flip_left_right(), {.parallel = 1})
                            .map(image::random_brightness(0.2), {.parallel = 1})
                            .batch(32);
  data::Dataset slow = as_written(plain), fast = as_stoker_runs_it(images);
  compare({"map by map, nothing prefetched", [&] { train(slow); }},
          {"as Stoker runs it", [&] { train(fast); }});
  std::printf("%s\n", fast.explain().c_str());
  require(train(slow) == train(fast), "both give the same weights");
}
