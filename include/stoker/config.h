// The settings of an experiment by name, as Keras's utils.Config: filled, frozen, written to its
// results.
//
//   utils::Config config({{"learning_rate", 1e-3}, {"batch", 64}});
//   config["seed"] = 7;
//   config.freeze();
//   model.compile({.optimizer = Adam(config.get<double>("learning_rate"))});
//   std::string text = config.to_json();
//
// Values are bools, whole numbers (int64_t), doubles, texts and lists of numbers. A value, cheap to copy.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stoker/attrs.h>

namespace stoker::utils {

class Config {
 public:
  Config(std::initializer_list<Attrs::Entry> entries = {}) : values_(entries) {}
  explicit Config(Attrs values) : values_(std::move(values)) {}

  // Assigns: config["seed"] = 7. ValueError once it is frozen.
  class Place {
   public:
    Place(Config& config, std::string_view name) : config_(config), name_(name) {}
    void operator=(Attr value) { config_.set(name_, std::move(value)); }

   private:
    Config& config_;
    std::string name_;
  };
  Place operator[](std::string_view name) { return {*this, name}; }
  void set(std::string_view name, Attr value);
  void update(const Attrs& more);
  Attr pop(std::string_view name);  // returns what it removes

  // ValueError for a name that is not there, with the one that was probably meant; Error for another
  // type.
  template <class T>
  const T& get(std::string_view name) const {
    expect(name);
    return values_.get<T>(name);
  }
  template <class T>
  T get_or(std::string_view name, T fallback) const {
    return contains(name) ? get<T>(name) : std::move(fallback);
  }
  bool contains(std::string_view name) const { return values_.has(name); }
  size_t size() const { return values_.entries().size(); }
  std::vector<std::string> keys() const;  // sorted
  const std::vector<Attrs::Entry>& items() const { return values_.entries(); }
  const Attrs& as_dict() const { return values_; }

  bool frozen() const { return frozen_; }
  void freeze() { frozen_ = true; }
  void unfreeze() { frozen_ = false; }

  std::string to_json() const;
  static Config from_json(
      std::string_view text);  // ValueError for what to_json() cannot have written

 private:
  void expect(std::string_view name) const;
  void expect_thawed() const;
  Attrs values_;
  bool frozen_ = false;
};

}  // namespace stoker::utils
