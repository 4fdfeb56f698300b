// all_reduce of one replica; what several do is tested in tests/distribute.
#include "support/op_cases.h"

namespace stoker::test {

void add_collective_cases(OpCaseTable& table) {
  OpCases& cases = table["all_reduce"];
  Attrs attrs = {{"ranks", int64_t(1)}, {"wire", std::string("float32")}, {"number", int64_t(0)}};
  std::vector<DType> floats = {DType::float32, DType::float16, DType::bfloat16};
  cases.good = {
      {"matrix", attrs, {{{3, 5}}}, exact(), true, {}},
      {"several", attrs, {{{3, 5}}, {{}}, {{1001}}}, exact(), true, floats},
      {"integers", attrs, {{{7}}, {{2, 3}}}, exact(), false, {DType::int32, DType::int64}}};
  cases.differentiable_outputs = 3;
  Attrs none = attrs, other = attrs;
  none.set("ranks", int64_t(0));
  other.set("wire", std::string("int8"));
  cases.bad = {{"no operand", attrs, {}},
               {"a float beside an integer", attrs, {{DType::float32, {3}}, {DType::int32, {3}}}},
               {"bool", attrs, {{DType::float32, {3}}, {DType::bool_, {3}}}},
               {"no replica", none, {{DType::float32, {3}}}},
               {"an unknown wire", other, {{DType::float32, {3}}}}};
}

}  // namespace stoker::test
