// The live worker of the pipeline workloads, as workers/protocol.py describes.
#pragma once

#include <string>

#include <stoker/dataset.h>
#include <stoker/image.h>

namespace stoker::peers {

void serve_pipelines();

// A folder of classes of JPEG files: decoded, random-resized-cropped and flipped for training;
// resized whole for tests. Batches of uint8[B, size, size, 3] and int64[B].
data::Dataset scenes(const std::string& folder, int64_t size, int64_t batch, bool training);

}  // namespace stoker::peers
