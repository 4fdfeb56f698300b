#include "formats/wav.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

constexpr uint32_t kWavPcm = 1, kWavFloat = 3, kWavExtensible = 0xFFFE;

// Little-endian, of `count` bytes.
uint64_t wav_number(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t(uint8_t(bytes[at + i])) << (8 * i);
  return value;
}

void read_wav_format(std::string_view chunk, Wav& wav) {
  if (chunk.size() < 16)
    throw FileError(fmt::format("WAV: a format chunk of {} bytes, expected 16", chunk.size()));
  auto code = uint32_t(wav_number(chunk, 0, 2));
  if (code == kWavExtensible && chunk.size() >= 26) code = uint32_t(wav_number(chunk, 24, 2));
  wav.channels = int64_t(wav_number(chunk, 2, 2));
  wav.sampling_rate = int64_t(wav_number(chunk, 4, 4));
  wav.bits = int(wav_number(chunk, 14, 2));
  wav.is_float = code == kWavFloat;
  bool known = wav.is_float ? wav.bits == 32 || wav.bits == 64
                            : code == kWavPcm && (wav.bits == 8 || wav.bits == 16 ||
                                                  wav.bits == 24 || wav.bits == 32);
  if (!known)
    throw FileError(fmt::format(
        "WAV: format {} with {} bits is not supported; expected PCM of 8, 16, 24 or 32 bits, or "
        "floats of 32 or 64",
        code, wav.bits));
  if (wav.channels < 1) throw FileError("WAV: no channels");
}

float wav_sample(const char* at, int bits, bool is_float) {
  std::string_view bytes(at, size_t(bits / 8));
  uint64_t raw = wav_number(bytes, 0, bytes.size());
  if (is_float && bits == 32) return std::bit_cast<float>(uint32_t(raw));
  if (is_float) return float(std::bit_cast<double>(raw));
  if (bits == 8) return float(int64_t(raw) - 128) / 128.0F;  // the only unsigned one
  int64_t shifted = int64_t(raw << (64 - bits)) >> (64 - bits);
  return float(double(shifted) / double(int64_t(1) << (bits - 1)));
}

}  // namespace

Wav read_wav(std::string_view bytes) {
  if (bytes.size() < 12 || !bytes.starts_with("RIFF") || bytes.substr(8, 4) != "WAVE")
    throw FileError("no WAV file: it does not begin with RIFF and WAVE");
  Wav wav;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    std::string_view id = bytes.substr(at, 4);
    size_t size = size_t(wav_number(bytes, at + 4, 4)), rest = bytes.size() - at - 8;
    bool streamed = id == "data" && size == 0xFFFFFFFF;  // the writer did not know
    if (size > rest && !streamed)
      throw FileError(
          fmt::format("WAV: a chunk of {} bytes with {} left; the file is cut off", size, rest));
    std::string_view chunk = bytes.substr(at + 8, std::min(size, rest));
    if (id == "fmt ") read_wav_format(chunk, wav);
    if (id == "data") {
      if (wav.channels == 0) throw FileError("WAV: samples before the format chunk");
      wav.frames = int64_t(chunk.size()) / (wav.channels * (wav.bits / 8));
      wav.samples = chunk;
      return wav;
    }
    at += 8 + chunk.size() + (chunk.size() & 1);
  }
  throw FileError("WAV: no samples in it");
}

void decode_wav(const Wav& wav, int64_t frames, float* out) {
  int64_t width = wav.bits / 8, count = std::min(frames, wav.frames) * wav.channels;
  for (int64_t i = 0; i < count; ++i)
    out[i] = wav_sample(wav.samples.data() + i * width, wav.bits, wav.is_float);
}

}  // namespace stoker
