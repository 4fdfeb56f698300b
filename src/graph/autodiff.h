// What gradient rules use of differentiation itself.
#pragma once

#include "graph/op.h"

namespace stoker {

// An op as a composition of other ops that have gradients: attributes and inputs → outputs. It need
// not be fast; it is what the op's own gradient is derived from.
using Composition = std::function<Values(const Attrs&, const Values& inputs)>;

// The gradient rule of an op that equals this composition: emits it and differentiates it.
decltype(OpDef::gradient) gradient_of(Composition composition);

// d(loss)/d(inputs) through `compute(inputs)`, given d(loss)/d(outputs), of which some may be
// undefined. Undefined where `needed` says so, or where no output depends on an input. An input
// that stands twice gets its whole gradient at its first place.
Values pull_back(Graph& graph, const Values& inputs, const std::vector<bool>& needed,
                 const std::function<Values(const Values&)>& compute,
                 const Values& output_gradients);

}  // namespace stoker
