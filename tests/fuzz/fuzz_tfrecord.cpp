// The first byte: bit 0 makes checksums right, bit 1 switches off that of the data, the rest is the
// size of the buffer. Reading on, and going to the places of an index, must give the same records.
#include <cstring>
#include <vector>

#include <stoker/error.h>

#include "base/memory_file.h"
#include "formats/crc32c.h"
#include "formats/tfrecord.h"
#include "fuzz/fuzz.h"

namespace {

using namespace stoker;

void put_crc(std::span<std::byte> bytes, size_t begin, size_t count) {
  uint32_t crc = mask_crc32c(crc32c(bytes.subspan(begin, count)));
  std::memcpy(bytes.data() + begin + count, &crc, sizeof(crc));
}

// Walks over the headers as a reader would.
void repair(std::span<std::byte> bytes) {
  size_t at = 0;
  while (bytes.size() - at >= 12) {
    put_crc(bytes, at, 8);
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof(length));
    if (length > bytes.size() || bytes.size() - at - 12 < length + 4) return;
    put_crc(bytes, at + 12, size_t(length));
    at += 16 + size_t(length);
  }
}

struct Outcome {
  std::vector<std::vector<std::byte>> records;
  bool failed = false;
};

Outcome read_on(std::span<const std::byte> bytes, const TFRecordOptions& options) {
  Outcome outcome;
  MemoryFile file("input", bytes);
  uint64_t total = 0;
  try {
    TFRecordReader reader(file, options);
    while (auto record = reader.next()) {
      test::touch(record->bytes);
      total += record->bytes.size() + 16;
      if (total > 1 << 22) break;  // a compressed file can be long
      outcome.records.emplace_back(record->bytes.begin(), record->bytes.end());
    }
  } catch (const FileError&) {
    outcome.failed = true;
  }
  return outcome;
}

Outcome read_by_index(std::span<const std::byte> bytes, const TFRecordOptions& options) {
  Outcome outcome;
  MemoryFile file("input", bytes);
  try {
    for (const TFRecordPlace& place : index_tfrecord(file, options)) {
      outcome.records.emplace_back();
      read_tfrecord(file, place, outcome.records.back(), options);
    }
  } catch (const FileError&) {
    outcome.failed = true;
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  test::Input input(data, size);
  uint8_t choices = input.byte();
  std::vector<std::byte> bytes(input.rest().begin(), input.rest().end());
  if (choices & 1) repair(bytes);
  TFRecordOptions options{.check_data = (choices & 2) == 0, .buffer_bytes = size_t(choices >> 2)};
  read_on(bytes, options);

  options.compression = TFRecordCompression::none;
  Outcome on = read_on(bytes, options), by_index = read_by_index(bytes, options);
  test::expect(on.failed == by_index.failed);
  if (!on.failed) test::expect(on.records == by_index.records);
  return 0;
}
