// prune() for channels: whole filters of small magnitude, with all weights that make and read them.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/flops.h>

#include "compress/channels.h"
#include "compress/masks.h"
#include "compress/rebuild.h"
#include "compress/remove_channels.h"

namespace stoker::compress {

namespace {

// Floats of an AVX-512 register. Kernels compute whole registers of channels: 37 cost what 48 cost.
constexpr int64_t kVector = 16;

// Channels of one group that may go, the smallest first.
struct Candidates {
  std::vector<int> roots;
  std::vector<double> importance;  // of each
};

// Per channel the mean, over all kernels that make or read it, of its share of the kernel's squared
// norm. 1: like the others of its kernel. Kernels of any scale so count alike.
std::map<int, double> importances(const ChannelMap& map) {
  std::map<int, std::pair<double, int64_t>> sums;
  for (const ChannelAxis& axis : map.axes()) {
    if (axis.role == AxisRole::follows || axis.weight.shape().rank() < 2) continue;
    Tensor values = axis.weight.read();
    check_finite(axis.name, values);
    std::vector<float> squares = values.to_vector<float>();
    for (float& each : squares) each *= each;
    std::vector<double> along = sums_along(axis.weight.shape(), axis.axis, squares);
    std::map<int, double> of_kernel;
    double total = 0;
    for (size_t i = 0; i < along.size(); ++i) {
      of_kernel[map.root(axis.channels[i])] += along[i];
      total += along[i];
    }
    if (total == 0) continue;
    for (const auto& [root, norm] : of_kernel) {
      sums[root].first += norm * double(of_kernel.size()) / total;
      ++sums[root].second;
    }
  }
  std::map<int, double> means;
  for (const auto& [root, sum] : sums) means[root] = sum.first / double(sum.second);
  return means;
}

class ChannelPruning {
 public:
  ChannelPruning(const Model& model, const PruneOptions& options)
      : model_(model), options_(options), map_(model, "prune") {
    NamedVariables selected = selected_kernels(model, options, report_.not_pruned);
    std::erase_if(report_.not_pruned,
                  [](const NotPruned& each) { return each.reason != "is in .exclude"; });
    std::map<int, double> importance = importances(map_);
    Roots hidden = unread_channels(map_);
    for (const ChannelMap::Group& group : map_.groups()) {
      if (!is_asked(group, selected)) continue;
      Candidates free;
      for (int root : group.roots)
        if (map_.fixed(root).empty()) {
          free.roots.push_back(root);
          free.importance.push_back(hidden.contains(root) ? -1 : importance[root]);
        }
      if (free.roots.size() < 2)
        refuse(group, free.roots.empty() ? "its channels stay: " + map_.fixed(group.roots[0])
                                         : "it has a single channel");
      else
        groups_.push_back(std::move(free));
    }
    if (groups_.empty())
      throw ValueError(fmt::format("prune: no layer of the model has channels that can go{}",
                                   report_.not_pruned.empty()
                                       ? ""
                                       : fmt::format(": {}: {}", report_.not_pruned[0].layer,
                                                     report_.not_pruned[0].reason)));
  }

  PruneReport run(bool dry) {
    Roots removed =
        chosen(options_.flops ? counts_for(*options_.flops) : counts_at(options_.sparsity));
    if (!dry) hide_channels(removed);
    PruneReport report = measured(model_);
    report.kind = PruneKind::channels;
    report.not_pruned = std::move(report_.not_pruned);
    for (const Candidates& group : groups_) report.channels += int64_t(group.roots.size());
    report.removed = int64_t(removed.size());
    report.notes = notes(removed);
    return report;
  }

 private:
  // Every kernel of a group has to be free to lose channels.
  bool is_asked(const ChannelMap::Group& group, const NamedVariables& selected) {
    auto is_selected = [&](const std::string& kernel) {
      return std::ranges::any_of(selected, [&](const auto& each) { return each.first == kernel; });
    };
    if (!options_.layers.empty()) return std::ranges::any_of(group.kernels, is_selected);
    for (const std::string& kernel : group.kernels)
      if (names_it(options_.exclude, kernel)) {
        report_.not_pruned.push_back({fmt::format("{}", fmt::join(group.kernels, ", ")),
                                      fmt::format("\"{}\" is in .exclude", kernel)});
        return false;
      }
    return true;
  }

  void refuse(const ChannelMap::Group& group, const std::string& reason) {
    std::string kernels = fmt::format("{}", fmt::join(group.kernels, ", "));
    if (!options_.layers.empty())
      throw ValueError(fmt::format("prune: {} cannot lose channels: {}", kernels, reason));
    report_.not_pruned.push_back({kernels, reason});
  }

  // What a group of this many channels keeps multiples of.
  int64_t multiple_for(int64_t count) const {
    if (options_.multiple_of) return count >= *options_.multiple_of ? *options_.multiple_of : 1;
    if (!options_.flops) return 1;
    int64_t multiple = kVector;
    while (multiple > 1 && count < 2 * multiple) multiple /= 2;
    return multiple;
  }

  // How many of a group go, given how many would: one stays, and multiples are kept.
  int64_t rounded(int64_t count, int64_t wanted) const {
    int64_t multiple = multiple_for(count), kept = std::max<int64_t>(count - wanted, 1);
    return count - std::min((kept + multiple - 1) / multiple * multiple, count);
  }

