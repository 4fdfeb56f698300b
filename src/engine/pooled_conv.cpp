#include "engine/pooled_conv.h"

#include <algorithm>

namespace stoker {

namespace {

bool has_relu(const Node& node) {
  return node.attrs.get_or<std::string>("activation", "") == "relu";
}

bool same_geometry(const Node& a, const Node& b) {
  auto get = [](const Node& node, const char* name) {
    return node.attrs.get_or<Ints>(name, {1, 1});  // a dilation may be left out
  };
  return std::ranges::all_of(std::initializer_list<const char*>{"strides", "pads", "dilation"},
                             [&](const char* name) { return get(a, name) == get(b, name); });
}

bool is_gradient_of(const Readers& readers, const PooledConv& found) {
  if (!has_relu(*found.pool_grad) || !halves_image(*found.pool_grad) ||
      found.pool_grad->inputs[0] != found.conv->outputs[0] ||
      found.pool_grad->inputs[1] != found.pool->outputs[0])
    return false;
  const Node* after = found.weight_grad;
  return after != nullptr && after->is("conv2d_weight_grad") &&
         after->inputs[0] == found.conv->inputs[0] && same_geometry(*found.conv, *after) &&
         readers.uses(found.pool_grad->outputs[0]) == 1;
}

}  // namespace

bool halves_image(const Node& pool) {
  return pool.attrs.get<Ints>("window") == Ints{2, 2} &&
         pool.attrs.get<Ints>("strides") == Ints{2, 2} &&
         pool.attrs.get<Ints>("pads") == Ints{0, 0, 0, 0};
}

std::optional<PooledConv> find_pooled_conv(const Readers& readers, const Node& conv) {
  if (!conv.is("conv2d") || !has_relu(conv)) return std::nullopt;
  PooledConv found{.conv = &conv};
  std::vector<const Node*> all = readers.all_of(conv.outputs[0]);
  for (const Node* reader : all) {
    if (reader->is("max_pool2d")) found.pool = reader;
    if (reader->is("max_pool2d_grad")) found.pool_grad = reader;
  }
  bool trains = found.pool_grad != nullptr;
  if (found.pool == nullptr || !halves_image(*found.pool) || all.size() != (trains ? 2U : 1U))
    return std::nullopt;
  if (!trains) return found;
  found.weight_grad = readers.only(found.pool_grad->outputs[0]);
  return is_gradient_of(readers, found) ? std::optional(found) : std::nullopt;
}

}  // namespace stoker
