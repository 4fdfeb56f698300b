// A model without some of its channels.
#pragma once

#include <set>

#include <stoker/model.h>

#include "compress/channels.h"

namespace stoker::compress {

using Roots = std::set<int>;  // of a ChannelMap

enum class NewWeights : uint8_t {
  sliced,  // the model's own, masks applied
  drawn,
};

// A new model without the channels of `removed`. `map` is of `model`.
Model without_channels(const Model& model, const ChannelMap& map, const Roots& removed,
                       const CustomObjects& objects, NewWeights weights, const char* action);

// Channels that no weight reads any more, as the masks say. Every group keeps one.
Roots unread_channels(const ChannelMap& map);

// Per index of the axis, the sum of `values` (one per element of the weight) over all others.
std::vector<double> sums_along(const Shape& shape, int axis, const std::vector<float>& values);

}  // namespace stoker::compress
