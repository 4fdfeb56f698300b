// From evidence to a verdict and to what can be changed: pure functions, by the tables of rules.h.
#pragma once

#include <vector>

#include "observe/evidence.h"

namespace stoker::doctor {

// By `least_steps` or more; what fewer show is unstable.
Verdict judge(const Evidence& evidence, int64_t least_steps);
Verdict judge(const Evidence& evidence);  // by as many as a verdict needs
// The part of it that needs no name and no proof, for the word of a progress bar.
Limit limit_of(const Evidence& evidence);

// What to do about it, what helps most first. Empty for a healthy run.
std::vector<Prescription> prescriptions_for(const Verdict& verdict, const Evidence& evidence);

}  // namespace stoker::doctor
