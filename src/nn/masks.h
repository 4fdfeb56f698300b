// The masks that values of a traced graph carry (layer.h). They are kept beside the graph while it is
// traced: a value that no layer masked costs nothing.
#pragma once

#include <string>

#include <stoker/layer.h>

namespace stoker {

// Undefined: none, or the value is not traced.
Value mask_of(const Value& value);
Values masks_of(const Values& values);
// As CallContext::set_mask; an undefined mask changes nothing. `who` opens the error.
void set_mask(const Value& value, const Value& mask, const std::string& who);
// `to` is `from` in another dtype or with a last dimension of 1: it carries the same mask.
void copy_mask(const Value& from, const Value& to);
// As bool; numbers count where they are not 0.
Value as_mask(const Value& mask);

// Sets compute_mask()'s masks on the outputs that carry none, and notes a mask that ends here.
void mask_outputs(Graph& graph, const LayerBase& layer, const Values& inputs, const Values& masks,
                  const Values& outputs);
// Titles of the layers that dropped a mask because they do not support masking, each once.
const std::vector<std::string>& layers_that_dropped_masks(Graph& graph);

}  // namespace stoker
