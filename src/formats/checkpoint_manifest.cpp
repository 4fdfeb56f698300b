#include "formats/checkpoint_manifest.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <stoker/error.h>

#include "formats/sealed_json.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "stoker-checkpoint";
constexpr uint64_t kVersion = 1;

bool is_plain_name(std::string_view name) {
  auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  };
  if (name.empty() || name.size() > 100 || name.front() == '.') return false;
  for (char c : name)
    if (!plain(c)) return false;
  return true;
}

uint64_t position(const Json& document, const char* key) {
  uint64_t value = json_count(document, key);
  if (value > uint64_t(std::numeric_limits<int64_t>::max()))
    throw ValueError(fmt::format("\"{}\" is {}", key, value));
  return value;
}

}  // namespace

CheckpointManifest parse_checkpoint_manifest(std::string_view text) {
  Json document = open_sealed_json(text);
  if (json_text(document, "format") != kFormat)
    throw ValueError("it is not of a checkpoint of Stoker");
  if (uint64_t version = json_count(document, "version"); version != kVersion)
    throw ValueError(fmt::format("it is of version {}, this Stoker reads {}", version, kVersion));
  CheckpointManifest manifest{.epoch = position(document, "epoch"),
                              .step = position(document, "step")};
  if (document.contains("monitored")) {
    const Json& value = document["monitored"];
    if (!value.is_number()) throw ValueError("\"monitored\" is not a number");
    manifest.monitored = value.get<double>();
  }
  for (const Json& file : json_list(document, "files")) {
    const std::string& name = json_text(file, "name");
    if (!is_plain_name(name))
      throw ValueError(fmt::format("\"{:.100}\" is not the name of a file of a checkpoint", name));
    manifest.files.push_back(
        {name, json_count(file, "bytes"), crc_from_hex(json_text(file, "crc32c"))});
  }
  return manifest;
}

std::string make_checkpoint_manifest(const CheckpointManifest& manifest) {
  Json document = {{"format", kFormat},
                   {"version", kVersion},
                   {"epoch", manifest.epoch},
                   {"step", manifest.step}};
  if (manifest.monitored && std::isfinite(*manifest.monitored))
    document["monitored"] = *manifest.monitored;
  document["files"] = Json::array();
  for (const CheckpointManifest::File& file : manifest.files)
    document["files"].push_back(
        {{"name", file.name}, {"bytes", file.bytes}, {"crc32c", crc_to_hex(file.crc)}});
  return seal_json(document);
}

}  // namespace stoker
