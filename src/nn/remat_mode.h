// Which calls of layers the backward pass computes again: what stoker/remat.h's scopes say of them.
#pragma once

#include <memory>

#include <stoker/layer.h>

namespace stoker {

// Of the innermost RematScope of this thread; null: there is none.
std::shared_ptr<const RematScopeOptions> current_remat();

// Whether the whole call of a layer is, given what it returned.
bool recomputes_call(const LayerBase& layer, const Values& outputs);
// Whether its activation functions are.
bool recomputes_activations(const LayerBase& layer);

}  // namespace stoker
