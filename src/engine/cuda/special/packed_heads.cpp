// Attention over slices of one value, as one product for query, key and value has them: the slices
// are read where they lie, and the gradients are written side by side where the gradient of that
// value is their concatenation.
#include <algorithm>
#include <array>
#include <optional>

#include "engine/cuda/ops/attention.h"
#include "engine/cuda/special/cases.h"

namespace stoker::cuda {

namespace {

class PackedAttention final : public SpecialNode {
 public:
  PackedAttention(const HeadPlaces& from, const HeadPlaces& to) : from_(from), to_(to) {}
  void build(Builder& b, const Node& node) const override {
    if (node.is("attention"))
      emit_attention(b, node, from_);
    else
      emit_attention_grad(b, node, from_, to_);
  }
  std::vector<int> also_reads(const Graph&) const override {
    return {from_.query.value, from_.key.value, from_.value.value};
  }

 private:
  HeadPlaces from_, to_;
};

// A slice, or the reshape of one, that only attention reads.
struct HeadSlice {
  HeadPlace place;
  std::vector<const Node*> nodes;
};

class PackedHeads {
 public:
  PackedHeads(const Readers& readers, Fusion& found)
      : readers_(readers), graph_(readers.graph()), found_(found) {}

  void find() {
    for (const Node& node : graph_.nodes())
      if (node.is("attention")) match(node);
  }

 private:
  using Places = std::array<HeadPlace, 3>;
  static HeadPlaces named(const Places& places) { return {places[0], places[1], places[2]}; }

  void match(const Node& forward) {
    AttentionShape s = attention_shape(graph_, forward);
    HeadPlaces own = own_operands(s, forward);
    Places from = {own.query, own.key, own.value}, to = {};
    const std::array<int, 3> operands = {own.query.value, own.key.value, own.value.value};
    std::array<bool, 3> packed = {};
    std::vector<const Node*> inside;
    const Node* backward = nullptr;
    for (size_t i = 0; i < 3; ++i) {
      std::optional<HeadSlice> slice =
          slice_of(operands[i], s.batch * (i == 0 ? s.queries : s.keys));
      if (!slice || !is_read_by_attention(operands[i], forward, backward)) continue;
      packed[i] = true;
      from[i] = slice->place;
      inside.insert(inside.end(), slice->nodes.begin(), slice->nodes.end());
    }
    if (inside.empty()) return;
    std::vector<const Node*> behind;
    if (backward != nullptr && !take_gradients(s, *backward, packed, from, to, behind)) return;
    int index = readers_.index_of(&forward);
    for (const Node* node : inside) found_.into[size_t(readers_.index_of(node))] = index;
    found_.special[index] = std::make_shared<PackedAttention>(named(from), HeadPlaces{});
    if (backward == nullptr) return;
    index = readers_.index_of(backward);
    for (const Node* node : behind) found_.into[size_t(readers_.index_of(node))] = index;
    found_.special[index] = std::make_shared<PackedAttention>(named(from), named(to));
  }

  bool is_free(const Node* node) const {
    int index = readers_.index_of(node);
    return !found_.is_inlined(index) && !found_.special.contains(index);
  }

  std::optional<HeadSlice> slice_of(int value, int64_t rows) const {
    const Node* node = graph_.producer(value);
    HeadSlice found;
    int64_t elements = graph_.spec(value).shape.elements();
    if (node != nullptr && node->is("reshape") && readers_.uses(node->inputs[0]) == 1) {
      found.nodes.push_back(node);
      node = graph_.producer(node->inputs[0]);
    }
    if (node == nullptr || !node->is("slice") || !is_free(node) || elements == 0)
      return std::nullopt;
    found.nodes.push_back(node);
    const Shape &whole = graph_.spec(node->inputs[0]).shape,
                &part = graph_.spec(node->outputs[0]).shape;
    int axis = 0;
    int64_t outer = 1;
    while (axis < whole.rank() && whole[axis] == part[axis]) outer *= whole[axis++];
    for (int behind = axis + 1; behind < whole.rank(); ++behind)
      if (whole[behind] != part[behind]) return std::nullopt;
    if (axis == whole.rank() || outer != rows) return std::nullopt;
    int64_t pitch = whole.elements() / rows;
    found.place = {node->inputs[0],
                   node->attrs.get<Ints>("begin")[size_t(axis)] * (pitch / whole[axis]), pitch};
    return found;
  }

  // By `forward` and at most one attention_grad, the same for all operands.
  bool is_read_by_attention(int value, const Node& forward, const Node*& backward) const {
    for (const Node* reader : readers_.all_of(value)) {
      if (reader == &forward) continue;
      if (!reader->is("attention_grad") || (backward != nullptr && reader != backward))
        return false;
      backward = reader;
    }
    return !readers_.all_of(value).empty();
  }

  // Where the gradients of packed operands go: into the one concat that reads each of them.
  bool take_gradients(const AttentionShape& s, const Node& backward,
                      const std::array<bool, 3>& packed, const Places& from, Places& to,
                      std::vector<const Node*>& behind) const {
    HeadPlaces own = own_gradients(s, backward);
    to = {own.query, own.key, own.value};
    for (size_t i = 0; i < 3; ++i) {
      if (!packed[i]) continue;
      int value = backward.outputs[i];
      const Node* reader = readers_.only(value);
      if (reader != nullptr && reader->is("reshape")) {
        behind.push_back(reader);
        value = reader->outputs[0];
        reader = readers_.only(value);
      }
      if (reader == nullptr || !reader->is("concat") || !is_free(reader)) return false;
      int64_t rows = s.batch * (i == 0 ? s.queries : s.keys);
      to[i] = {reader->outputs[0], offset_in(*reader, value, rows),
               graph_.spec(reader->outputs[0]).shape.elements() / rows};
      if (to[i].offset != from[i].offset || to[i].pitch != from[i].pitch) return false;
      if (std::ranges::find(behind, reader) == behind.end()) behind.push_back(reader);
    }
    return are_whole(packed, to);
  }

  // -1 where its rows are not those of the heads.
  int64_t offset_in(const Node& concat, int value, int64_t rows) const {
    const Shape& whole = graph_.spec(concat.outputs[0]).shape;
    int axis = int(concat.attrs.get<int64_t>("axis"));
    axis = axis < 0 ? axis + whole.rank() : axis;
    int64_t outer = 1, before = 0;
    for (int i = 0; i < axis; ++i) outer *= whole[i];
    if (outer != rows) return -1;
    for (int input : concat.inputs) {
      if (input == value) return before;
      before += graph_.spec(input).shape.elements() / rows;
    }
    return -1;
  }

  // Whether the gradients make up all of the concats that they go to.
  bool are_whole(const std::array<bool, 3>& packed, const Places& to) const {
    for (size_t i = 0; i < 3; ++i) {
      if (!packed[i]) continue;
      size_t parts = 0;
      for (size_t other = 0; other < 3; ++other)
        parts += packed[other] && to[other].value == to[i].value;
      if (graph_.producer(to[i].value)->inputs.size() != parts) return false;
    }
    return true;
  }

  const Readers& readers_;
  const Graph& graph_;
  Fusion& found_;
};

}  // namespace

void match_packed_heads(const Readers& readers, Fusion& found) {
  PackedHeads(readers, found).find();
}

}  // namespace stoker::cuda
