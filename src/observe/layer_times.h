// Tier 1: the time of every op of a training step, with its costs.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "engine/backend.h"
#include "observe/evidence.h"
#include "observe/machine_peaks.h"
#include "train/model/model_base.h"

namespace stoker::doctor {

// Trains `steps` steps on this batch. One row per layer, op and direction, the longest first; shares
// of the machine's peaks are not in them yet.
std::vector<LayerReport> time_layers(ModelBase& model, std::span<const Tensor> batch, int steps);
// Fills in the shares and the class of each. An op that computes faster than the peak raises it.
// `held`: bytes of the whole step, which decide whether it lives in the cache.
void rate_layers(std::vector<LayerReport>& layers, const Context& context, double held);

// What names a row: layer, op and direction.
using OpKey = std::tuple<std::string, std::string, Phase>;
// Bytes of what ops give, as a graph has them.
std::map<OpKey, double> result_bytes(const Graph& graph);

// The same from the seconds that every kernel took in a step.
std::vector<LayerReport> layer_rows(const std::vector<KernelInfo>& kernels,
                                    std::span<const double> seconds,
                                    const std::map<OpKey, double>& results);

inline constexpr double kLongEnough = 50e-6;  // seconds, for a rate that can be believed

// What a verdict needs of them; shares are those of all layers together. `held` as above.
void add_layers(DeviceFacts& device, const std::vector<LayerReport>& layers,
                const MachinePeaks& peaks, double held);
// What the ops of `layers` reach with a batch twice as large, by how much nearer to their limits
// they came when both were timed in turns.
void add_doubled(DeviceFacts& device, const std::vector<LayerReport>& layers,
                 const std::vector<LayerReport>& now, const std::vector<LayerReport>& doubled);
// Of each op the shorter time of both.
void keep_best(std::vector<LayerReport>& best, const std::vector<LayerReport>& rows);
// What a row does with memory.
Moved moved_by(const LayerReport& row);

// The class of an op by the shares that it reaches.
Limit limit_of_shares(double compute, double bandwidth);

}  // namespace stoker::doctor
