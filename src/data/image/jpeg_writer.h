// Writing JPEG with libjpeg: from pixels, or from the coefficients of another JPEG.
#pragma once

#include <string>
#include <string_view>

#include <stoker/image.h>

namespace stoker::image {

void write_jpeg(const Image& picture, const EncodeJpeg& options, std::string& out);

// The same coefficients, baseline, with a restart marker about every options.mcus blocks: at
// distances that divide the row, so that the markers stand in columns.
void rewrite_jpeg(std::string_view jpeg, const RestartMarkers& options, std::string& out);

}  // namespace stoker::image
