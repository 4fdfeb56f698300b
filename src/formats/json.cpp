#include "formats/json.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/printable.h"

namespace stoker {

namespace {

// Follows the parser without keeping anything, and stops it where the document gets too deep.
class DepthCheck final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool too_deep() const { return too_deep_; }

  bool start_object(size_t) override { return enter(); }
  bool start_array(size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool key(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) override {
    throw ValueError(fmt::format("not JSON: {}", printable(error.what())));
  }

 private:
  bool enter() {
    too_deep_ = ++depth_ > kMaxJsonDepth;
    return !too_deep_;
  }
  bool leave() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  bool too_deep_ = false;
};

template <class Json>
Json parsed(std::string_view text, JsonComments comments) {
  bool allow = comments == JsonComments::allow;
  DepthCheck check;
  nlohmann::json::sax_parse(text, &check, nlohmann::json::input_format_t::json, /*strict=*/true,
                            allow);
  if (check.too_deep()) throw ValueError(fmt::format("nested more than {} deep", kMaxJsonDepth));
  try {
    return Json::parse(text, nullptr, /*allow_exceptions=*/true, allow);
  } catch (const nlohmann::json::exception& error) {
    throw ValueError(fmt::format("not JSON: {}", printable(error.what())));
  }
}

// The first text that is not UTF-8, behind the keys that lead to it; empty: there is none.
template <class Json>
std::string not_utf8(const Json& json) {
  if (json.is_string()) {
    const auto& text = json.template get_ref<const std::string&>();
    return is_utf8(text) ? "" : fmt::format("\"{}\"", printable(text));
  }
  if (!json.is_structured()) return "";
  for (const auto& [key, value] : json.items()) {
    if (!is_utf8(key)) return fmt::format("\"{}\"", printable(key));
    if (std::string found = not_utf8(value); !found.empty())
      return json.is_object() ? fmt::format("{}: {}", key, found) : found;
  }
  return "";
}

template <class Json>
std::string dumped(const Json& json, int indent) {
  try {
    return json.dump(indent);
  } catch (const nlohmann::json::exception&) {
    throw ValueError(
        fmt::format("{} is not UTF-8, which a file of JSON has to be; rename it", not_utf8(json)));
  }
}

}  // namespace

nlohmann::json parse_json(std::string_view text, JsonComments comments) {
  return parsed<nlohmann::json>(text, comments);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
  return parsed<nlohmann::ordered_json>(text, JsonComments::refuse);
}

nlohmann::json try_parse_json(std::string_view text) {
  try {
    return parse_json(text);
  } catch (const ValueError&) {
    return nlohmann::json(nlohmann::json::value_t::discarded);
  }
}

std::string dump_json(const nlohmann::json& json, int indent) { return dumped(json, indent); }
std::string dump_json(const nlohmann::ordered_json& json, int indent) {
  return dumped(json, indent);
}

std::string dump_report(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stoker
