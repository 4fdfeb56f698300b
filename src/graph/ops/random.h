// The attributes of the op "random", read for a kernel.
#pragma once

#include <array>

#include "base/draws.h"
#include "graph/op.h"

namespace stoker {

// fn, and what it takes beside the random state.
struct RandomFunction {
  std::string_view name;
  draws::Fn fn;
  size_t parameters;  // operands of the result's shape
};
inline constexpr auto kRandomFunctions = std::to_array<RandomFunction>({
    {"uniform", draws::Fn::uniform, 0},
    {"normal", draws::Fn::normal, 0},
    {"truncated_normal", draws::Fn::truncated_normal, 0},
    {"gumbel", draws::Fn::gumbel, 0},
    {"integer", draws::Fn::integer, 0},
    {"gamma", draws::Fn::gamma, 1},
    {"binomial", draws::Fn::binomial, 2},
});

const RandomFunction& random_function(const Attrs& attrs);  // ValueError lists the names
draws::Draw random_draw(const Attrs& attrs);

// The sequence that a random state {seed, step} and a stream name.
constexpr uint64_t random_sequence(int64_t step, int64_t stream) {
  return uint64_t(step) * 65536 + uint64_t(stream);
}

}  // namespace stoker
