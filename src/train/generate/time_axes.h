// Which axis of which value of a traced model is time, and whether a step of it depends on later
// tokens: what a step of generation needs to know to compute new tokens alone. Works on ops, so that
// layers of any kind, own ones included, need not know of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace stoker {

// Why a model cannot be run in steps. For people: names layer and op.
struct NotInSteps {
  std::string why;
};

struct TimeAxis {
  enum class Kind : uint8_t {
    fixed,     // does not depend on the tokens
    stepwise,  // step t, along `axis`, depends on the tokens up to t
    last,      // of the last step alone: no time axis
  };
  Kind kind = Kind::fixed;
  // -1: none, in masks that have a key axis. The axis may hold others too: its extent is
  // outer · length · inner.
  int axis = -1;
  int64_t outer = 1, inner = 1;
  // Of masks: the axis of all steps so far, which the steps along `axis` look at; -1: none.
  int key_axis = -1;

  bool fixed() const { return kind == Kind::fixed; }
  bool stepwise() const { return kind == Kind::stepwise; }
  bool plain() const { return outer == 1 && inner == 1; }
  friend bool operator==(const TimeAxis&, const TimeAxis&) = default;
};

// The tokens that a graph was traced with.
struct TokenInput {
  int value = -1;  // [B, length]
  int64_t length = 0;
  bool any_length = false;  // the model takes other lengths too
};

// By value of the graph. Throws NotInSteps.
std::vector<TimeAxis> find_time_axes(const Graph& graph, const TokenInput& tokens);

// The axis of an operand that stands under `axis` of a result of `rank` dimensions; -1: none.
inline int under(int axis, int rank, const Shape& operand) {
  return axis < 0 ? -1 : std::max(axis - (rank - operand.rank()), -1);
}

// An attention node that may keep its keys and values: they belong to the tokens. Else they are
// fixed: attention to something else.
bool attends_to_tokens(const Node& node, const std::vector<TimeAxis>& axes);
// Whether a node carries a state from step to step, so that it cannot leave one out.
bool carries_state(const Node& node);
// Whether a node needs every step of its operand number `index`, not just the steps that its result
// is wanted for.
bool needs_every_step(const Node& node, size_t index);

}  // namespace stoker
