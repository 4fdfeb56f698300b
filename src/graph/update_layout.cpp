#include "graph/update_layout.h"

#include <fmt/format.h>

namespace stoker {

bool is_optimizer_update(const Node& node) {
  return node.traits().updates_variables && node.traits().reads_gradients;
}

UpdateLayout update_layout(std::string_view op, const Attrs& attrs, size_t operands) {
  UpdateLayout layout;
  bool momentum = attrs.get_or("momentum", 0.0) > 0;
  if (op == "sgd_update") {
    layout.moments = size_t(momentum);
  } else if (op == "adam_update") {
    layout.iterations = true;
    layout.moments = attrs.get_or("amsgrad", false) ? 3 : 2;
  } else if (op == "rmsprop_update") {
    layout.moments = 1 + size_t(attrs.get_or("centered", false)) + size_t(momentum);
  } else {
    throw Error(fmt::format("{} is no update of an optimiser", op));
  }
  layout.scaled = attrs.get_or("scaled", false);
  if (operands > layout.first()) layout.count = (operands - layout.first()) / layout.inputs();
  return layout;
}

}  // namespace stoker
