// Ops behind Input(), where the batch is not known yet, and in layers of models that train.
#include <gtest/gtest.h>
#include <stoker/context.h>
#include <stoker/layers.h>
#include <stoker/model.h>
#include <stoker/ops.h>

namespace stoker::test {

namespace {

using Body = std::function<Value(const Value&)>;

Shape predicted(const Shape& input, const Body& body) {
  Value in = Input(input);
  Model model(in, body(in));
  return model.predict(Tensor::full(input.prepend(3), 0.5)).shape();
}

TEST(OpsInModels, StandBehindAnInput) {
  const std::vector<std::pair<Body, Shape>> cases = {
      {[](const Value& x) { return ops::flip(x, {1}); }, {3, 6, 4}},
      {[](const Value& x) { return ops::top_k(x, 2).values; }, {3, 6, 2}},
      {[](const Value& x) { return ops::sort(x, 1); }, {3, 6, 4}},
      {[](const Value& x) { return ops::cumsum(x, 1); }, {3, 6, 4}},
      {[](const Value& x) { return ops::std(x, {.axes = {1}}); }, {3, 4}},
      {[](const Value& x) {
         return ops::stack({x, ops::zeros_like(x)}, 1);
       },
       {3, 2, 6, 4}},
      {[](const Value& x) {
         return ops::tile(x, {1, 2, 1});
       },
       {3, 12, 4}},
      {[](const Value& x) {
         return ops::take(x, Tensor::from<int32_t>({0, -1}, {2}), 1);
       },
       {3, 2, 4}},
      {[](const Value& x) { return ops::take_along_axis(x, ops::argsort(x, 1), 1); }, {3, 6, 4}},
      {[](const Value& x) {
         return ops::einsum("bij,bkj->bik", {x, x});
       },
       {3, 6, 6}},
      {[](const Value& x) {
         return ops::rearrange(x, "b (h s) c -> b h (s c)", {{"s", 2}});
       },
       {3, 3, 8}},
      {[](const Value& x) {
         return ops::conv1d(x, ops::ones({3, 4, 2}), {.padding = "same"});
       },
       {3, 6, 2}},
      {[](const Value& x) {
         return ops::get_item(x, {{}, {.step = 2}});
       },
       {3, 3, 4}},
  };
  for (size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(predicted({6, 4}, cases[i].first), cases[i].second) << "case " << i;
  EXPECT_EQ(predicted({6, 4, 3},
                      [](const Value& x) {
                        return ops::image::resize(x, {3, 8});
                      }),
            Shape({3, 3, 8, 3}));
}

TEST(OpsInModels, DrawTheSameNumbersInTheSameTraining) {
  auto trained = [] {
    default_context().seed.set(7);
    Value in = Input({6});
    Value hidden = Lambda([](const Value& v) {
      return ops::sort(v) + ops::random::normal(v.shape(), {.stddev = 0.1});
    })(Dense(8)(in));
    Model model(in, Dense(1)(hidden));
    model.compile({.optimizer = "adam", .loss = "mse"});
    model.fit(Tensor::full({32, 6}, 0.5), Tensor::zeros({32, 1}), {.epochs = 2, .verbose = 0});
    return model.weights()[0].read();
  };
  EXPECT_EQ(trained(), trained());
}

}  // namespace

}  // namespace stoker::test
