// Checksums of a safetensors file, as two texts of its metadata, which other readers pass over. The
// header begins with them:
//
//   {"__metadata__":{"stoker_crc32c":"5f1d0c9e","stoker_tensor_crc32c":"0b8f2a11a44e1c70…",…
//
// The first is the CRC-32C of the header's eight length bytes and of the header, padding included,
// with these eight digits as zeros. The second holds one CRC-32C per tensor, in the order of their
// bytes. Together they cover every byte of the file. A file that has lost one of the two is
// damaged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Names in the metadata that are taken.
inline constexpr std::string_view kHeaderChecksum = "stoker_crc32c";
inline constexpr std::string_view kTensorChecksums = "stoker_tensor_crc32c";

// The two members of the metadata as JSON, the first still zeros.
std::string checksum_members(const std::vector<uint32_t>& tensors);
// Fills in the checksum of a header that begins with them; false for another header.
bool seal_header(std::string& header);

// Whether the header begins with a checksum; ValueError when that is wrong.
bool check_header(std::string_view header);
// Takes the checksums of the tensors out of the metadata; nothing where the file has none.
// ValueError when one of the two is missing, or when there are not as many as `tensors`.
std::optional<std::vector<uint32_t>> take_checksums(std::map<std::string, std::string>& metadata,
                                                    bool header_checked, size_t tensors);

}  // namespace stoker
