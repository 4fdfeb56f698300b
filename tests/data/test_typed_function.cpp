// Ordinary C++ functions as functions of elements: every form of argument and result.
#include <gtest/gtest.h>

#include <set>

#include "elements.h"

namespace stoker::data {
namespace {

Dataset one(std::vector<Tensor> components) {
  std::vector<Tensor> rows;
  for (const Tensor& component : components)
    rows.push_back(component.reshape(component.shape().prepend(1)));
  return from_slices(std::move(rows));
}

Batch only(const Dataset& dataset) { return all_of(dataset).at(0); }

template <class T>
void takes_and_gives(T value, T expected) {
  Dataset dataset = one({Tensor::from<T>({value}, {})});
  Batch result = only(dataset.map([](T x) { return T(x + x); }));
  EXPECT_EQ(result[0], Tensor::from<T>({expected}, {})) << to_string(dataset.spec());
}

TEST(TypedFunction, TakesAndGivesNumbersOfEveryDtype) {
  takes_and_gives<int8_t>(3, 6);
  takes_and_gives<uint8_t>(100, 200);
  takes_and_gives<int32_t>(-4, -8);
  takes_and_gives<int64_t>(int64_t(1) << 40, int64_t(1) << 41);
  takes_and_gives<float>(1.5F, 3.0F);
  Batch flag = only(one({Tensor::from({true}, {})}).map([](bool x) { return !x; }));
  EXPECT_EQ(flag[0], Tensor::from({false}, {}));
  Batch half = only(one({Tensor::from<Float16>({Float16(1.5F)}, {})}).map([](Float16 x) {
    return BFloat16(float(x) * 2);
  }));
  EXPECT_EQ(half[0], Tensor::from<BFloat16>({BFloat16(3.0F)}, {}));
}

TEST(TypedFunction, TakesAndGivesDoublesAsFloat32) {
  takes_and_gives<double>(1.5, 3.0);
  takes_and_gives<long long>(1LL << 40, 1LL << 41);
  Dataset number = one({Tensor::from({2.0F}, {})});
  Batch several = only(number.map([](double x) {
    return std::tuple(std::vector<double>{x, x / 4}, std::vector<bool>{true, false}, size_t(7));
  }));
  EXPECT_EQ(several[0], Tensor::from({2.0F, 0.5F}, {2}));
  EXPECT_EQ(several[1], Tensor::from({true, false}, {2}));
  EXPECT_EQ(several[2], Tensor::from<int64_t>({7}, {}));
}

TEST(TypedFunction, TakesAndGivesTexts) {
  Dataset texts = one({Tensor::from<std::string>({"ab"}, {})});
  auto text_of = [](const Dataset& dataset) { return only(dataset)[0].data<std::string>()[0]; };
  EXPECT_EQ(text_of(texts.map([](std::string x) { return x + "c"; })), "abc");
  EXPECT_EQ(text_of(texts.map([](const std::string& x) { return x + "d"; })), "abd");
  EXPECT_EQ(text_of(texts.map([](std::string_view x) { return std::string(x) + "e"; })), "abe");
  EXPECT_EQ(text_of(texts.map([](std::string_view x) { return x.substr(1); })), "b");
}

TEST(TypedFunction, TakesTensorsAndViews) {
  Dataset vectors = one({Tensor::from({1.0F, 2.0F}, {2}), Tensor::from<int64_t>({7}, {})});
  Batch sum = only(vectors.map([](const Tensor& x, int64_t y) {
    return x.data<float>()[0] + x.data<float>()[1] + float(y);
  }));
  EXPECT_EQ(sum[0].item(), 10);
  Batch viewed =
      only(vectors.map([](ConstTensorView x, ConstTensorView) { return x.values<float>()[1]; }));
  EXPECT_EQ(viewed[0].item(), 2);
}

TEST(TypedFunction, GivesTensorsWithTheSpecOfTheirPlaceOrTheDeclaredOne) {
  Dataset vectors = one({Tensor::from({1.0F, 2.0F}, {2})});
  Dataset same = vectors.map([](const Tensor& x) { return x.clone(); });
  EXPECT_EQ(same.spec(), vectors.spec());
  EXPECT_EQ(only(same)[0], Tensor::from({1.0F, 2.0F}, {2}));
  Dataset declared = vectors.map(
      [](const Tensor& x) {
        return x.reshape({2, 1});
      },
      {.spec = ElementSpec{{DType::float32, {2, 1}}}});
  EXPECT_EQ(to_string(declared.spec()), "(float32[2, 1])");
  EXPECT_EQ(only(declared)[0].shape(), (Shape{2, 1}));
}

TEST(TypedFunction, GivesVectorsTuplesPairsAndBatches) {
  Dataset numbers = range(3, 4);
  Dataset vectors = numbers.map([](int64_t x) { return std::vector<int64_t>(size_t(x), x); });
  EXPECT_EQ(to_string(vectors.spec()), "(int64[None])");
  EXPECT_EQ(only(vectors)[0], Tensor::from<int64_t>({3, 3, 3}, {3}));
  Dataset known = numbers.map([](int64_t x) { return std::vector<float>(2, float(x)); },
                              {.spec = ElementSpec{{DType::float32, {2}}}});
  EXPECT_EQ(to_string(known.spec()), "(float32[2])");
  Batch pair = only(numbers.map([](int64_t x) { return std::pair(x, std::string("p")); }));
  EXPECT_EQ(pair.size(), 2U);
  EXPECT_EQ(pair[1].data<std::string>()[0], "p");
  Batch tuple = only(numbers.map([](int64_t x) {
    return std::tuple(float(x), std::vector<uint8_t>{1, 2}, x > 2);
  }));
  EXPECT_EQ(tuple[0].item(), 3);
  EXPECT_EQ(tuple[1], Tensor::from<uint8_t>({1, 2}, {2}));
  EXPECT_EQ(tuple[2], Tensor::from({true}, {}));
  Dataset batches = numbers.map(
      [](int64_t x) {
        return Batch{Tensor::from<int64_t>({x}, {}), Tensor(1.0F)};
      },
      {.spec = ElementSpec{{DType::int64, {}}, {DType::float32, {}}}});
  EXPECT_EQ(only(batches)[1].item(), 1);
}

TEST(TypedFunction, WritesInPlace) {
  Dataset vectors = one({Tensor::from({1.0F, 2.0F}, {2})});
  auto twice = [](ConstTensorView in, TensorView out) {
    for (size_t i = 0; i < 2; ++i) out.values<float>()[i] = 2 * in.values<float>()[i];
  };
  EXPECT_EQ(only(vectors.map(twice))[0], Tensor::from({2.0F, 4.0F}, {2}));
  Dataset wider = vectors.map(
      [](const Tensor& in, TensorView sum, TensorView count, Rng& rng) {
        sum.values<float>()[0] = in.data<float>()[0] + in.data<float>()[1];
        count.values<int64_t>()[0] = 2 + rng.integer(0, 1);
      },
      {.spec = ElementSpec{{DType::float32, {}}, {DType::int64, {}}}});
  EXPECT_EQ(only(wider)[0].item(), 3);
  EXPECT_EQ(only(wider)[1].item(), 2);
}

int64_t plain_function(int64_t x) { return x + 1; }

TEST(TypedFunction, MayBeAFunctionOrAnObject) {
  struct Adds {
    int64_t amount;
    int64_t operator()(int64_t x) const noexcept { return x + amount; }
  };
  EXPECT_EQ(integers(range(2).map(plain_function)), (Integers{1, 2}));
  EXPECT_EQ(integers(range(2).map(&plain_function)), (Integers{1, 2}));
  EXPECT_EQ(integers(range(2).map(Adds{5})), (Integers{5, 6}));
}

TEST(TypedFunction, DrawsTheSameNumbersForTheSameElement) {
  Dataset random = range(20)
                       .map([](int64_t, Rng& rng) { return rng.integer(0, 1'000'000); })
                       .with_options({.seed = 1});
  Integers first = integers(random);
  EXPECT_NE(integers(random), first) << "the second epoch draws anew";
  Iterator again = random.iterate({.epoch = 0});
  for (int64_t value : first) EXPECT_EQ((*again.next())[0].item(), double(value));
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 20U);
}

TEST(TypedFunction, SaysWhatIsWrongWhereTheChainIsWritten) {
  Dataset numbers = range(3);
  EXPECT_EQ(message_of([&] { numbers.map([](int64_t x, int64_t) { return x; }, {.name = "add"}); }),
            "map after range: \"add\" takes 2 components, but elements have 1: (int64[])");
  EXPECT_EQ(message_of([&] { numbers.map([](float x) { return x; }, {.name = "scale"}); }),
            "map after range: \"scale\" takes float32[] as its parameter 0, but elements are "
            "(int64[])");
  EXPECT_EQ(message_of([&] { numbers.batch(2).map([](int64_t x) { return x; }); }),
            "map after batch: \"function\" takes int64[] as its parameter 0, but elements are "
            "(int64[None])");
  EXPECT_EQ(
      message_of([&] { numbers.map([](int64_t) { return Batch{}; }, {.name = "b"}); }),
      "map after range: \"b\": it returns a Batch, so the spec of its result has to be given: "
      "{.spec = ElementSpec{…}}");
  EXPECT_EQ(message_of([&] {
              numbers.map([](int64_t) { return std::tuple(Tensor(1.0F), Tensor(1.0F)); },
                          {.name = "t"});
            }),
            "map after range: \"t\": it gives more components than it takes, so the spec of its "
            "result has to be given: {.spec = ElementSpec{…}}");
  EXPECT_EQ(message_of([&] {
              numbers.map([](int64_t x) { return x; },
                          {.name = "d", .spec = ElementSpec{{DType::float32, {}}}});
            }),
            "map after range: \"d\": .spec declares component 0 as float32[], but the function "
            "gives int64[]");
  EXPECT_EQ(message_of([&] {
              numbers.map([](int64_t x) { return x; }, {.name = "n", .spec = ElementSpec{}});
            }),
            "map after range: \"n\" gives 1 components, but .spec declares 0: ()");
  EXPECT_THROW(numbers.batch(2).map([](ConstTensorView, TensorView) {}), ShapeError)
      << "a place of unknown size cannot be written";
  EXPECT_THROW(numbers.filter([](float) { return true; }), ShapeError);
}

TEST(TypedFunction, IsHeldToItsSpecWhenItRuns) {
  auto lies = [](int64_t) { return Batch{Tensor::from<int64_t>({1}, {})}; };
  ElementSpec text{{DType::bytes, {}}}, two{{DType::int64, {}}, {DType::int64, {}}};
  // What comes next would take the number for a text.
  Dataset wrong =
      range(3).map(lies, {.name = "lies", .spec = text}).map([](std::string x) { return x; });
  EXPECT_EQ(message_of([&] { all_of(wrong); }),
            "map(\"lies\"): element 0 of epoch 0: component 0 became int64[], but its spec says "
            "bytes[]; give the map {.spec = …} when its function changes dtype or shape");
  for (const Dataset& missing :
       {range(3).map(lies, {.name = "lies", .spec = two}),
        range(4).map(lies, {.name = "lies", .spec = two}).batch(2),
        range(3).map(lies, {.name = "lies", .spec = two}).map([](int64_t x, int64_t y) {
          return x + y;
        })})
    EXPECT_EQ(message_of([&] { all_of(missing); }),
              "map(\"lies\"): element 0 of epoch 0: it gave 1 components, but its spec says 2: "
              "(int64[], int64[])");
  Dataset grows =
      range(3).map([](int64_t x) { return Batch{Tensor::zeros({x + 1}, DType::int64)}; },
                   {.name = "grows", .spec = ElementSpec{{DType::int64, {2}}}});
  EXPECT_THROW(all_of(grows.map([](const Tensor& x) { return x.data<int64_t>()[1]; })),
               ElementError);
}

}  // namespace
}  // namespace stoker::data
