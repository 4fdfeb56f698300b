// The width multiplier.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compress/channels.h"
#include "compress/lighter.h"
#include "compress/rebuild.h"

namespace stoker {

namespace {

using compress::ChannelMap;

// To the nearest multiple, and not below nine tenths of what was asked for, as MobileNet does.
int64_t scaled_width(int64_t count, double multiplier, int64_t multiple_of) {
  double wanted = double(count) * multiplier;
  int64_t step = count < multiple_of ? 1 : multiple_of;
  int64_t width = std::max(step, int64_t(wanted + double(step) / 2) / step * step);
  return double(width) < 0.9 * wanted ? width + step : width;
}

struct Widths {
  struct Group {
    int64_t before = 0, after = 0;
  };
  std::vector<Group> groups;
  std::map<int, size_t> group_of;  // by root; others stay one by one
};

Widths new_widths(const ChannelMap& map, double multiplier, const WidthOptions& options,
                  LighterReport& report) {
  Widths widths;
  for (const ChannelMap::Group& group : map.groups()) {
    std::string kernels = fmt::format("{}", fmt::join(group.kernels, ", "));
    std::vector<int> free;
    for (int root : group.roots)
      if (map.fixed(root).empty()) free.push_back(root);
    bool excluded = std::ranges::any_of(group.kernels, [&](const std::string& kernel) {
      return compress::names_it(options.exclude, kernel);
    });
    if (free.empty() || excluded) {
      report.unchanged.push_back(
          {kernels, excluded ? "is in .exclude" : map.fixed(group.roots[0])});
      continue;
    }
    auto before = int64_t(free.size());
    int64_t after = scaled_width(before, multiplier, options.multiple_of);
    for (int root : free) widths.group_of[root] = widths.groups.size();
    widths.groups.push_back({before, after});
    report.changes.push_back({kernels, fmt::format("{} → {} channels", before, after), {}});
  }
  return widths;
}

// Every channel of a group stands in an axis equally often.
int64_t new_extent(const ChannelMap& map, const Widths& widths, const compress::Channels& axis) {
  std::map<size_t, int64_t> counts;
  int64_t extent = 0;
  for (int channel : axis) {
    auto found = widths.group_of.find(map.root(channel));
    if (found == widths.group_of.end())
      ++extent;
    else
      ++counts[found->second];
  }
  for (const auto& [index, count] : counts)
    extent += count * widths.groups[index].after / widths.groups[index].before;
  return extent;
}

}  // namespace

Lighter scale_width(const Model& model, double multiplier, const WidthOptions& options) {
  if (!(multiplier > 0 && multiplier <= 1e6))
    throw ValueError(
        fmt::format("scale_width: the multiplier is {}, expected a number above 0 and at most 1e6",
                    multiplier));
  if (options.multiple_of < 1)
    throw ValueError(
        fmt::format("scale_width: multiple_of is {}, expected 1 or more", options.multiple_of));
  compress::Selection selection(model, {}, options.exclude, "scale_width");
  ChannelMap map(model, "scale_width");
  LighterReport report;
  Widths widths = new_widths(map, multiplier, options, report);
  selection.check_changed(report);
  auto make = [&](const Layer& layer, const std::string& path) {
    Attrs config = compress::with_extents(
        layer, map, [&](const compress::Channels& axis) { return new_extent(map, widths, axis); });
    return compress::made_again(layer, config, path, options.custom_objects);
  };
  Model made = rebuilt(model, make, "scale_width");
  compress::count_costs(model, made, report);
  return {made, std::move(report)};
}

}  // namespace stoker
