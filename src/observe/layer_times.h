// Tier 1: the time of every op of a training step, with its costs.
#pragma once

#include <span>
#include <vector>

#include "observe/evidence.h"
#include "observe/machine_peaks.h"
#include "train/model_base.h"

namespace stoker {

// Trains `steps` steps on this batch. One row a layer, op and direction, the longest first.
std::vector<LayerReport> time_layers(ModelBase& model, std::span<const Tensor> batch, int steps,
                                     const MachinePeaks& peaks);

// What a verdict needs of them; shares are those of all layers together.
void add_layers(DeviceFacts& device, const std::vector<LayerReport>& layers);
// Of the computing: ops that are a user's code on the host.
double host_share(const DeviceFacts& device);

// The class of an op by the shares that it reaches.
Limit limit_of_shares(double compute, double bandwidth);

}  // namespace stoker
