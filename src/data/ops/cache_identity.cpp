#include "data/ops/cache_identity.h"

#include <fmt/format.h>
#include <stoker/version.h>
#include <nlohmann/json.hpp>

namespace stoker::data {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kCacheVersion = 1;

std::string text_in(const Json& json, const char* key) {
  auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string different_steps(const Json& now, const Json& before) {
  size_t size = std::max(now.size(), before.size());
  for (size_t i = 0; i < size; ++i) {
    std::string here = i < now.size() ? now[i].get<std::string>() : "nothing";
    std::string there =
        i < before.size() && before[i].is_string() ? before[i].get<std::string>() : "nothing";
    if (here != there) return fmt::format("step {} is {}, it was {}", i + 1, here, there);
  }
  return {};
}

std::string different_seed(const Json& now, const Json& before) {
  std::string here = text_in(now, "seed"), there = text_in(before, "seed");
  if (here != there)
    return fmt::format("{} before it is random and the seed is {}, it was {}; {}",
                       text_in(now, "random"), here, there,
                       now.value("drawn", false)
                           ? "call set_seed(), or put cache() before what is random"
                           : "put cache() before what is random to keep it for every seed");
  if (text_in(now, "key") != text_in(before, "key"))
    return "it stands in another place of its chain";
  return {};
}

}  // namespace

CacheIdentity make_cache_identity(const ChainIdentity& chain, const std::string& version,
                                  const CacheSeed& seed) {
  Json json = {{"stoker_cache", kCacheVersion},
               {"stoker", stoker::version()},
               {"steps", chain.steps},
               {"files", chain.files.count()},
               {"files_hash", hash_text(chain.files.listing())},
               {"version", version}};
  if (version.empty() && !chain.code.empty()) json["code"] = hash_text(chain.code);
  if (!chain.random_step.empty()) {
    json["random"] = chain.random_step;
    json["seed"] = std::to_string(seed.seed);
    json["key"] = fmt::format("{:016x}", seed.key);
    json["drawn"] = seed.drawn;
  }
  // Names that are not UTF-8 are exact in the listing.
  return {json.dump(-1, ' ', false, Json::error_handler_t::replace), chain.files.listing()};
}

std::string why_outdated(const CacheIdentity& now, std::string_view before,
                         std::string_view listing) {
  if (now.text == before) return {};
  Json here = Json::parse(now.text), there = Json::parse(before, nullptr, false);
  if (!there.is_object() || there.value("stoker_cache", Json()) != kCacheVersion ||
      !there.contains("steps") || !there["steps"].is_array())
    return "it was written by another version of Stoker, which recorded no sources";
  if (std::string why = different_steps(here["steps"], there["steps"]); !why.empty()) return why;
  if (std::string hash = text_in(there, "files_hash"); hash != text_in(here, "files_hash"))
    return hash_text(listing) == hash ? changes(listing, now.listing) : "its source files changed";
  if (std::string old = text_in(there, "version"); old != text_in(here, "version"))
    return fmt::format("its version is \"{}\", it was \"{}\"", text_in(here, "version"), old);
  if (text_in(there, "code") != text_in(here, "code"))
    return "the program was built anew, and what its functions compute has no version; give the "
           "cache one, {.version = \"1\"}, and change it with them";
  if (std::string why = different_seed(here, there); !why.empty()) return why;
  if (std::string old = text_in(there, "stoker"); old != text_in(here, "stoker"))
    return fmt::format("it was written by Stoker {}", old);
  return {};  // how the seed came about, which changes nothing
}

}  // namespace stoker::data
