// A note of a graph (Graph::notes): layers whose outputs someone wants to know. Put there before a
// model is traced; the layer's first call fills in its first output. Layers at any depth are seen,
// but for those that are called in the body of a loop, which is a graph of its own.
#pragma once

#include <map>

#include <stoker/layer.h>

namespace stoker {

struct WatchedLayers {
  std::map<const LayerBase*, Value> outputs;  // undefined until the layer has been called
};

}  // namespace stoker