  // How many channels of each group go.
  using Counts = std::vector<int64_t>;
  Counts counts_at(double sparsity) const {
    double limit = options_.scope == PruneScope::global ? global_limit(sparsity) : 0;
    Counts counts;
    for (const Candidates& group : groups_) {
      auto count = int64_t(group.roots.size());
      counts.push_back(rounded(
          count,
          options_.scope == PruneScope::global
              ? std::ranges::count_if(group.importance, [&](double each) { return each < limit; })
              : std::llround(sparsity * double(count))));
    }
    return counts;
  }

  // The least important ones of each group.
  Roots chosen(const Counts& counts) const {
    Roots removed;
    for (size_t index = 0; index < groups_.size(); ++index) {
      const Candidates& group = groups_[index];
      std::vector<size_t> order(group.roots.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::ranges::stable_sort(order, {}, [&](size_t i) { return group.importance[i]; });
      for (int64_t i = 0; i < counts[index]; ++i) removed.insert(group.roots[order[size_t(i)]]);
    }
    return removed;
  }

  // What this share of all channels lies below.
  double global_limit(double sparsity) const {
    std::vector<double> all;
    for (const Candidates& group : groups_)
      all.insert(all.end(), group.importance.begin(), group.importance.end());
    std::ranges::sort(all);
    return all[std::min(size_t(std::llround(sparsity * double(all.size()))), all.size() - 1)];
  }

  double flops_without(const Counts& counts) const {
    return count_flops(without_channels(model_, map_, chosen(counts), options_.custom_objects,
                                        NewWeights::drawn, "prune"));
  }

  // The smallest sparsity, to 1/256, that leaves this share of the FLOPs. Where layers keep multiples
  // the next larger sparsity may leave far less: channels come back then, as many as the share allows.
  Counts counts_for(double share) const {
    if (!(share > 0 && share < 1))
      throw ValueError(fmt::format(
          "prune: flops is {}, the share to leave; expected a number in (0, 1)", share));
    constexpr double kMost = 255.0 / 256;
    double all = count_flops(model_), least = flops_without(counts_at(kMost));
    if (least > share * all)
      throw ValueError(fmt::format(
          "prune: flops is {}, but with as few channels per layer as can be {:.3f} of the FLOPs "
          "are left; the rest belongs to channels that stay{}",
          share, least / all,
          options_.multiple_of == 1 ? "" : ", or to multiples that .multiple_of = 1 would divide"));
    double below = 0, enough = kMost;
    while (enough - below > 1.0 / 256) {
      double middle = (below + enough) / 2;
      (flops_without(counts_at(middle)) <= share * all ? enough : below) = middle;
    }
    return filled(counts_at(enough), share * all);
  }

  // Gives channels back, a multiple at a time, where a group has lost the largest share of its own;
  // among equals to the last: a channel of an early layer also costs a pass over a large image.
  Counts filled(Counts counts, double most) const {
    std::vector<size_t> open(counts.size());
    for (size_t i = 0; i < open.size(); ++i) open[i] = i;
    auto lost = [&](size_t i) { return double(counts[i]) / double(groups_[i].roots.size()); };
    std::erase_if(open, [&](size_t i) {
      return counts[i] == 0 || multiple_for(int64_t(groups_[i].roots.size())) == 1;
    });
    while (!open.empty()) {
      size_t next =
          *std::ranges::max_element(open, {}, [&](size_t i) { return std::pair(lost(i), i); });
      int64_t before = counts[next];
      counts[next] -= std::min(before, multiple_for(int64_t(groups_[next].roots.size())));
      bool fits = flops_without(counts) <= most;
      if (!fits) counts[next] = before;
      if (!fits || counts[next] == 0) std::erase(open, next);
    }
    return counts;
  }

  void hide_channels(const Roots& removed) {
    std::map<const void*, std::pair<Variable, Kept>> masks;
    for (const ChannelAxis& axis : map_.axes()) {
      if (axis.role == AxisRole::follows) continue;
      const Shape& shape = axis.weight.shape();
      auto& [weight, kept] = masks[axis.weight.id()];
      if (kept.empty()) kept.assign(size_t(shape.elements()), 1);
      weight = axis.weight;
      Kept goes;
      for (int channel : axis.channels) goes.push_back(removed.contains(map_.root(channel)));
      int64_t inner = 1;
      for (int i = axis.axis + 1; i < shape.rank(); ++i) inner *= shape[i];
      for (size_t i = 0; i < kept.size(); ++i)
        if (goes[size_t(int64_t(i) / inner % shape[axis.axis])] != 0) kept[i] = 0;
    }
    for (auto& [id, mask] : masks)
      if (std::ranges::count(mask.second, uint8_t(0)) > 0)
        hide(model_, mask.first, std::move(mask.second));
  }

  std::vector<std::string> notes(const Roots& removed) const {
    std::set<std::string> mixing;
    for (int root : removed)
      if (!map_.mixed(root).empty()) mixing.insert(map_.mixed(root));
    std::vector<std::string> lines;
    for (const std::string& layer : mixing)
      lines.push_back(
          fmt::format("{} normalises over all channels: without the hidden "
                      "ones its results change, so train "
                      "the model that strip() returns a little",
                      layer));
    return lines;
  }

  const Model& model_;
  const PruneOptions& options_;
  ChannelMap map_;
  PruneReport report_;
  std::vector<Candidates> groups_;
};

}  // namespace

PruneReport prune_channels(const Model& model, const PruneOptions& options, bool dry) {
  if (options.multiple_of && *options.multiple_of < 1)
    throw ValueError(
        fmt::format("prune: multiple_of is {}, expected 1 or more", *options.multiple_of));
  return ChannelPruning(model, options).run(dry);
}

}  // namespace stoker::compress
