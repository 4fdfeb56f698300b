#include "formats/safetensors_header.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "formats/safetensors_checksums.h"

namespace stoker {

namespace {

using Header = nlohmann::json;

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

constexpr std::string_view kF64 = "F64";  // read alone, as float32

template <class... Args>
[[noreturn]] void invalid(fmt::format_string<Args...> text, Args&&... args) {
  throw ValueError(fmt::format(text, std::forward<Args>(args)...));
}

std::string in_quotes(const std::string& text) { return Header(text).dump(); }

DType parse_dtype(const std::string& wanted) {
  if (wanted == kF64) return DType::float32;
  std::vector<std::string_view> known = {kF64};
  for (const auto& [name, dtype] : kDTypes) {
    if (name == wanted) return dtype;
    known.push_back(name);
  }
  invalid("dtype {} is not one that Stoker reads: {}", in_quotes(wanted), fmt::join(known, ", "));
}

// What the header says of one tensor, before it is checked.
struct Claim {
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape, data_offsets;
};

SafetensorsEntry check(const std::string& name, const Claim& claim, uint64_t data_bytes) {
  if (!claim.dtype || !claim.shape || !claim.data_offsets)
    invalid("expected dtype, shape and data_offsets");
  for (uint64_t extent : *claim.shape)
    if (extent > uint64_t(INT64_MAX)) invalid("a dimension is {}", extent);
  std::vector<int64_t> dims(claim.shape->begin(), claim.shape->end());
  TensorSpec spec{parse_dtype(*claim.dtype), Shape(dims)};

  const std::vector<uint64_t>& place = *claim.data_offsets;
  if (place.size() != 2 || place[0] > place[1] || place[1] > data_bytes)
    invalid("its place is [{}] of {} bytes", fmt::join(place, ", "), data_bytes);
  uint64_t bytes = 0;
  bool float64 = *claim.dtype == kF64;
  size_t size = float64 ? sizeof(double) : size_of(spec.dtype);
  if (__builtin_mul_overflow(uint64_t(spec.shape.elements()), size, &bytes) ||
      bytes != place[1] - place[0])
    invalid("{}{} does not take {} bytes", float64 ? "float64" : stoker::name(spec.dtype),
            to_string(spec.shape), place[1] - place[0]);
  return {name, spec, place[0], place[1], float64};
}

// Takes the events of the JSON parser and accepts only what the format has:
//   {"__metadata__": {"key": "text", …},
//    "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
// Events instead of a parsed document: on a hostile header of 100 MB, nlohmann's document with a
// callback that refuses what does not belong took more than ten minutes (it looks through all
// tensors at the end of each), this takes eight seconds.
class HeaderParser final : public nlohmann::json_sax<Header> {
 public:
  explicit HeaderParser(uint64_t data_bytes) : data_bytes_(data_bytes) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(size_t) override {
    if (depth_ > kHeader) unexpected("object");
    claim_ = {};
    fields_.clear();
    ++depth_;
    return true;
  }

  bool key(std::string& text) override {
    (depth_ == kHeader ? name_ : field_) = text;
    if (!(depth_ == kHeader ? names_ : fields_).insert(text).second)
      invalid("{} comes twice", in_quotes(text));
    return true;
  }

  bool string(std::string& text) override {
    if (depth_ == kEntry && in_metadata())
      header_.metadata[field_] = text;
    else if (depth_ == kEntry && field_ == "dtype")
      claim_.dtype = text;
    else
      unexpected("string");
    return true;
  }

  bool start_array(size_t) override {
    auto* list = field_ == "shape"          ? &claim_.shape
                 : field_ == "data_offsets" ? &claim_.data_offsets
                                            : nullptr;
    if (depth_ != kEntry || in_metadata() || list == nullptr) unexpected("list");
    list_ = &list->emplace();
    ++depth_;
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (depth_ != kList) unexpected("number");
    if (list_->size() == size_t(Shape::kMaxRank)) unexpected("ninth number");
    list_->push_back(value);
    return true;
  }

  bool end_array() override {
    --depth_;
    return true;
  }

