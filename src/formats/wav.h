// Sound in WAV files: uncompressed PCM of 8, 16, 24 and 32 bits, and floats of 32 and 64 bits. Files
// are not trusted: whatever is wrong is a FileError without the file's name, which the reader adds.
#pragma once

#include <cstdint>
#include <string_view>

namespace stoker {

struct Wav {
  int64_t sampling_rate = 0;  // frames per second
  int64_t channels = 0;
  int64_t frames = 0;
  int bits = 0;  // per sample
  bool is_float = false;
  std::string_view samples;  // [frames, channels] as in the file
};

// Views into `bytes`.
Wav read_wav(std::string_view bytes);

// The first `frames` frames as float32 [frames, channels], -1 … 1.
void decode_wav(const Wav& wav, int64_t frames, float* out);

}  // namespace stoker
