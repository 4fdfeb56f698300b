// ResNet-50 trained on photographs that 16 cores decode, against the same step on photographs that
// lie on the GPU.
#pragma once

#include <string>

#include "common/report.h"

namespace stoker::bench {

// photos: a folder of JPEG files; empty: made-up pictures.
void measure_fed(const std::string& photos, const std::string& device, Report& report);

}  // namespace stoker::bench
