#include "graph/slice_gradients.h"

#include <algorithm>
#include <map>

#include "graph/emit.h"
#include "graph/graph.h"

namespace stoker {

// Slices without elements add nothing; one is kept where there is nothing else.
void SliceGradients::add(const Ints& begin, const Value& gradient) {
  if (!pieces_.empty() && gradient.shape().elements() == 0) return;
  if (!pieces_.empty() && pieces_[0].gradient.shape().elements() == 0) pieces_.clear();
  pieces_.push_back({begin, gradient});
}

// The one axis along which the pieces lie; -1 where they differ on more than one.
int SliceGradients::axis() const {
  const Piece& first = pieces_[0];
  int found = -1;
  for (const Piece& piece : pieces_)
    for (int axis = 0; axis < int(first.begin.size()); ++axis) {
      bool same = piece.begin[size_t(axis)] == first.begin[size_t(axis)] &&
                  piece.gradient.shape()[axis] == first.gradient.shape()[axis];
      if (same || axis == found) continue;
      if (found >= 0) return -1;
      found = axis;
    }
  return found;
}

Value SliceGradients::padded(const Value& part, const Ints& begin, const Shape& whole) {
  if (part.shape() == whole) return part;
  Ints after;
  for (int axis = 0; axis < whole.rank(); ++axis)
    after.push_back(whole[axis] - begin[size_t(axis)] - part.shape()[axis]);
  return apply1("pad", {part}, {{"before", begin}, {"after", after}, {"value", 0.0}});
}

// Pieces that do not overlap, in any order: concatenated, with zeros in the holes.
Value SliceGradients::layer(const std::vector<const Piece*>& pieces, int axis,
                            const Shape& whole) const {
  if (pieces.size() == 1) return padded(pieces[0]->gradient, pieces[0]->begin, whole);
  std::vector<const Piece*> sorted = pieces;
  auto begin_of = [&](const Piece* piece) { return piece->begin[size_t(axis)]; };
  std::ranges::sort(sorted, {}, begin_of);
  const Value& first = sorted[0]->gradient;
  Value zero = first.traced()->graph->number(Tensor::zeros({}, first.dtype()));
  Values parts;
  int64_t at = begin_of(sorted[0]);
  for (const Piece* piece : sorted) {
    if (int64_t hole = begin_of(piece) - at; hole > 0)
      parts.push_back(emit::broadcast_to(zero, first.shape().with(axis, hole)));
    parts.push_back(piece->gradient);
    at = begin_of(piece) + piece->gradient.shape()[axis];
  }
  Value joined = apply1("concat", parts, {{"axis", int64_t(axis)}});
  return padded(joined, sorted[0]->begin, whole);
}

namespace {

// Intervals that do not overlap.
class Intervals {
 public:
  // False, and nothing is added, where it overlaps one that is there.
  bool add(int64_t begin, int64_t end) {
    auto next = ends_.lower_bound(begin);
    if (next != ends_.end() && next->first < end) return false;
    if (next != ends_.begin() && std::prev(next)->second > begin) return false;
    ends_.emplace_hint(next, begin, end);
    return true;
  }

 private:
  std::map<int64_t, int64_t> ends_;  // by begin
};

}  // namespace

// Pieces are put into layers, each into the first in which it overlaps no other.
Value SliceGradients::sum(const Shape& whole) const {
  int axis = this->axis();
  std::vector<std::vector<const Piece*>> layers;
  std::vector<Intervals> taken;
  for (const Piece& piece : pieces_) {
    int64_t begin = axis < 0 ? 0 : piece.begin[size_t(axis)];
    int64_t end = axis < 0 ? 1 : begin + piece.gradient.shape()[axis];
    size_t level = 0;
    while (level < taken.size() && !taken[level].add(begin, end)) ++level;
    if (level == taken.size()) {
      taken.emplace_back().add(begin, end);
      layers.emplace_back();
    }
    layers[level].push_back(&piece);
  }
  Value sum;
  for (const std::vector<const Piece*>& pieces : layers) {
    Value one = layer(pieces, axis, whole);
    sum = sum.defined() ? sum + one : one;
  }
  return sum;
}

}  // namespace stoker
