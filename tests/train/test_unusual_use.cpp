// Misuse whose message once named neither the culprit nor a remedy.
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;

TEST(UnusualUse, MonitorsThatAreNotLoggedNameTheirCallback) {
  test::TempDir dir;
  test::Data data = test::line(8, 1);
  auto fit = [&](const CallbackRef& callback) {
    return error_of<ValueError>([&] {
      test::line_model().fit(data.x, data.y, {.epochs = 2, .verbose = 0, .callbacks = {callback}});
    });
  };
  EXPECT_TRUE(says(fit(EarlyStopping()),
                   {"EarlyStopping: monitor \"val_loss\"", "there are: loss", "validation_split"}));
  EXPECT_TRUE(says(fit(ReduceLROnPlateau()), {"ReduceLROnPlateau: monitor \"val_loss\""}));
  EXPECT_TRUE(
      says(fit(ModelCheckpoint(dir / "m.stoker", {.monitor = "f1", .save_best_only = true})),
           {"ModelCheckpoint: monitor \"f1\"", "Set .monitor"}));
}

TEST(UnusualUse, ALayerThatReturnsNoValueIsNamed) {
  struct Nothing : LayerBase {
    std::string kind() const override { return "Nothing"; }
    Values call(const Values&, CallContext&) override { return {Value()}; }
  };
  EXPECT_TRUE(says(error_of<Error>([] {
                     Sequential({Input({3}), make_layer<Nothing>()}).predict(Tensor::zeros({1, 3}));
                   }),
                   {"Nothing", "undefined Value as output 0"}));
}

TEST(UnusualUse, TextsForNumbersAreToldToBecomeNumbers) {
  Tensor texts = Tensor::from({"a", "b"}, {1, 2});
  EXPECT_TRUE(says(error_of<ShapeError>([&] { test::line_model().predict(texts); }),
                   {"got texts", "text::StringLookup"}));
}

TEST(UnusualUse, AnEmptyPathIsSaidToBeEmpty) {
  EXPECT_TRUE(says(error_of<FileError>([] { test::line_model().save(""); }), {"is empty"}));
}

TEST(UnusualUse, RangesAreNeitherCutNorEndless) {
  EXPECT_TRUE(says(error_of<ValueError>([] { ops::arange(0, int64_t(1) << 50); }), {"2^32"}));
  EXPECT_TRUE(says(error_of<ValueError>([] { ops::arange(3'000'000'000, 3'000'000'002); }),
                   {"int32 cannot hold", "DType::int64"}));
  Value large = ops::arange(3'000'000'000, 3'000'000'002, 1, DType::int64);
  EXPECT_EQ(*large.constant(), Tensor::from<int64_t>({3'000'000'000, 3'000'000'001}, {2}));
  EXPECT_EQ(ops::arange(5, 0).constant()->elements(), 0);
}

}  // namespace
}  // namespace stoker
