// Gradients by hand, numbers as bits, eigenvalues of matrices without symmetry.
#include <stoker/custom_gradient.h>

#include <cmath>
#include <limits>

#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

std::vector<Tensor> results_of(const std::vector<Tensor>& inputs, TracedFunction::Body body) {
  std::vector<Tensor> results;
  for (const LazyTensor& each : TracedFunction(std::move(body), {}).call(inputs))
    results.push_back(each.tensor());
  return results;
}

class CustomGradient : public DeviceTest {};
INSTANTIATE_ON_DEVICES(CustomGradient);

TEST_P(CustomGradient, StandsInPlaceOfTheOpsOwn) {
  auto f = ops::custom_gradient([](const Value& x) {
    return ops::OutputAndGradient{ops::round(x),
                                  [](const Value& upstream) { return upstream * 3.0; }};
  });
  auto made = results_of({Tensor::from<float>({0.4F, 1.6F}, {2})}, [&](const Values& in) -> Values {
    Value y = f(in[0]);
    return {y, gradients(ops::sum(y * y), {in[0]})[0]};
  });
  EXPECT_EQ(made[0], Tensor::from<float>({0, 2}, {2}));
  EXPECT_EQ(made[1], Tensor::from<float>({0, 12}, {2}));
}

TEST_P(CustomGradient, OfSeveralInputsMayLeaveSomeOut) {
  auto f = ops::custom_gradient([](const Values& in) {
    return ops::OutputAndGradients{in[0] * in[1], [](const Value& upstream) {
                                     return Values{upstream, Value()};
                                   }};
  });
  Tensor a = Tensor::from<float>({2, 3}, {2}), b = Tensor::from<float>({5, 7}, {2});
  auto made = results_of({a, b}, [&](const Values& in) -> Values {
    return gradients(ops::sum(f(Values{in[0], in[1]})), {in[0], in[1]},
                     {.unconnected = Unconnected::zeros});
  });
  EXPECT_EQ(made[0], Tensor::from<float>({1, 1}, {2}));
  EXPECT_EQ(made[1], Tensor::from<float>({0, 0}, {2}));
}

TEST_P(CustomGradient, HasAGradientOfItsOwn) {
  auto cube = ops::custom_gradient([](const Value& x) {
    return ops::OutputAndGradient{x * x * x,
                                  [x](const Value& upstream) { return upstream * 3.0 * x * x; }};
  });
  auto made = results_of({Tensor::from<float>({2}, {1})}, [&](const Values& in) -> Values {
    Value first = gradients(ops::sum(cube(in[0])), {in[0]})[0];
    return {first, gradients(ops::sum(first), {in[0]})[0]};
  });
  EXPECT_EQ(made[0].item(), 12);
  EXPECT_EQ(made[1].item(), 12);
}

TEST_P(CustomGradient, TrainsALayer) {
  // A gradient of 0 in place of the true one: nothing learns.
  Sequential model({Input({2}), Dense(1), Lambda([](const Value& x) {
                      return ops::custom_gradient([](const Value& in) {
                        return ops::OutputAndGradient{
                            in * 1.0, [](const Value& upstream) { return upstream * 0.0; }};
                      })(x);
                    })});
  model.compile({.optimizer = SGD(), .loss = "mse"});
  std::vector<Tensor> before = model.get_weights();
  Data data = line(16, 1);
  model.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  EXPECT_EQ(model.get_weights(), before);
}

TEST(CustomGradientErrors, SayWhatIsWrong) {
  OnDevice device;
  auto wrong = ops::custom_gradient([](const Value& x) {
    return ops::OutputAndGradient{x, [](const Value&) -> Value { return Tensor::zeros({3}); }};
  });
  auto run = [&](TracedFunction::Body body) { results_of({Tensor::zeros({2})}, std::move(body)); };
  EXPECT_TRUE(
      says(error_of<Error>([&] {
             run([&](const Values& in) { return gradients(ops::sum(wrong(in[0])), {in[0]}); });
           }),
           {"float32[3]", "float32[2]"}));
  EXPECT_TRUE(says(error_of<Error>([&] { wrong(Value(Tensor::zeros({2}))); }), {"Lambda"}));
  EXPECT_THROW(ops::custom_gradient(std::function<ops::OutputAndGradient(const Value&)>()),
               ValueError);
}

class Bits : public DeviceTest {};
INSTANTIATE_ON_DEVICES(Bits);

