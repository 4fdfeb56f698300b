#include "formats/safetensors_header.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace stoker {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";

constexpr std::array<std::pair<std::string_view, DType>, 9> kDTypes = {{
    {"F32", DType::float32},
    {"F16", DType::float16},
    {"BF16", DType::bfloat16},
    {"I8", DType::int8},
    {"I16", DType::int16},
    {"I32", DType::int32},
    {"I64", DType::int64},
    {"U8", DType::uint8},
    {"BOOL", DType::bool_},
}};

template <class... Args>
[[noreturn]] void invalid(fmt::format_string<Args...> text, Args&&... args) {
  throw ValueError(fmt::format(text, std::forward<Args>(args)...));
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

// Refuses, while the text is parsed, what the parser would accept or spend memory on: keys that
// come twice, lists and objects where the format has none, and lists longer than any shape.
class HeaderGuard {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    switch (event) {
      case Event::object_start:
        if (depth >= int(keys_.size())) invalid("an object is nested too deep");
        keys_[size_t(depth)].clear();
        break;
      case Event::array_start:
        if (depth != kListDepth) invalid("a list stands where the format has none");
        list_length_ = 0;
        break;
      case Event::key:
        if (!keys_[size_t(depth - 1)].insert(parsed.get<std::string>()).second)
          invalid("{} comes twice", quoted(parsed.get<std::string>()));
        break;
      case Event::value:
        if (depth > kListDepth && ++list_length_ > Shape::kMaxRank)
          invalid("a list has more than {} numbers", Shape::kMaxRank);
        break;
      default:
        break;
    }
    return true;
  }

 private:
  static constexpr int kListDepth = 2;  // {"name": {"shape": [

  std::array<std::set<std::string>, kListDepth> keys_;  // of the objects that are open
  int list_length_ = 0;
};

Json parse_json(const std::string& text) {
  try {
    Json header = Json::parse(text, HeaderGuard());
    if (!header.is_object()) invalid("the header is not a JSON object");
    return header;
  } catch (const Json::exception& error) {
    invalid("the header is not JSON: {}", error.what());
  }
}

std::map<std::string, std::string> parse_metadata(const Json& json) {
  std::map<std::string, std::string> metadata;
  if (!json.is_object()) invalid("{} is not an object", kMetadata);
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) invalid("{}: {} is not a string", kMetadata, quoted(key));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

DType parse_dtype(const Json& json) {
  std::vector<std::string_view> known;
  for (const auto& [name, dtype] : kDTypes) {
    if (json == name) return dtype;
    known.push_back(name);
  }
  invalid("dtype {} is not one that Stoker reads: {}", json.dump(), fmt::join(known, ", "));
}

Shape parse_shape(const Json& json) {
  std::vector<int64_t> dims;
  bool valid = json.is_array();
  for (const Json& extent : json) {
    valid = valid && extent.is_number_unsigned() && extent <= uint64_t(INT64_MAX);
    if (valid) dims.push_back(extent.get<int64_t>());
  }
  if (!valid) invalid("the shape is {}", json.dump());
  return Shape(dims);
}

SafetensorsEntry parse_entry(const std::string& name, const Json& json, uint64_t data_bytes) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets"))
    invalid("expected dtype, shape and data_offsets, got {}", json.dump());
  SafetensorsEntry entry{.name = name,
                         .spec = {parse_dtype(json["dtype"]), parse_shape(json["shape"])}};
  const Json& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned() || offsets[0] > offsets[1] || offsets[1] > data_bytes)
    invalid("its place is {} of {} bytes", offsets.dump(), data_bytes);
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(uint64_t(entry.spec.shape.elements()), size_of(entry.spec.dtype),
                             &bytes) ||
      bytes != entry.end - entry.begin)
    invalid("{} does not take {} bytes", to_string(entry.spec), entry.end - entry.begin);
  return entry;
}

void check_coverage(const std::vector<SafetensorsEntry>& entries, uint64_t data_bytes) {
  uint64_t position = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != position)
      invalid("tensor {} begins at {} and not at {}: it overlaps another or leaves a gap",
              quoted(entry.name), entry.begin, position);
    position = entry.end;
  }
  if (position != data_bytes) invalid("the tensors end at {} of {} bytes", position, data_bytes);
}

std::string_view format_name(DType dtype) {
  for (const auto& [name, known] : kDTypes)
    if (known == dtype) return name;
  invalid("safetensors has no dtype {}", name(dtype));
}

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& text, uint64_t data_bytes) {
  const Json fields = parse_json(text);
  SafetensorsHeader header;
  for (const auto& [name, json] : fields.items()) {
    if (name == kMetadata) {
      header.metadata = parse_metadata(json);
      continue;
    }
    try {
      header.entries.push_back(parse_entry(name, json, data_bytes));
    } catch (const Error& error) {
      invalid("tensor {}: {}", quoted(name), error.what());
    }
  }
  auto place = [](const SafetensorsEntry& entry) { return std::pair(entry.begin, entry.end); };
  std::ranges::stable_sort(header.entries, {}, place);
  check_coverage(header.entries, data_bytes);
  return header;
}

std::string make_safetensors_header(const std::vector<std::pair<std::string, Tensor>>& tensors,
                                    const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> fields;
  std::set<std::string_view> names = {kMetadata};
  uint64_t position = 0;
  try {
    if (!metadata.empty())
      fields.push_back(quoted(std::string(kMetadata)) + ":" + Json(metadata).dump());
    for (const auto& [name, tensor] : tensors) {
      if (!tensor.defined()) invalid("tensor {} is undefined", quoted(name));
      if (!names.insert(name).second) invalid("the tensor name {} is taken", quoted(name));
      uint64_t end = position + tensor.bytes();
      fields.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                   quoted(name), format_name(tensor.dtype()),
                                   fmt::join(tensor.shape().dims(), ","), position, end));
      position = end;
    }
  } catch (const Json::exception& error) {
    invalid("a tensor's name or the metadata is not UTF-8: {}", error.what());
  }
  std::string text = fmt::format("{{{}}}", fmt::join(fields, ","));
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace stoker
