// A dataset of one shard. The input: a byte of choices (bit 0: make the ends, the index's checksum
// and those of the records right; bit 1: map; bit 2: check), the number of components, for each its
// dtype, rank and dimensions, then the shard.
#include <cstring>
#include <string>
#include <vector>

#include <stoker/error.h>

#include "base/file.h"
#include "formats/crc32c.h"
#include "formats/shard_manifest.h"
#include "formats/shards.h"
#include "fuzz/fuzz.h"
#include "support/memory_files.h"

namespace {

using namespace stoker;

std::vector<TensorSpec> take_spec(test::Input& input) {
  std::vector<TensorSpec> spec(input.byte() % 5);
  for (TensorSpec& component : spec) {
    component.dtype = DType(input.byte() % (int(DType::bytes) + 1));
    std::vector<int64_t> dims(input.byte() % 4);
    for (int64_t& extent : dims) extent = int64_t(input.byte()) - 1;
    component.shape = Shape(dims);
  }
  return spec;
}

// Leaves alone what cannot be made right.
void repair(std::string& shard) {
  constexpr size_t kEnds = sizeof(ShardHeader) + sizeof(ShardFooter);
  if (shard.size() < kEnds) return;
  ShardHeader header;
  ShardFooter footer;
  char* end = shard.data() + shard.size() - sizeof(footer);
  std::memcpy(&footer, end, sizeof(footer));
  footer.records %= (shard.size() - kEnds) / sizeof(ShardIndexEntry) + 1;
  size_t index_bytes = size_t(footer.records) * sizeof(ShardIndexEntry);
  char* index = end - index_bytes;
  footer.index_offset = uint64_t(index - shard.data());
  for (char* at = index; at < end; at += sizeof(ShardIndexEntry)) {
    ShardIndexEntry entry;
    std::memcpy(&entry, at, sizeof(entry));
    if (entry.offset <= shard.size() && entry.bytes <= shard.size() - entry.offset)
      entry.crc = crc32c(as_bytes(shard).subspan(size_t(entry.offset), size_t(entry.bytes)));
    std::memcpy(at, &entry, sizeof(entry));
  }
  footer.index_crc = crc32c(as_bytes({index, index_bytes}));
  footer.magic = kShardEndMagic;
  footer.crc = footer_crc(header, footer);
  std::memcpy(shard.data(), &header, sizeof(header));
  std::memcpy(end, &footer, sizeof(footer));
}

ShardManifest manifest_of(const std::string& shard, std::vector<TensorSpec> spec) {
  ShardFooter footer;
  if (shard.size() >= sizeof(footer))
    std::memcpy(&footer, shard.data() + shard.size() - sizeof(footer), sizeof(footer));
  return {.spec = std::move(spec),
          .elements = footer.records,
          .shards = {{make_shard_name({0, 0}), shard.size(), footer.records, footer.crc}}};
}

void read_component(const ShardRecord& record, size_t component) {
  if (record.spec(component).dtype != DType::bytes) {
    ConstTensorView view = record.view(component);
    test::expect(uintptr_t(view.data) % 8 == 0);
    test::touch({static_cast<const std::byte*>(view.data), view.bytes()});
  } else {
    for (std::string_view text : record.strings(component)) test::touch(as_bytes(text));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  test::Input input(data, size);
  uint8_t choices = input.byte();
  std::vector<TensorSpec> spec = take_spec(input);
  std::string shard(reinterpret_cast<const char*>(input.rest().data()), input.rest().size());
  if (choices & 1) repair(shard);
  test::MemoryFiles files;
  files.put("d/manifest.json", make_manifest(manifest_of(shard, spec)));
  files.put("d/" + make_shard_name({0, 0}), shard);
  try {
    ShardReader reader("d", {.check = (choices & 4) != 0, .map = (choices & 2) != 0}, files);
    ShardRecord record;
    for (int64_t index = 0; index < reader.size(); ++index) {
      reader.read(index, record);
      for (size_t component = 0; component < record.size(); ++component)
        read_component(record, component);
    }
  } catch (const FileError&) {
  }
  return 0;
}
