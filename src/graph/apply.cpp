#include "graph/graph.h"
#include "graph/operands.h"
#include "graph/placement.h"

namespace stoker {

Values apply(std::string_view op, const Values& inputs, Attrs attrs) {
  const OpDef& def = OpRegistry::get().find(op);
  Graph* graph = graph_of(op, inputs);
  return graph ? append(*graph, def, inputs, std::move(attrs))
               : append_sketch(def, inputs, std::move(attrs));
}

}  // namespace stoker
