// What the layers of int8 models have in common: the options that say where a result goes, and the
// attributes of an op that they become.
#pragma once

#include <string>

#include <stoker/layer_options.h>

#include "base/fields.h"
#include "graph/op.h"

namespace stoker {

inline constexpr double kLastCode = 255;  // of uint8

// Where the result of a layer goes.
struct ResultOptions : LayerOptions {
  double output_scale = 1;
  int64_t output_zero_point = 0;
  int64_t low = 0, high = 255;   // of what is stored: a relu is low = output_zero_point
  std::string output = "uint8";  // or "float32"
};

template <class Config>
Fields<Config> result_fields() {
  return {{"output_scale", &Config::output_scale, above(0)},
          {"output_zero_point", &Config::output_zero_point, between(0, kLastCode)},
          {"low", &Config::low, between(0, kLastCode)},
          {"high", &Config::high, between(0, kLastCode)},
          {"output", &Config::output, one_of({"uint8", "float32"})}};
}

inline void set_result(const ResultOptions& options, Attrs& attrs) {
  attrs.set("dtype", options.output);
  attrs.set("y_scale", options.output_scale);
  attrs.set("y_zero_point", options.output_zero_point);
  attrs.set("low", options.low);
  attrs.set("high", options.high);
}

}  // namespace stoker
