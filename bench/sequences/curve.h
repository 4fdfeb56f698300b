// The losses of a small GPT, step by step, for a comparison with another framework (curve.py).
#pragma once

#include <string>

namespace stoker::bench {

// Writes FOLDER/weights.safetensors (the initial weights, numbered in their order), trains for 200
// steps on batches that a formula gives, and writes FOLDER/stoker.json: {"losses": […]}.
int write_curve(const std::string& folder);

}  // namespace stoker::bench
