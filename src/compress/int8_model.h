// The int8 model of a plan whose activations have ranges.
#pragma once

#include <map>

#include "compress/calibration.h"
#include "compress/quant_plan.h"

namespace stoker::compress {

using GroupRanges = std::map<int, Range>;  // by QuantPlan::group_of

struct Int8Request {
  int64_t weight_bits = 8;
  CustomObjects custom_objects;
};

// Layers, activations and what stays in float are added to the report.
Model int8_model(const Model& model, const QuantPlan& plan, const GroupRanges& ranges,
                 const Int8Request& request, QuantizeReport& report);

}  // namespace stoker::compress
