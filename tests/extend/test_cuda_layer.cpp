// CudaLayer: own kernels on a GPU, own C++ elsewhere.
#include <gtest/gtest.h>

#include <cmath>

#include "extend/own_kernels.h"
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker::test {

namespace {

CudaForward kernel() {
  return [](const CudaArray& x, const CudaArray& y, CUstream_st* stream) {
    launch_sine(x.as<const float>(), y.as<float>(), x.elements(), stream);
  };
}

CudaBackward gradient_kernel() {
  return [](const CudaArray& x, const CudaArray&, const CudaArray& dy, const CudaArray& dx,
            CUstream_st* stream) {
    launch_sine_gradient(x.as<const float>(), dy.as<const float>(), dx.as<float>(), x.elements(),
                         stream);
  };
}

CudaLayerOptions on_host() {
  return {.host_forward =
              [](const Tensor& x, Tensor& y) {
                for (int64_t i = 0; i < x.elements(); ++i)
                  y.data_mut<float>()[i] = std::sin(x.data<float>()[i]);
              },
          .host_backward =
              [](const Tensor& x, const Tensor&, const Tensor& dy, Tensor& dx) {
                for (int64_t i = 0; i < x.elements(); ++i)
                  dx.data_mut<float>()[i] = dy.data<float>()[i] * std::cos(x.data<float>()[i]);
              },
          .name = "sine",
          .dtype = "float32"};
}

class OwnKernels : public DeviceTest {};
INSTANTIATE_ON_DEVICES(OwnKernels);

std::vector<double> losses(const Layer& sine, const std::string& policy = "float32") {
  set_seed(3);
  Context context{.seed = 3, .device = default_context().device, .policy = policy, .out = nullptr};
  Sequential model({Input({5}), Dense(17), sine, Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = Adam({.learning_rate = 0.02}),
                 .loss = "sparse_categorical_crossentropy",
                 .context = &context});
  Data data = blobs(96, 5, 3, 11);
  return model.fit(data.x, data.y, {.epochs = 5, .batch_size = 20, .verbose = 0})["loss"];
}

TEST_P(OwnKernels, TrainLikeTheOpTheyCompute) {
  Layer op = Lambda([](const Value& x) { return ops::sin(x); });
  std::vector<double> own = losses(CudaLayer(kernel(), gradient_kernel(), on_host()));
  std::vector<double> expected = losses(op);
  ASSERT_EQ(own.size(), expected.size());
  for (size_t epoch = 0; epoch < own.size(); ++epoch)
    EXPECT_NEAR(own[epoch], expected[epoch], 1e-3 * (1 + expected[epoch]));
  EXPECT_LT(own.back(), own.front());
}

TEST_P(OwnKernels, SeeFloat32UnderAMixedPolicyIfTheLayerSaysSo) {
  std::vector<double> own =
      losses(CudaLayer(kernel(), gradient_kernel(), on_host()), "mixed_float16");
  EXPECT_LT(own.back(), own.front());
}

TEST_P(OwnKernels, WithoutABackwardLeaveWhatIsBeforeThemUntrained) {
  Sequential model({Input({5}), Dense(4, {.name = "before"}), CudaLayer(kernel(), {}, on_host()),
                    Dense(1, {.name = "after"})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  Tensor before = model.get_layer("before").get_weights()[0];
  Tensor after = model.get_layer("after").get_weights()[0];
  model.train_on_batch(normal({6, 5}, 1), normal({6, 1}, 2));
  EXPECT_EQ(model.get_layer("before").get_weights()[0], before);
  EXPECT_NE(model.get_layer("after").get_weights()[0], after);
}

TEST(OwnKernelsWithoutHostCode, AreAnErrorOnTheCpuThatSaysWhatIsMissing) {
  OnDevice device("cpu");
  Sequential model({Input({5}), CudaLayer(kernel(), {}, {.name = "sine"})});
  std::string text = error_of<Error>([&] { model.predict(normal({2, 5}, 1)); });
  EXPECT_TRUE(says(text, {"sine", "GPU only", "host_forward"}));
}

TEST(OwnKernelsInAFile, AreRefusedByName) {
  OnDevice device("cpu");
  TempDir folder;
  std::string path = folder / "model.safetensors";
  Sequential({Input({5}), CudaLayer(kernel(), {}, on_host())}).save(path);
  std::string text = error_of<FileError>([&] { load_model(path); });
  EXPECT_TRUE(says(text, {"CudaLayer", "sine"}));
}

TEST(CudaArray, GivesItsElementsOnlyAsWhatTheyAre) {
  CudaArray array{nullptr, {DType::float16, {3, 4}}};
  EXPECT_EQ(array.elements(), 12);
  EXPECT_EQ(array.as<Float16>(), nullptr);
  std::string text = error_of<Error>([&] { array.as<float>(); });
  EXPECT_TRUE(says(text, {"float32", "float16[3, 4]"})) << text;
}

}  // namespace

}  // namespace stoker::test
