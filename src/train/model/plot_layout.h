// Where the boxes of a picture of a model go: ranks by the longest way from an input, few crossings
// within them, lines that pass ranks go between boxes.
#pragma once

#include <cstddef>
#include <vector>

namespace stoker::plot {

struct Point {
  double x = 0, y = 0;
};

struct Box {
  double width = 0, height = 0;
  Point centre = {};  // set by lay_out
};

struct Edge {
  size_t from = 0, to = 0;         // boxes; from < to
  std::vector<Point> points = {};  // set by lay_out: from the end of a box to the start of the next
};

struct Drawing {
  std::vector<Box> boxes;  // each after those that it depends on
  std::vector<Edge> edges;
  double width = 0, height = 0;  // set by lay_out
};

enum class Direction { down, right };

void lay_out(Drawing& drawing, Direction direction);

}  // namespace stoker::plot
