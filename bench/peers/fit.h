// A whole fit from process start, with its report as one JSON line.
#pragma once

#include <string>

namespace stoker::peers {

// `job` is JSON: {"data": "digits", "folder": …, "samples": …, "batch": …, "epochs": …}.
void fit(const std::string& job);

// One step of the CNN 32/64 on 32 samples, then a line: what start-up is measured with.
void start();

}  // namespace stoker::peers
