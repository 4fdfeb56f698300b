// From evidence to a verdict and to what can be changed: pure functions, by the rules of
// verdict.cpp in their order.
#pragma once

#include <vector>

#include "observe/evidence.h"

namespace stoker {

Verdict judge(const Evidence& evidence);
// The part of it that needs no name and no proof, for the word of a progress bar.
Limit limit_of(const Evidence& evidence);

// The layer that takes most of the computing, forwards and backwards, and its share.
std::pair<std::string, double> busiest_layer(const DeviceFacts& device);

// Ops that are a user's code on the host, nanoseconds a step.
double host_ns(const DeviceFacts& device);

// Its products could run on tensor cores, and do not.
bool wants_sixteen_bits(const DeviceFacts& device);

// What the host does between steps, or in a layer, is so much that it also delays calls and copies.
bool host_holds(const Evidence& evidence, const StepShares& share);

// What to do about it, what helps most first. Empty for a healthy run.
std::vector<Prescription> prescriptions_for(const Verdict& verdict, const Evidence& evidence);

}  // namespace stoker
