// Networks of a few layers, for small pictures.
#include "jobs/applications/common.h"

namespace stoker::applications {

namespace {

Model convolutional(int64_t first, int64_t second, const Options& options, const char* name) {
  expect_picture(options, 10, name);
  Beginning beginning = begin(options);
  Value x = beginning.x;
  for (int64_t filters : {first, second})
    x = MaxPooling2D(2)(Conv2D(filters, 3, {.activation = "relu"})(x));
  return end(beginning, Flatten()(x), options, name);
}

}  // namespace

Model mlp(const Options& options) {
  Beginning beginning = begin(options);
  Value x = options.input_shape.rank() > 1 ? Flatten()(beginning.x) : beginning.x;
  for (int layer = 0; layer < 2; ++layer) x = Dense(512, {.activation = "relu"})(x);
  return end(beginning, x, options, "mlp");
}

Model lenet(const Options& options) {
  expect_picture(options, 16, "lenet");
  Beginning beginning = begin(options);
  Value x = MaxPooling2D(2)(Conv2D(6, 5, {.padding = "same", .activation = "relu"})(beginning.x));
  x = Flatten()(MaxPooling2D(2)(Conv2D(16, 5, {.activation = "relu"})(x)));
  for (int64_t units : {120, 84}) x = Dense(units, {.activation = "relu"})(x);
  return end(beginning, x, options, "lenet");
}

Model cnn(const Options& options) { return convolutional(64, 128, options, "cnn"); }
Model cnn_small(const Options& options) { return convolutional(32, 64, options, "cnn-small"); }

}  // namespace stoker::applications
