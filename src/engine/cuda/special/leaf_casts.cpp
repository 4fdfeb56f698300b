#include "engine/cuda/special/cases.h"

namespace stoker::cuda {

void take_leaf_cast(const Readers& readers, Fusion& found, int value, int times, int root) {
  const Graph& graph = readers.graph();
  const Node* cast = graph.producer(value);
  if (cast == nullptr || !cast->is("cast") || found.is_inlined(readers.index_of(cast)) ||
      readers.uses(value) != times || size_of(graph.spec(value).dtype) != 2 ||
      !is_floating(graph.spec(value).dtype))
    return;
  const ValueInfo& from = graph.values()[size_t(cast->inputs[0])];
  bool is_leaf = from.kind == ValueKind::variable || from.kind == ValueKind::input;
  if (is_leaf && from.spec.dtype == DType::float32)
    found.into[size_t(readers.index_of(cast))] = root;
}

Uncast uncast(const Graph& graph, const Fusion& fusion, int value) {
  const Node* cast = graph.producer(value);
  if (cast == nullptr || !cast->is("cast") || !fusion.is_inlined(int(cast - graph.nodes().data())))
    return {value, false};
  return {cast->inputs[0], true};
}

}  // namespace stoker::cuda
