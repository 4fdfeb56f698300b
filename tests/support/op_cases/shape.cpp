// reshape, transpose, concat, slice, pad, broadcast_to, identity, in every dtype.
#include "support/op_cases.h"

namespace stoker::test {

namespace {

const Fill kAny{0, 100};

OpCase one(std::string name, Attrs attrs, std::vector<Shape> shapes) {
  OpCase result{std::move(name), std::move(attrs), {}, exact()};
  for (const Shape& shape : shapes) result.inputs.push_back({shape, kAny});
  return result;
}

// Large enough to be divided among threads.
OpCase large(std::string name, Attrs attrs, std::vector<Shape> shapes) {
  OpCase result = one(std::move(name), std::move(attrs), std::move(shapes));
  result.dtypes = {DType::float32, DType::int64};
  return result;
}

TensorSpec floats(const Shape& shape) { return {DType::float32, shape}; }

OpCases reshape_cases() {
  auto to = [](Ints shape) { return Attrs{{"shape", std::move(shape)}}; };
  OpCases cases;
  cases.good = {one("flatten", to({2, -1}), {{2, 7, 7, 3}}),
                one("to_image", to({3, 2, 2, 1}), {{3, 4}}),
                one("to_scalar", to({}), {{1}}),
                one("from_scalar", to({1, 1}), {{}}),
                one("same", to({5, 3}), {{5, 3}}),
                one("two_unknowns_and_a_one", to({-1, 1, -1}), {{5, 3}})};
  cases.bad = {{"another number of elements", to({4, 4}), {floats({3, 5})}},
               {"two unknowns", to({-1, -1, 5}), {floats({6, 5})}},
               {"a rest", to({-1, 4}), {floats({3, 5})}}};
  return cases;
}

OpCases transpose_cases() {
  auto by = [](Ints perm) { return Attrs{{"perm", std::move(perm)}}; };
  OpCases cases;
  cases.good = {one("matrix", by({1, 0}), {{5, 7}}),
                one("last_two", by({0, 2, 1}), {{2, 9, 5}}),
                one("channels_first", by({0, 3, 1, 2}), {{2, 7, 5, 3}}),
                one("heads", by({0, 2, 1, 3}), {{2, 3, 5, 4}}),
                one("reversed", by({2, 1, 0}), {{3, 4, 5}}),
                one("vector", by({0}), {{4}}),
                one("nothing", by({0, 1}), {{3, 4}})};
  cases.good.push_back(large("large", by({0, 2, 1}), {{7, 101, 97}}));
  cases.bad = {{"an axis twice", by({0, 0}), {floats({2, 3})}},
               {"an axis left out", by({0}), {floats({2, 3})}},
               {"an axis that does not exist", by({0, 2}), {floats({2, 3})}}};
  return cases;
}

OpCases concat_cases() {
  auto on = [](int64_t axis) { return Attrs{{"axis", axis}}; };
  OpCases cases;
  cases.good = {one("rows", on(0), {{2, 3}, {1, 3}, {4, 3}}),
                one("columns", on(1), {{3, 2}, {3, 5}}),
                one("channels", on(3), {{2, 3, 3, 4}, {2, 3, 3, 1}, {2, 3, 3, 7}}),
                one("vectors", on(0), {{3}, {1}}),
                one("alone", on(1), {{2, 3}}),
                one("middle", on(1), {{2, 1, 3}, {2, 4, 3}})};
  cases.good.push_back(large("large", on(1), {{301, 97}, {301, 130}}));
  cases.bad = {{"other extents that differ", on(1), {floats({3, 2}), floats({4, 2})}},
               {"ranks that differ", on(0), {floats({3, 2}), floats({3})}},
               {"dtypes that differ", on(0), {floats({3}), {DType::int32, {3}}}},
               {"an axis that does not exist", on(2), {floats({3, 2}), floats({3, 2})}},
               {"nothing", on(0), {}}};
  return cases;
}

OpCases slice_cases() {
  auto part = [](Ints begin, Ints size) {
    return Attrs{{"begin", std::move(begin)}, {"size", std::move(size)}};
  };
  OpCases cases;
  cases.good = {
      one("rows", part({2, 0}, {3, -1}), {{7, 5}}), one("columns", part({0, 1}, {-1, 3}), {{7, 5}}),
      one("inside", part({0, 1, 2, 0}, {2, 3, 2, 1}), {{2, 5, 5, 3}}),
      one("vector", part({4}, {1}), {{9}}), one("everything", part({0, 0}, {-1, -1}), {{3, 4}})};
  cases.good.push_back(large("large", part({1, 3}, {-1, 201}), {{301, 230}}));
  cases.bad = {{"too many", part({2, 0}, {6, 5}), {floats({7, 5})}},
               {"a negative begin", part({-1, 0}, {2, 5}), {floats({7, 5})}},
               {"too few axes", part({0}, {2}), {floats({7, 5})}}};
  return cases;
}

OpCases pad_cases() {
  auto by = [](Ints before, Ints after, double value) {
    return Attrs{{"before", std::move(before)}, {"after", std::move(after)}, {"value", value}};
  };
  OpCases cases;
  cases.good = {one("vector", by({2}, {1}, 0), {{5}}),
                one("matrix", by({0, 3}, {1, 0}, 7), {{4, 3}}),
                one("image", by({0, 1, 2, 0}, {0, 2, 0, 0}, 0), {{2, 5, 5, 3}}),
                one("nothing", by({0, 0}, {0, 0}, 1), {{2, 3}})};
  cases.good.push_back(large("large", by({1, 2}, {3, 0}, 5), {{301, 230}}));
  cases.bad = {{"negative padding", by({-1}, {0}, 0), {floats({5})}},
               {"too few axes", by({1}, {1}, 0), {floats({5, 2})}}};
  return cases;
}

OpCases broadcast_to_cases() {
  auto to = [](Ints shape) { return Attrs{{"shape", std::move(shape)}}; };
  OpCases cases;
  cases.good = {one("scalar", to({3, 5}), {{}}),
                one("row", to({4, 7}), {{7}}),
                one("column", to({4, 7}), {{4, 1}}),
                one("channels", to({2, 3, 3, 5}), {{5}}),
                one("inner", to({2, 3, 4, 5}), {{2, 1, 4, 1}}),
                one("same", to({3, 2}), {{3, 2}}),
                one("one_element", to({9}), {{1}})};
  cases.good.push_back(large("large", to({1021, 67}), {{67}}));
  cases.bad = {{"an extent that differs", to({4, 6}), {floats({7})}},
               {"fewer dimensions", to({7}), {floats({4, 7})}},
               {"an extent that shrinks", to({1, 7}), {floats({4, 7})}}};
  return cases;
}

// Its rule stops the gradient.
OpCases identity_cases() {
  OpCases cases;
  cases.good = {one("matrix", {}, {{3, 5}}), one("scalar", {}, {{}}), one("long", {}, {{1001}})};
  for (OpCase& each : cases.good) each.inputs[0].differentiable = false;
  cases.bad = {{"two inputs", {}, {floats({3}), floats({3})}},
               {"bytes", {}, {{DType::bytes, {3}}}}};
  return cases;
}

// To bytes, which every dtype has a whole number of.
OpCases bitcast_cases() {
  OpCases cases;
  Attrs bytes = {{"dtype", std::string("uint8")}}, whole = {{"dtype", std::string("int8")}};
  cases.good = {one("matrix", bytes, {{3, 5}}), one("long", whole, {{1001}})};
  for (OpCase& each : cases.good) each.inputs[0].differentiable = false;
  cases.bad = {{"two inputs", bytes, {floats({3}), floats({3})}},
               {"to texts", {{"dtype", std::string("bytes")}}, {floats({3})}},
               {"a part of a number", {{"dtype", std::string("int64")}}, {floats({3})}},
               {"bool", bytes, {{DType::bool_, {3}}}}};
  return cases;
}

}  // namespace

void add_shape_cases(OpCaseTable& table) {
  table["reshape"] = reshape_cases();
  table["transpose"] = transpose_cases();
  table["concat"] = concat_cases();
  table["slice"] = slice_cases();
  table["pad"] = pad_cases();
  table["broadcast_to"] = broadcast_to_cases();
  table["identity"] = identity_cases();
  table["bitcast"] = bitcast_cases();
}

}  // namespace stoker::test
