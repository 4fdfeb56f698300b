// Keras's "Point cloud classification with PointNet": spheres, boxes and rods of points.
#include <cmath>
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kPoints = 64, kClasses = 3;

// Points on a sphere, in a flat box or along a rod, turned about the upright axis.
void draw_cloud(int32_t kind, Rng& rng, float* point) {
  float angle = rng.uniform(0, 6.2832F), cosine = std::cos(angle), sine = std::sin(angle);
  for (int64_t i = 0; i < kPoints; ++i, point += 3) {
    float x = rng.normal(), y = rng.normal(), z = rng.normal();
    float length = kind == 0 ? std::sqrt(x * x + y * y + z * z) + 1e-3F : 1;
    x /= length, y /= length, z /= length;
    if (kind == 1) z *= 0.1F;
    if (kind == 2) y *= 0.1F, z *= 0.1F;
    point[0] = cosine * x - sine * z, point[1] = y, point[2] = sine * x + cosine * z;
  }
}

// Idea: 62 lines in Keras.
Value conv_bn(const Value& x, int64_t filters) {
  return Activation("relu")(BatchNormalization({.momentum = 0.9})(Conv1D(filters, 1)(x)));
}

Value dense_bn(const Value& x, int64_t filters) {
  return Activation("relu")(BatchNormalization({.momentum = 0.9})(Dense(filters)(x)));
}

// How far the features' transform is from an orthogonal one.
auto orthogonal(int64_t features, double factor = 0.001) {
  return [=](const Value& flat) -> Value {
    Value x = ops::reshape(flat, {-1, features, features});
    Value product = ops::matmul(x, x, {.transpose_b = true});
    return factor * ops::sum(ops::square(product - ops::eye(features)));
  };
}

Value tnet(const Value& inputs, int64_t features) {
  Value x = conv_bn(conv_bn(inputs, 16), 32);
  x = dense_bn(GlobalMaxPooling1D()(x), 16);
  Tensor identity = compute([&] { return ops::ravel(ops::eye(features)); });
  x = Dense(features * features, {.kernel_initializer = "zeros",
                                  .bias_initializer = Constant(identity),
                                  .activity_regularizer = orthogonal(features)})(x);
  return Dot({2, 1})({inputs, Reshape({features, features})(x)});
}

Model make_pointnet() {
  Value inputs = Input({kPoints, 3});
  Value x = conv_bn(tnet(inputs, 3), 16);
  x = conv_bn(conv_bn(tnet(x, 16), 16), 32);
  x = Dropout(0.3)(dense_bn(GlobalMaxPooling1D()(x), 16));
  return {inputs, Dense(kClasses, {.activation = "softmax"})(x), {.name = "pointnet"}};
}

data::Dataset augmented(const Tensor& points, const Tensor& labels) {
  return data::from_slices({points, labels})
      .shuffle()
      .map([](const Tensor& cloud, int32_t label, Rng& rng) {
        Tensor jittered = cloud.clone();
        for (float& value : std::span(jittered.data_mut<float>(), size_t(kPoints * 3)))
          value += rng.uniform(-0.005F, 0.005F);
        return std::pair(jittered, label);
      })
      .batch(32);
}
// Shown:

}  // namespace

int main() {
  set_seed(1);
  constexpr int64_t kClouds = 480, kTrain = 384;
  Tensor points(DType::float32, {kClouds, kPoints, 3}), labels(DType::int32, {kClouds});
  for (int64_t i = 0; i < kClouds; ++i) {
    Rng rng(1, uint64_t(i));
    auto kind = int32_t(i % kClasses);
    labels.data_mut<int32_t>()[i] = kind;
    draw_cloud(kind, rng, points.data_mut<float>() + i * kPoints * 3);
  }
  Model model = make_pointnet();
  model.compile({.optimizer = Adam({.learning_rate = 3e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"sparse_categorical_accuracy"}});
  History history = model.fit(
      augmented(points.slice(0, kTrain), labels.slice(0, kTrain)),
      {.epochs = 10,
       .validation_data = {points.slice(kTrain, kClouds), labels.slice(kTrain, kClouds)}});
  return history["val_sparse_categorical_accuracy"].back() > 0.8 ? 0 : 1;
}
