#include "formats/shard_manifest.h"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "formats/crc32c.h"
#include "formats/shard_layout.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "stoker-shards";
constexpr uint64_t kVersion = 1;
constexpr std::string_view kCrcBegin = ",\"crc32c\":\"", kCrcEnd = "\"}\n";
constexpr size_t kCrcDigits = 8;
constexpr size_t kEndBytes = kCrcBegin.size() + kCrcDigits + kCrcEnd.size();

std::string hex(uint32_t crc) { return fmt::format("{:08x}", crc); }

uint32_t parse_hex(std::string_view text) {
  uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (hex(value) != text) throw ValueError(fmt::format("\"{:.20}\" is not a checksum", text));
  return value;
}

// The checksum stands at a fixed distance from the end and covers all before it.
void check_crc(std::string_view text) {
  if (text.size() < kEndBytes) throw ValueError("it ends before its checksum");
  std::string_view end = text.substr(text.size() - kEndBytes);
  if (!end.starts_with(kCrcBegin) || !end.ends_with(kCrcEnd))
    throw ValueError("it does not end with its checksum");
  uint32_t stored = parse_hex(end.substr(kCrcBegin.size(), kCrcDigits));
  uint32_t computed = crc32c(as_bytes(text.substr(0, text.size() - kEndBytes)));
  if (stored != computed)
    throw ValueError(
        fmt::format("its checksum is wrong: expected {}, got {}", hex(computed), hex(stored)));
}

const Json& member(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key))
    throw ValueError(fmt::format("\"{}\" is missing", key));
  return object.at(key);
}

uint64_t number_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_number_unsigned()) throw ValueError(fmt::format("\"{}\" is not a count", key));
  return value.get<uint64_t>();
}

const std::string& text_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) throw ValueError(fmt::format("\"{}\" is not a string", key));
  return value.get_ref<const std::string&>();
}

const Json& list_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_array()) throw ValueError(fmt::format("\"{}\" is not a list", key));
  return value;
}

Shape parse_shape(const Json& dims) {
  std::vector<int64_t> extents;
  for (const Json& extent : dims) {
    bool fits = extent.is_number_integer() &&
                (!extent.is_number_unsigned() || extent.get<uint64_t>() <= uint64_t(INT64_MAX));
    if (!fits) throw ValueError("a dimension is not a number");
    extents.push_back(extent.get<int64_t>());
  }
  Shape shape(extents);
  if (shape.is_known()) static_cast<void>(shape.elements());  // more than 2^63: ShapeError
  return shape;
}

void parse_components(const Json& document, ShardManifest& manifest) {
  for (const Json& component : list_of(document, "components")) {
    manifest.spec.push_back(
        {dtype_from_name(text_of(component, "dtype")), parse_shape(list_of(component, "shape"))});
    if (component.contains("name")) manifest.names.push_back(text_of(component, "name"));
  }
  if (!manifest.names.empty() && manifest.names.size() != manifest.spec.size())
    throw ValueError("some components have a name and some have none");
}

void parse_shards(const Json& document, ShardManifest& manifest) {
  for (const Json& shard : list_of(document, "shards")) {
    const std::string& file = text_of(shard, "file");
    ShardName name;
    if (!parse_shard_name(file, name))
      throw ValueError(fmt::format("\"{:.100}\" is not the name of a shard", file));
    manifest.shards.push_back({file, number_of(shard, "bytes"), number_of(shard, "records"),
                               parse_hex(text_of(shard, "crc32c"))});
  }
}

ShardManifest parse_document(const Json& document) {
  if (text_of(document, "format") != kFormat) throw ValueError("it is not of Stoker's shards");
  if (uint64_t version = number_of(document, "version"); version != kVersion)
    throw ValueError(fmt::format("it is of version {}, this Stoker reads {}", version, kVersion));
  ShardManifest manifest;
  manifest.elements = number_of(document, "elements");
  manifest.fingerprint = text_of(document, "fingerprint");
  parse_components(document, manifest);
  parse_shards(document, manifest);
  return manifest;
}

Json component_json(const ShardManifest& manifest, size_t index) {
  const TensorSpec& spec = manifest.spec[index];
  Json component = {{"dtype", name(spec.dtype)}, {"shape", Json::array()}};
  for (int64_t extent : spec.shape) component["shape"].push_back(extent);
  if (!manifest.names.empty()) component["name"] = manifest.names[index];
  return component;
}

}  // namespace

ShardManifest parse_manifest(std::string_view text) {
  check_crc(text);
  try {
    return parse_document(Json::parse(text));
  } catch (const Json::exception& error) {
    throw ValueError(error.what());
  } catch (const ShapeError& error) {
    throw ValueError(error.what());
  }
}

std::string make_manifest(const ShardManifest& manifest) {
  Json document = {{"format", kFormat},
                   {"version", kVersion},
                   {"elements", manifest.elements},
                   {"fingerprint", manifest.fingerprint},
                   {"components", Json::array()},
                   {"shards", Json::array()}};
  for (size_t index = 0; index < manifest.spec.size(); ++index)
    document["components"].push_back(component_json(manifest, index));
  for (const ShardManifest::Shard& shard : manifest.shards)
    document["shards"].push_back({{"file", shard.file},
                                  {"bytes", shard.bytes},
                                  {"records", shard.records},
                                  {"crc32c", hex(shard.crc)}});
  try {
    std::string text = document.dump();
    text.pop_back();  // its closing brace
    uint32_t crc = crc32c(as_bytes(text));
    return fmt::format("{}{}{}{}", text, kCrcBegin, hex(crc), kCrcEnd);
  } catch (const Json::exception& error) {
    throw ValueError(fmt::format("a name or the fingerprint is not UTF-8: {}", error.what()));
  }
}

}  // namespace stoker
