// A preprocessing function under map, batch, prefetch. In tf.data every piece that makes it fast has
// to be asked for: num_parallel_calls, prefetch, AUTOTUNE. In Stoker the bare chain runs like the
// full one: elements are made in parallel, in place and ahead of the model.
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

int main() {
  auto [pictures, y_train] = draw_pictures(256, 200);
  Tensor x_train = encoded(pictures);
  auto train = [](const data::Dataset& dataset) {
    Sequential model = small_classifier({28, 28, 3});
    model.fit(dataset, {.epochs = 2, .verbose = 0});
    return model.get_weights();
  };
  // Idea: 9 lines in Keras.
  image::Op preprocess =
      image::decode_jpeg() | image::resize(28, 28) | image::convert(DType::float32);
  data::Dataset dataset = data::from_tensor_slices({x_train, y_train});
  data::Dataset asked = dataset.map(preprocess, {.parallel = AUTOTUNE});
  asked = asked.batch(32).prefetch(AUTOTUNE);
  data::Dataset bare = dataset.map(preprocess).batch(32);  // the same in Stoker
  // Shown:
  data::Dataset slow = as_written(dataset.map(preprocess, {.parallel = 1}).batch(32));
  compare({"one after the other, nothing prefetched", [&] { train(slow); }},
          {"map | batch, as Stoker runs it", [&] { train(bare); }});
  compare({"map | batch, as Stoker runs it", [&] { train(bare); }},
          {"with parallel, prefetch and AUTOTUNE", [&] { train(asked); }}, 3, 0);
  std::printf("%s\n", bare.explain().c_str());
  std::vector<Tensor> weights = train(slow);
  require(weights == train(asked) && weights == train(bare), "all three give the same weights");
}
