// Hashes of byte strings that other programs compute as well.
#pragma once

#include <cstdint>
#include <string_view>

namespace stoker::text {

// FarmHash's Fingerprint64: what TensorFlow's to_hash_bucket_fast uses.
uint64_t farmhash64(std::string_view text);
// SipHash-2-4: what to_hash_bucket_strong uses.
uint64_t siphash64(std::string_view text, uint64_t key0, uint64_t key1);

}  // namespace stoker::text