TEST_P(Bits, NextAfterIsTheStandardLibrarys) {
  constexpr float kInf = std::numeric_limits<float>::infinity(),
                  kTiny = std::numeric_limits<float>::denorm_min(),
                  kMost = std::numeric_limits<float>::max();
  std::vector<float> from = {1,      1,     -1,   -1, 0, 0,     -0.0F, kTiny,
                             -kTiny, kMost, kInf, 2,  3, -kInf, 1e-30F};
  std::vector<float> to = {2, 0, -2, 0, 1, -1, 1, 0, 0, kInf, 0, 2, -kInf, 0, 0};
  auto count = int64_t(from.size());
  Tensor made =
      results_of({Tensor::from(from, {count}), Tensor::from(to, {count})},
                 [](const Values& in) -> Values { return {ops::nextafter(in[0], in[1])}; })[0];
  for (size_t i = 0; i < from.size(); ++i)
    EXPECT_EQ(std::bit_cast<uint32_t>(made.data<float>()[i]),
              std::bit_cast<uint32_t>(std::nextafter(from[i], to[i])))
        << from[i] << " to " << to[i];
}

TEST_P(Bits, ViewReadsTheSameBytes) {
  auto made = results_of({Tensor::from<float>({1, -2}, {1, 2})}, [](const Values& in) -> Values {
    Value whole = ops::view(in[0], DType::int32);
    return {whole, ops::view(in[0], DType::int16), ops::view(whole, DType::float32)};
  });
  EXPECT_EQ(made[0], Tensor::from<int32_t>({0x3f800000, int32_t(0xc0000000)}, {1, 2}));
  EXPECT_EQ(made[1], Tensor::from<int16_t>({0, 0x3f80, 0, int16_t(0xc000)}, {1, 4}));
  EXPECT_EQ(made[2], Tensor::from<float>({1, -2}, {1, 2}));
  EXPECT_THROW(
      results_of({Tensor::zeros({3}, DType::int16)},
                 [](const Values& in) -> Values { return {ops::view(in[0], DType::int32)}; }),
      ShapeError);
}

class EigTest : public DeviceTest {};
INSTANTIATE_ON_DEVICES(EigTest);

TEST_P(EigTest, GivesPairsOfConjugatesAndTheirVectors) {
  // Eigenvalues 2 ± 3i and -1.
  Tensor a = Tensor::from<float>({2, -3, 0, 3, 2, 0, 1, 0, -1}, {3, 3});
  auto made = results_of({a}, [](const Values& in) -> Values {
    ops::linalg::Eig eig = ops::linalg::eig(in[0]);
    return {eig.values.real, eig.values.imag, eig.vectors.real, eig.vectors.imag};
  });
  const std::vector<float> real = {-1, 2, 2}, imag = {0, 3, -3};
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(made[0].at(i), real[size_t(i)], 1e-5);
    EXPECT_NEAR(made[1].at(i), imag[size_t(i)], 1e-5);
  }
  // A · v = w · v, column by column.
  for (int64_t column = 0; column < 3; ++column)
    for (int64_t row = 0; row < 3; ++row) {
      double left_real = 0, left_imag = 0;
      for (int64_t k = 0; k < 3; ++k) {
        left_real += a.at(row * 3 + k) * made[2].at(k * 3 + column);
        left_imag += a.at(row * 3 + k) * made[3].at(k * 3 + column);
      }
      double vr = made[2].at(row * 3 + column), vi = made[3].at(row * 3 + column);
      EXPECT_NEAR(left_real, made[0].at(column) * vr - made[1].at(column) * vi, 1e-5);
      EXPECT_NEAR(left_imag, made[0].at(column) * vi + made[1].at(column) * vr, 1e-5);
    }
}

TEST(EigGradient, IsThatOfDifferences) {
  OnDevice device("reference");
  std::vector<float> a = {2, -3, 0.5F, 3, 2, 0.25F, 1, 0.5F, -1};
  auto loss_of = [](const Values& in) {
    ops::linalg::Eig eig = ops::linalg::eig(in[0]);
    Tensor weights = normal({3, 3}, 5), others = normal({3, 3}, 6), few = normal({3}, 7);
    return ops::sum(eig.vectors.real * Value(weights)) +
           ops::sum(eig.vectors.imag * Value(others)) + ops::sum(eig.values.real * Value(few)) +
           ops::sum(eig.values.imag * eig.values.imag);
  };
  Tensor exact = results_of({Tensor::from(a, {3, 3})},
                            [&](const Values& in) { return gradients(loss_of(in), {in[0]}); })[0];
  constexpr float kStep = 1.0F / 256;
  for (size_t i = 0; i < a.size(); ++i) {
    auto at = [&](float moved) {
      std::vector<float> b = a;
      b[i] += moved;
      return results_of({Tensor::from(b, {3, 3})},
                        [&](const Values& in) -> Values { return {loss_of(in)}; })[0]
          .item();
    };
    EXPECT_NEAR(exact.at(int64_t(i)), (at(kStep) - at(-kStep)) / (2 * kStep), 2e-3) << i;
  }
}

}  // namespace
}  // namespace stoker
