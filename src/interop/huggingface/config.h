// Hugging Face's config.json: values by name, with errors that name file and key.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace stoker::huggingface {

class Config {
 public:
  // FileError unless it is JSON and describes a model of this type ("gpt2", "bert").
  Config(const std::string& path, const std::string& model_type);

  // The key's value where there is one; FileError unless it is a whole number of at least 1.
  void read(const char* key, int64_t& value) const;
  void read_rate(const char* key, double& value) const;     // [0, 1)
  void read_epsilon(const char* key, double& value) const;  // above 0
  void read(const char* key, std::string& value) const;
  // FileError where the key is there and is none of these.
  void expect(const char* key, const std::vector<nlohmann::json>& known) const;
  [[noreturn]] void fail(const char* key, const std::string& expected) const;

 private:
  const nlohmann::json* find(const char* key) const;
  double number(const char* key, const nlohmann::json& value) const;

  std::string path_;
  nlohmann::json json_;
};

// Keras's name of an activation that Hugging Face names; empty: there is none.
std::string activation_name(const std::string& name);

}  // namespace stoker::huggingface
