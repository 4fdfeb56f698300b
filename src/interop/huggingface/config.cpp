#include "interop/huggingface/config.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/file.h"
#include "formats/json.h"

namespace stoker::huggingface {

Config::Config(const std::string& path, const std::string& model_type) : path_(path) {
  try {
    json_ = parse_json(read_text(path));
  } catch (const ValueError& error) {
    throw FileError(fmt::format("{}: {}", path, error.what()));
  }
  if (!json_.is_object()) throw FileError(path + ": expected an object, a model's configuration");
  const nlohmann::json* type = find("model_type");
  if (type != nullptr && *type != model_type) fail("model_type", fmt::format("\"{}\"", model_type));
}

const nlohmann::json* Config::find(const char* key) const {
  auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void Config::fail(const char* key, const std::string& expected) const {
  const nlohmann::json* value = find(key);
  throw FileError(fmt::format("{}: \"{}\": expected {}, got {}", path_, key, expected,
                              value ? dump_report(*value) : "nothing"));
}

void Config::read(const char* key, int64_t& value) const {
  const nlohmann::json* found = find(key);
  if (found == nullptr) return;
  constexpr int64_t kMost = int64_t(1) << 31;
  bool good = found->is_number_integer() && found->get<double>() >= 1 &&
              found->get<double>() <= double(kMost);
  if (!good) fail(key, "a whole number of at least 1");
  value = found->get<int64_t>();
}

double Config::number(const char* key, const nlohmann::json& value) const {
  if (!value.is_number() || !std::isfinite(value.get<double>())) fail(key, "a number");
  return value.get<double>();
}

void Config::read_rate(const char* key, double& value) const {
  const nlohmann::json* found = find(key);
  if (found == nullptr) return;
  value = number(key, *found);
  if (!(value >= 0 && value < 1)) fail(key, "a rate in [0, 1)");
}

void Config::read_epsilon(const char* key, double& value) const {
  const nlohmann::json* found = find(key);
  if (found == nullptr) return;
  value = number(key, *found);
  if (!(value > 0)) fail(key, "a number above 0");
}

void Config::read(const char* key, std::string& value) const {
  const nlohmann::json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_string()) fail(key, "a string");
  value = found->get<std::string>();
}

void Config::expect(const char* key, const std::vector<nlohmann::json>& known) const {
  const nlohmann::json* found = find(key);
  if (found == nullptr || std::ranges::find(known, *found) != known.end()) return;
  std::string all;
  for (const nlohmann::json& value : known)
    all += fmt::format("{}{}", all.empty() ? "" : " or ", dump_report(value));
  fail(key, all + ": nothing else is supported");
}

std::string activation_name(const std::string& name) {
  static const std::map<std::string, std::string> kNames = {
      {"gelu_new", "gelu_tanh"}, {"gelu_pytorch_tanh", "gelu_tanh"},
      {"gelu", "gelu"},          {"relu", "relu"},
      {"silu", "silu"},          {"swish", "silu"},
      {"tanh", "tanh"}};
  auto found = kNames.find(name);
  return found == kNames.end() ? "" : found->second;
}

}  // namespace stoker::huggingface
