#include "formats/safetensors_checksums.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/file.h"
#include "formats/crc32c.h"
#include "formats/sealed_json.h"

namespace stoker {

namespace {

constexpr std::string_view kSealBegin = R"({"__metadata__":{"stoker_crc32c":")";
constexpr std::string_view kNoDigits = "00000000";

static_assert(kSealBegin.find(kHeaderChecksum) != std::string_view::npos);

uint32_t header_crc(std::string_view header) {
  uint64_t length = header.size();
  uint32_t crc = crc32c(std::as_bytes(std::span(&length, 1)));
  crc = crc32c(as_bytes(kSealBegin), crc);
  crc = crc32c(as_bytes(kNoDigits), crc);
  return crc32c(as_bytes(header.substr(kSealBegin.size() + kNoDigits.size())), crc);
}

}  // namespace

std::string checksum_members(const std::vector<uint32_t>& tensors) {
  std::string digits;
  for (uint32_t crc : tensors) digits += crc_to_hex(crc);
  return fmt::format(R"("{}":"{}","{}":"{}")", kHeaderChecksum, kNoDigits, kTensorChecksums,
                     digits);
}

bool seal_header(std::string& header) {
  if (!header.starts_with(kSealBegin) || header.size() < kSealBegin.size() + kNoDigits.size())
    return false;
  header.replace(kSealBegin.size(), kNoDigits.size(), crc_to_hex(header_crc(header)));
  return true;
}

bool check_header(std::string_view header) {
  if (!header.starts_with(kSealBegin)) return false;
  if (header.size() < kSealBegin.size() + kNoDigits.size())
    throw ValueError("the header ends inside its checksum: the file is damaged");
  std::string stored(header.substr(kSealBegin.size(), kNoDigits.size()));
  std::string computed = crc_to_hex(header_crc(header));
  if (stored != computed)
    throw ValueError(fmt::format(
        "the checksum of the header is {}, expected {}: the file is damaged", computed, stored));
  return true;
}

std::optional<std::vector<uint32_t>> take_checksums(std::map<std::string, std::string>& metadata,
                                                    bool header_checked, size_t tensors) {
  auto digits = metadata.extract(std::string(kTensorChecksums));
  bool has_header = !metadata.extract(std::string(kHeaderChecksum)).empty();
  if (!has_header && digits.empty()) return std::nullopt;
  if (!header_checked || digits.empty())
    throw ValueError(
        fmt::format("its checksums are incomplete: the file is damaged, or another program rewrote "
                    "it; such a program has to leave \"{}\" and \"{}\" out of the metadata",
                    kHeaderChecksum, kTensorChecksums));
  std::string_view text = digits.mapped();
  if (text.size() != tensors * kNoDigits.size())
    throw ValueError(fmt::format("{} tensors with {} digits of checksums", tensors, text.size()));
  std::vector<uint32_t> crcs;
  for (; !text.empty(); text.remove_prefix(kNoDigits.size()))
    crcs.push_back(crc_from_hex(text.substr(0, kNoDigits.size())));
  return crcs;
}

}  // namespace stoker
