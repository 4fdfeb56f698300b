// The events that TensorBoard reads, as messages: tensorboard/compat/proto/event.proto and
// summary.proto, and the HParams plugin's api.proto. A file is a TFRecord file of them whose name
// holds "tfevents"; its first event is event_file_version().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stoker {

struct EventTime {
  double wall_time = 0;  // seconds since 1970
  int64_t step = 0;
};

std::string event_file_version(double wall_time);  // "brain.Event:2"
std::string scalar_event(const EventTime& when, const std::string& tag, double value);

// Markdown, for the Text page.
std::string text_event(const EventTime& when, const std::string& tag, const std::string& text);

// Buckets whose limits grow by a tenth, as TensorBoard's own; values that are not finite are left
// out. Memory for the buckets only.
std::string histogram_event(const EventTime& when, const std::string& tag,
                            std::span<const float> values);

using HParam = std::pair<std::string, std::variant<bool, double, std::string>>;
// A row of the HParams page begins and ends with these.
std::string hparams_begin_event(const EventTime& when, std::span<const HParam> hparams);
std::string hparams_end_event(const EventTime& when, bool succeeded);

}  // namespace stoker
