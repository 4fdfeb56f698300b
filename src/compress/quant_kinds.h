// What quantisation has to know of a kind of layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <stoker/layer.h>

namespace stoker::compress {

// --- layers that quantize_aware() makes ---

inline constexpr const char *kAwareLayer = "QuantizationAware", *kRangeLayer = "FakeQuantize";
bool is_aware(const Layer& layer);
bool is_range(const Layer& layer);

// --- products ---

// A layer with a kernel whose sums of products an int8 kernel computes.
bool is_product(const Layer& layer);
// Kind and options of a product, of the one inside where it is aware.
std::string product_kind(const Layer& layer);
Attrs product_config(const Layer& layer);
bool is_depthwise(const Layer& layer);
// How many products a sum of the layer has.
int64_t products_of(const Layer& layer);

// --- others ---

// The range that a relu leaves.
struct Clip {
  std::optional<double> high = {};
};
// A relu, with or without an upper end; nothing for other layers.
std::optional<Clip> clip_of(const Layer& layer);
// Whether each element of the output comes from that of the input alone, without weights.
bool is_elementwise(const Layer& layer);
// Whether predictions leave it out: dropout.
bool is_dropped(const std::string& kind);
// Whether it only moves or repeats elements.
bool is_moved(const Layer& layer);
// Whether its option `axis` is the last of `rank` axes.
bool is_last_axis(const Layer& layer, int rank);

}  // namespace stoker::compress
