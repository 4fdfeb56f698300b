// What Stoker's own safetensors files say about themselves: docs/formats/stoker-model.md.
#pragma once

#include <initializer_list>
#include <string>

#include "formats/safetensors.h"

namespace stoker {

inline constexpr const char* kModelFormat = "stoker-model";
inline constexpr const char* kWeightsFormat = "stoker-weights";
inline constexpr const char* kStateFormat = "stoker-state";

inline constexpr const char* kWeightsPrefix = "weights/";  // of the names of weights in all of them

// An empty file of this format: its metadata, with checksums to be written.
SafetensorsFile file_of_format(const std::string& format);
// ValueError unless it is one of these, of a version this library reads, with the checksums that
// the version has.
void check_format(const SafetensorsFile& file, std::initializer_list<const char*> formats);
// ValueError when it is missing.
const std::string& metadata_of(const SafetensorsFile& file, const std::string& key);

}  // namespace stoker
