// The decoders of a thread's workspace. plan() opens a picture in one of them, and the pass that the
// plan asks for reads its pixels there.
#pragma once

#include "data/image/jpeg.h"
#include "data/image/png.h"

namespace stoker::image {

struct Readers {
  JpegReader jpeg;
  PngReader png;
};

}  // namespace stoker::image
