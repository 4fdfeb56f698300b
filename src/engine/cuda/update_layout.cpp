#include "engine/cuda/update_layout.h"

namespace stoker::cuda {

bool is_optimizer_update(const Node& node) {
  return node.traits().updates_variables && node.traits().reads_gradients;
}

UpdateLayout update_layout(const Node& node) {
  UpdateLayout layout;
  bool momentum = node.attrs.get_or<double>("momentum", 0) > 0;
  if (node.op->name == "adam_update")
    layout.moments = node.attrs.get_or("amsgrad", false) ? 3 : 2;
  else if (node.op->name == "rmsprop_update")
    layout.moments = 1 + size_t(node.attrs.get_or("centered", false)) + size_t(momentum);
  else
    layout.moments = size_t(momentum);
  layout.scaled = node.attrs.get_or("scaled", false);
  layout.first = (node.op->name == "adam_update" ? 2 : 1) + size_t(layout.scaled);
  layout.count = (node.inputs.size() - layout.first) / layout.inputs();
  return layout;
}

}  // namespace stoker::cuda
