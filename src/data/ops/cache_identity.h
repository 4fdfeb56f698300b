// What the elements of a cache depend on, as text in its manifest, and what differs between two.
#pragma once

#include <string>
#include <string_view>

#include "data/identity.h"

namespace stoker::data {

struct CacheIdentity {
  std::string text;     // JSON, for the manifest
  std::string listing;  // of the source files; its hash is in the text
};

struct CacheSeed {
  uint64_t seed = 0, key = 0;
  bool drawn = false;  // from entropy: the next run has another
};
// The seed counts where a step of the chain draws by it.
CacheIdentity make_cache_identity(const ChainIdentity& chain, const std::string& version,
                                  const CacheSeed& seed);

// Why a cache with the identity `before` does not fit; empty: it does. `listing`: the one that was
// kept with it, or anything else where that is lost.
std::string why_outdated(const CacheIdentity& now, std::string_view before,
                         std::string_view listing);

}  // namespace stoker::data
