#include "compress/remove_channels.h"

#include <algorithm>

#include <stoker/prune.h>

#include "compress/masks.h"
#include "compress/rebuild.h"

namespace stoker::compress {

namespace {

std::vector<int64_t> kept_indices(const ChannelMap& map, const Channels& channels,
                                  const Roots& removed) {
  std::vector<int64_t> kept;
  for (size_t i = 0; i < channels.size(); ++i)
    if (!removed.contains(map.root(channels[i]))) kept.push_back(int64_t(i));
  return kept;
}

// The slices at these indices of the axis, in their order.
Tensor taken(const Tensor& from, int axis, const std::vector<int64_t>& indices) {
  Shape shape = from.shape();
  int64_t outer = 1, inner = 1, extent = shape[axis];
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= shape[i];
  shape.set(axis, int64_t(indices.size()));
  Tensor to(DType::float32, shape);
  const float* source = from.data<float>();
  float* out = to.data_mut<float>();
  for (int64_t block = 0; block < outer; ++block)
    for (int64_t index : indices)
      out = std::copy_n(source + (block * extent + index) * inner, inner, out);
  return to;
}

Tensor masked_values(const Variable& weight) {
  Tensor values = weight.read();
  if (!weight.mask().defined()) return values;
  Kept kept = kept_of(weight);
  float* out = values.data_mut<float>();
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i] == 0) out[i] = 0.0F;
  return values;
}

TensorsByName sliced_weights(const Model& model, const ChannelMap& map, const Roots& removed) {
  TensorsByName tensors;
  for (const auto& [name, weight] : named_weights(ModelAccess::base(model)))
    tensors[name] = masked_values(weight);
  for (const ChannelAxis& axis : map.axes()) {
    std::vector<int64_t> kept = kept_indices(map, axis.channels, removed);
    Tensor& values = tensors.at(axis.name);
    if (kept.size() < axis.channels.size()) values = taken(values, axis.axis, kept);
  }
  return tensors;
}

}  // namespace

std::vector<double> sums_along(const Shape& shape, int axis, const std::vector<float>& values) {
  int64_t inner = 1, extent = shape[axis];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  std::vector<double> sums(static_cast<size_t>(extent), 0.0);
  for (size_t i = 0; i < values.size(); ++i)
    sums[size_t(int64_t(i) / inner % extent)] += double(values[i]);
  return sums;
}

Roots unread_channels(const ChannelMap& map) {
  std::set<int> read, made, candidates;
  for (const ChannelAxis& axis : map.axes()) {
    if (axis.role == AxisRole::follows) continue;
    Kept kept = kept_of(axis.weight);
    std::vector<double> left =
        sums_along(axis.weight.shape(), axis.axis, std::vector<float>(kept.begin(), kept.end()));
    for (size_t i = 0; i < axis.channels.size(); ++i) {
      int root = map.root(axis.channels[i]);
      if (axis.role == AxisRole::reads) candidates.insert(root);
      if (left[i] > 0) (axis.role == AxisRole::reads ? read : made).insert(root);
    }
  }
  std::erase_if(candidates, [&](int root) {
    bool felt = !map.mixed(root).empty() && made.contains(root);  // by what is normalised with it
    return read.contains(root) || felt || !map.fixed(root).empty();
  });
  for (const ChannelMap::Group& group : map.groups())
    if (std::ranges::all_of(group.roots, [&](int root) { return candidates.contains(root); }))
      candidates.erase(group.roots.front());
  return candidates;
}

Model without_channels(const Model& model, const ChannelMap& map, const Roots& removed,
                       const CustomObjects& objects, NewWeights weights, const char* action) {
  Model made = rebuilt(
      model,
      [&](const Layer& layer, const std::string& path) {
        Attrs config = with_extents(layer, map, [&](const Channels& axis) {
          return int64_t(kept_indices(map, axis, removed).size());
        });
        return made_again(layer, config, path, objects);
      },
      action);
  if (weights == NewWeights::sliced) write_weights(made, sliced_weights(model, map, removed));
  return made;
}

}  // namespace stoker::compress

namespace stoker {

Model strip(const Model& model, const StripOptions& options) {
  compress::ChannelMap map(model, "strip");
  return compress::without_channels(model, map, compress::unread_channels(map),
                                    options.custom_objects, compress::NewWeights::sliced, "strip");
}

}  // namespace stoker
