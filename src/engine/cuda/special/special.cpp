#include "engine/cuda/special/special.h"

#include <array>

#include "engine/cuda/special/cases.h"

namespace stoker::cuda {

std::span<const Special> specials() {
  static constexpr auto kAll = std::to_array<Special>({
      {.name = "norm_pool", .match = match_norm_pools},
      {.name = "stem", .match = match_stems},
      {.name = "head", .match = match_heads, .order = order_for_heads},
      {.name = "packed_heads", .match = match_packed_heads},
      {.name = "sums", .match = match_sums},
      {.name = "narrow_gradient", .match = match_narrow_gradients, .alone = true},
      {.name = "narrow_product", .match = match_narrow_products, .alone = true},
  });
  return kAll;
}

void SpecialNode::build_with_update(Builder&, const Node& node, const Node&,
                                    std::span<const size_t>) const {
  throw Error("no special case takes the optimiser's step for " + node.op->name);
}

}  // namespace stoker::cuda
