// A product with the Jacobian from two products with its transpose: Jᵀ · u is linear in u, and the
// derivative of ⟨Jᵀ · u, v⟩ by u is J · v.
#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_loops.h>

#include "graph/emit.h"
#include "graph/placement.h"

namespace stoker::ops {

namespace {

void expect_tangents(const Values& primals, const Values& tangents) {
  bool fit = primals.size() == tangents.size() && !primals.empty();
  for (size_t i = 0; fit && i < primals.size(); ++i)
    fit = is_floating(primals[i].dtype()) && primals[i].shape() == tangents[i].shape();
  if (!fit)
    throw ShapeError(fmt::format(
        "jvp: expected one tangent of the same shape per primal, all of floats; got {} for {}",
        tangents.size(), primals.size()));
}

}  // namespace

Jvp jvp(const std::function<Values(const Values& primals)>& f, const Values& primals,
        const Values& tangents) {
  expect_tangents(primals, tangents);
  Values given = primals;
  given.insert(given.end(), tangents.begin(), tangents.end());
  Graph* graph = graph_of("jvp", given);
  if (graph == nullptr)
    throw Error(
        "jvp: it needs values of a graph, and those of Input() are in none yet; call it inside a "
        "Lambda, or the call() of a layer");
  Values at = place(*graph, primals);
  Jvp found{.outputs = f(at), .tangents = {}};
  for (const Value& output : found.outputs) {
    Value y = place(*graph, output);
    Value u = stop_gradient(y);  // of y's shape; which one does not matter
    Values back = gradients(sum(y * u), at, {.unconnected = Unconnected::zeros});
    Value along;
    for (size_t i = 0; i < back.size(); ++i) {
      Value term = sum(back[i] * tangents[i]);
      along = along.defined() ? along + term : term;
    }
    found.tangents.push_back(gradients(along, Values{u}, {.unconnected = Unconnected::zeros})[0]);
  }
  return found;
}

}  // namespace stoker::ops