  bool end_object() override {
    if (depth_ == kEntry && !in_metadata()) add_entry();
    --depth_;
    return true;
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("bool"); }
  bool number_integer(int64_t) override { unexpected("negative number"); }
  bool number_float(double, const std::string&) override { unexpected("fraction or huge number"); }
  bool binary(Header::binary_t&) override { unexpected("binary data"); }
  bool parse_error(size_t, const std::string&, const Header::exception& error) override {
    invalid("the header is not JSON: {}", error.what());
  }

 private:
  enum Depth { kOutside, kHeader, kEntry, kList };

  bool in_metadata() const { return name_ == kMetadata; }

  void add_entry() {
    try {
      header_.entries.push_back(check(name_, claim_, data_bytes_));
    } catch (const Error& error) {
      invalid("tensor {}: {}", in_quotes(name_), error.what());
    }
  }

  [[noreturn]] void unexpected(std::string_view what) const {
    if (depth_ == kOutside) invalid("unexpected {} instead of an object", what);
    if (depth_ == kHeader) invalid("{}: unexpected {}", in_quotes(name_), what);
    invalid("{}: unexpected {} in {}", in_quotes(name_), what, in_quotes(field_));
  }

  const uint64_t data_bytes_;
  int depth_ = kOutside;
  std::string name_, field_;  // the last key of each level
  Claim claim_;
  std::vector<uint64_t>* list_ = nullptr;
  std::set<std::string> names_, fields_;
  SafetensorsHeader header_;
};

void check_coverage(const std::vector<SafetensorsEntry>& entries, uint64_t data_bytes) {
  uint64_t position = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != position)
      invalid("tensor {} begins at {} and not at {}: it overlaps another or leaves a gap",
              in_quotes(entry.name), entry.begin, position);
    position = entry.end;
  }
  if (position != data_bytes) invalid("the tensors end at {} of {} bytes", position, data_bytes);
}

std::string_view format_name(DType dtype) {
  for (const auto& [name, known] : kDTypes)
    if (known == dtype) return name;
  invalid("safetensors has no dtype {}", name(dtype));
}

// "__metadata__":{…}; checksums stand first, where seal_header() and check_header() look for them.
std::string metadata_field(const std::map<std::string, std::string>& metadata,
                           const std::vector<uint32_t>* checksums) {
  for (std::string_view taken : {kHeaderChecksum, kTensorChecksums})
    if (metadata.contains(std::string(taken)))
      invalid("the metadata key {} is reserved", in_quotes(std::string(taken)));
  std::string members = Header(metadata).dump();
  if (checksums != nullptr)
    members.insert(1, checksum_members(*checksums) + (metadata.empty() ? "" : ","));
  return in_quotes(std::string(kMetadata)) + ":" + members;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& text, uint64_t data_bytes) {
  HeaderParser parser(data_bytes);
  Header::sax_parse(text, &parser);
  SafetensorsHeader header = parser.take();
  auto place = [](const SafetensorsEntry& entry) { return std::pair(entry.begin, entry.end); };
  std::ranges::stable_sort(header.entries, {}, place);
  check_coverage(header.entries, data_bytes);
  return header;
}

std::string make_safetensors_header(const std::vector<std::pair<std::string, Tensor>>& tensors,
                                    const std::map<std::string, std::string>& metadata,
                                    const std::vector<uint32_t>* checksums) {
  std::vector<std::string> fields;
  std::set<std::string_view> names = {kMetadata};
  uint64_t position = 0;
  try {
    if (!metadata.empty() || checksums != nullptr)
      fields.push_back(metadata_field(metadata, checksums));
    for (const auto& [name, tensor] : tensors) {
      if (!tensor.defined()) invalid("tensor {} is undefined", in_quotes(name));
      if (!names.insert(name).second) invalid("the tensor name {} is taken", in_quotes(name));
      uint64_t end = position + tensor.bytes();
      fields.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                   in_quotes(name), format_name(tensor.dtype()),
                                   fmt::join(tensor.shape().dims(), ","), position, end));
      position = end;
    }
  } catch (const Header::exception& error) {
    invalid("a tensor's name or the metadata is not UTF-8: {}", error.what());
  }
  std::string text = fmt::format("{{{}}}", fmt::join(fields, ","));
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (checksums != nullptr) seal_header(text);
  return text;
}

}  // namespace stoker
