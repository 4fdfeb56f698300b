#include "nn/targets.h"

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "graph/placement.h"

namespace stoker {

Shape without_last(const Shape& shape) {
  return Shape(shape.dims().first(size_t(shape.rank()) - 1));
}

bool fits(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (int axis = 0; axis < a.rank(); ++axis)
    if (a[axis] != b[axis] && a[axis] != -1 && b[axis] != -1) return false;
  return true;
}

namespace {

// Whether `given` is `wanted`, give or take a last dimension of 1.
bool fits_but_for_one(const Shape& given, const Shape& wanted) {
  if (given.rank() == wanted.rank() + 1 && given[-1] == 1) return fits(without_last(given), wanted);
  if (wanted.rank() == given.rank() + 1 && wanted[-1] == 1)
    return fits(given, without_last(wanted));
  return fits(given, wanted);
}

[[noreturn]] void fail(const std::string& who, const Shape& prediction, const Shape& given,
                       const std::string& advice) {
  throw ShapeError(fmt::format("{}: predictions of shape {} and targets of shape {} do not fit; {}",
                               who, to_string(prediction), to_string(given), advice));
}

// The loss or metric that takes the other kind of targets.
std::string without_sparse(const std::string& who) {
  return who.starts_with("sparse_") ? who.substr(7) : "categorical_crossentropy";
}
std::string with_sparse(const std::string& who) {
  bool has_sibling = who.starts_with("categorical_") || who.starts_with("top_k_");
  return has_sibling ? "sparse_" + who : "sparse_categorical_crossentropy";
}

TensorSpec class_ids(const std::string& who, const Shape& prediction, const TensorSpec& given) {
  if (prediction.rank() < 2)
    fail(who, prediction, given.shape,
         "predictions need a last axis with one value for each class");
  Shape wanted = without_last(prediction);
  if (given.shape.rank() > 0 && fits_but_for_one(given.shape, wanted))
    return {given.dtype == DType::int64 ? DType::int64 : DType::int32, wanted};
  if (fits(given.shape, prediction))
    fail(who, prediction, given.shape,
         fmt::format("these targets have one value for each class, as one-hot ones do: use {}, or "
                     "give class ids",
                     without_sparse(who)));
  fail(who, prediction, given.shape,
       fmt::format("expected class ids of shape {}", to_string(wanted)));
}

TensorSpec class_shares(const std::string& who, const Shape& prediction, const TensorSpec& given) {
  if (prediction.rank() < 2)
    fail(who, prediction, given.shape,
         "predictions need a last axis with one value for each class");
  if (fits(given.shape, prediction)) return {DType::float32, prediction};
  if (fits_but_for_one(given.shape, without_last(prediction)))
    fail(
        who, prediction, given.shape,
        fmt::format("these targets are class ids: use {}, or make them one-hot", with_sparse(who)));
  fail(who, prediction, given.shape, "expected one-hot targets of the predictions' shape");
}

TensorSpec elementwise(const std::string& who, const Shape& prediction, const TensorSpec& given) {
  if (prediction.rank() > 0 && given.shape.rank() > 0 && fits_but_for_one(given.shape, prediction))
    return {DType::float32, prediction};
  bool ids = prediction.rank() >= 2 && fits_but_for_one(given.shape, without_last(prediction));
  fail(who, prediction, given.shape,
       ids ? "they must have one shape; make class ids one-hot (utils::to_categorical), or use "
             "sparse_categorical_crossentropy, which takes them as they are"
           : "they must have one shape");
}

}  // namespace

TensorSpec target_spec(TargetKind kind, const std::string& who, const TensorSpec& prediction,
                       const TensorSpec& given) {
  if (given.dtype == DType::bytes)
    throw ShapeError(
        fmt::format("{}: targets are bytes, not numbers; map them to class ids first", who));
  switch (kind) {
    case TargetKind::class_ids:
      return class_ids(who, prediction.shape, given);
    case TargetKind::class_shares:
      return class_shares(who, prediction.shape, given);
    case TargetKind::free:
      return given;
    case TargetKind::elementwise:
      break;
  }
  return elementwise(who, prediction.shape, given);
}

Value as_targets(TargetKind kind, const std::string& who, const Value& y_true,
                 const Value& y_pred) {
  TensorSpec wanted = target_spec(kind, who, y_pred.spec(), y_true.spec());
  Value placed = y_pred.traced() ? place(*y_pred.traced()->graph, y_true) : y_true;
  return cast_to(ops::reshape(placed, wanted.shape), wanted.dtype);
}

Value mean_per_sample(const Value& x) {
  ops::Reduce over;
  for (int64_t axis = 1; axis < x.shape().rank(); ++axis) over.axes.push_back(axis);
  return over.axes.empty() ? x : ops::mean(x, over);
}

Value cast_to(const Value& x, DType dtype) { return x.dtype() == dtype ? x : ops::cast(x, dtype); }

}  // namespace stoker
