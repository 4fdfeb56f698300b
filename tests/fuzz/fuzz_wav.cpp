#include <string>
#include <vector>

#include <stoker/error.h>

#include "formats/wav.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    stoker::Wav wav = stoker::read_wav(bytes);
    stoker::test::expect(wav.frames * wav.channels <= int64_t(size));
    std::vector<float> samples(size_t(wav.frames * wav.channels));
    stoker::decode_wav(wav, wav.frames, samples.data());
    stoker::test::touch(std::as_bytes(std::span(samples)));
  } catch (const stoker::FileError&) {
  }
  return 0;
}
