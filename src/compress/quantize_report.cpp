#include <stoker/quantize.h>

#include <fmt/format.h>

namespace stoker {

std::string QuantizeReport::text() const {
  std::string text = fmt::format(
      "weights     {} → {} bytes  ({:.1f} %)\n", weight_bytes_before, weight_bytes_after,
      weight_bytes_before > 0 ? 100 * double(weight_bytes_after) / double(weight_bytes_before) : 0);
  if (int8_share) text += fmt::format("int8        {:.1f} % of the FLOPs\n", 100 * *int8_share);
  if (samples > 0) text += fmt::format("calibrated  on {} samples\n", samples);
  for (const QuantizedLayer& each : layers)
    text += fmt::format("{}: {}{}\n", each.layer, each.change,
                        each.weight_error
                            ? fmt::format(", weights differ by {:.2f} %", 100 * *each.weight_error)
                            : "");
  for (const KeptInFloat& each : in_float)
    text += fmt::format("In float: {}: {}\n", each.layer, each.reason);
  for (const ActivationRange& each : activations)
    if (each.low == 0 && each.high == 0)
      text += fmt::format("Always 0 on the calibration data: the output of {}\n", each.layer);
  for (const std::string& each : notes) text += each + "\n";
  return text;
}

}  // namespace stoker
