#include "formats/shard_manifest.h"

#include <fmt/format.h>

#include "formats/sealed_json.h"
#include "formats/shard_layout.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "stoker-shards";
constexpr uint64_t kVersion = 1;

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
  for (const Json& component : json_list(document, "components")) {
    manifest.spec.push_back({dtype_from_name(json_text(component, "dtype")),
                             parse_shape(json_list(component, "shape"))});
    if (component.contains("name")) manifest.names.push_back(json_text(component, "name"));
  }
  if (!manifest.names.empty() && manifest.names.size() != manifest.spec.size())
    throw ValueError("some components have a name and some have none");
}

void parse_shards(const Json& document, ShardManifest& manifest) {
  for (const Json& shard : json_list(document, "shards")) {
    const std::string& file = json_text(shard, "file");
    ShardName name;
    if (!parse_shard_name(file, name))
      throw ValueError(fmt::format("\"{:.100}\" is not the name of a shard", file));
    manifest.shards.push_back({file, json_count(shard, "bytes"), json_count(shard, "records"),
                               crc_from_hex(json_text(shard, "crc32c"))});
  }
}

ShardManifest parse_document(const Json& document) {
  if (json_text(document, "format") != kFormat) throw ValueError("it is not of Stoker's shards");
  if (uint64_t version = json_count(document, "version"); version != kVersion)
    throw ValueError(fmt::format("it is of version {}, this Stoker reads {}", version, kVersion));
  ShardManifest manifest;
  manifest.elements = json_count(document, "elements");
  manifest.fingerprint = json_text(document, "fingerprint");
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
  try {
    return parse_document(open_sealed_json(text));
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
                                  {"crc32c", crc_to_hex(shard.crc)}});
  return seal_json(document);
}

}  // namespace stoker
