// What is said where people look: beside an epoch's numbers, and at the end of a fit.
#pragma once

#include <string>

#include "observe/evidence.h"

namespace stoker::doctor {

double waiting(const StepShares& shares);      // the device neither computes nor is unexplained
Owner longest_wait(const StepShares& shares);  // what it waited for most

// One line for a fit that waited: the cause, what to do, and what that brings. Empty where the
// device waited for too little, or nothing can be said. A short fit is judged by the steps it has.
std::string advice_for(const Diagnosis& diagnosis, const Evidence& evidence);

}  // namespace stoker::doctor
