// Layers whose options are a table (base/fields.h). A Config is the public option struct with the
// constructor's other arguments, its kind and its rows; rows stand in the order of the file format.
//
//   struct DropoutConfig : DropoutOptions {
//     double rate = 0;
//     static constexpr const char* kKind = "Dropout";
//     static Fields<DropoutConfig> fields() { return {{"rate", &DropoutConfig::rate, …}}; }
//   };
//   class DropoutLayer : public Configured<SingleInputLayer, DropoutConfig> { …forward… };
//   Dropout::Dropout(double rate, const DropoutOptions& options)
//       : Layer(configured<DropoutLayer>({options, rate})) {}
//   void add_…(LayerKinds& kinds) { add_layer<DropoutLayer>(kinds); }
#pragma once

#include <array>
#include <memory>
#include <typeinfo>

#include "base/fields.h"
#include "nn/field_types.h"
#include "nn/layer_factory.h"
#include "nn/names.h"

namespace stoker {

template <class Config>
const Fields<Config>& fields_of() {
  static const Fields<Config> table = Config::fields();
  return table;
}

// Base takes the name, and what else it wants, out of the Config.
template <class Base, class C>
class Configured : public Base {
 public:
  using Config = C;
  explicit Configured(C config) : Base(config), config_(std::move(config)) {
    fields_of<C>().check(this->title(), config_);
  }
  std::string kind() const override { return C::kKind; }
  Attrs config() const override { return fields_of<C>().write(config_); }

 protected:
  const C& options() const { return config_; }

 private:
  C config_;
};

template <class L>
Layer configured(typename L::Config config) {
  std::string dtype_policy = config.dtype;
  return {std::make_shared<L>(std::move(config)), dtype_policy};
}

// `config` holds what an absent option is.
template <class Config>
Config layer_config(const Attrs& attrs, Config config = {}) {
  constexpr std::array<std::string_view, 3> kOfEveryLayer = {"name", "trainable", "dtype_policy"};
  config.name = attrs.get_or("name", std::string());
  fields_of<Config>().read(titled(Config::kKind, config.name), attrs, config, kOfEveryLayer);
  return config;
}

template <class L>
bool is_exactly(const LayerBase& layer) {
  return typeid(layer) == typeid(L);
}

// With a maker of its own, for what a table cannot say.
template <class L>
LayerKind layer_kind(LayerFactory make) {
  using Config = typename L::Config;
  return {.make = std::move(make), .is = is_exactly<L>, .fields = [] {
            return fields_of<Config>().text();
          }};
}

template <class L>
void add_layer(LayerKinds& kinds) {
  using Config = typename L::Config;
  kinds[Config::kKind] =
      layer_kind<L>([](const Attrs& attrs) { return configured<L>(layer_config<Config>(attrs)); });
}

}  // namespace stoker
