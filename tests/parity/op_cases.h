// Functions of stoker::ops as keras_ops.py calls those of keras.ops: a case has the same name, the names
// of its inputs and the same expression.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <stoker/ops.h>

namespace stoker::test {

struct OpCase {
  std::string inputs;  // words
  std::function<Values(const Values&)> run;
};
using OpCases = std::map<std::string, OpCase>;

OpCases elementwise_cases();
OpCases array_cases();
OpCases statistics_cases();
OpCases linear_cases();
OpCases nn_cases();
OpCases signal_cases();
OpCases more_cases();  // of keras_more_ops.py
OpCases rest_cases();  // of keras_rest.py

inline Value part(const Value& x, std::vector<ops::Slicing> axes) { return ops::get_item(x, axes); }
inline Value first_column(const Value& x) { return ops::squeeze(part(x, {{}, {.end = 1}}), 1); }

// One function of one Value, or of two.
#define STOKER_ONE(inputs, call)                                        \
  {                                                                     \
    inputs, [](const Values& i) -> Values { return {ops::call(i[0])}; } \
  }
#define STOKER_TWO(inputs, call)                                              \
  {                                                                           \
    inputs, [](const Values& i) -> Values { return {ops::call(i[0], i[1])}; } \
  }
#define STOKER_CASE(inputs, ...)                                  \
  {                                                               \
    inputs, [](const Values& i) -> Values { return __VA_ARGS__; } \
  }
// Of no inputs.
#define STOKER_MADE(...)                                    \
  {                                                         \
    "", [](const Values&) -> Values { return __VA_ARGS__; } \
  }

}  // namespace stoker::test
