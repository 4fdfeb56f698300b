// Tier 1: the time of every op of a training step, with its costs.
#pragma once

#include <span>
#include <vector>

#include "observe/evidence.h"
#include "observe/machine_peaks.h"
#include "train/model_base.h"

namespace stoker {

// Trains `steps` steps on this batch. One row a layer, op and direction, the longest first; shares
// of the machine's peaks are not in them yet.
std::vector<LayerReport> time_layers(ModelBase& model, std::span<const Tensor> batch, int steps);
// Fills in the shares and the class of each. An op that computes faster than the peak raises it.
// `held`: bytes of the whole step, which decide whether it lives in the cache.
void rate_layers(std::vector<LayerReport>& layers, const Context& context, double held);

// What a verdict needs of them; shares are those of all layers together.
void add_layers(DeviceFacts& device, const std::vector<LayerReport>& layers);
// Of the computing: ops that are a user's code on the host.
double host_share(const DeviceFacts& device);

// The class of an op by the shares that it reaches.
Limit limit_of_shares(double compute, double bandwidth);

}  // namespace stoker
