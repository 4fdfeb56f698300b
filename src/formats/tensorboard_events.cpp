#include "formats/tensorboard_events.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "formats/protobuf_wire.h"

namespace stoker {

namespace {

// Field numbers of the messages named in the header.
namespace field {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;            // Event
constexpr uint32_t kValue = 1;                                                          // Summary
constexpr uint32_t kTag = 1, kSimpleValue = 2, kHisto = 5, kTensor = 8, kMetadata = 9;  // Value
constexpr uint32_t kMin = 1, kMax = 2, kNum = 3, kSum = 4, kSumSquares = 5, kBucketLimit = 6,
                   kBucket = 7;                                   // HistogramProto
constexpr uint32_t kPluginData = 1, kDataClass = 4;               // SummaryMetadata
constexpr uint32_t kPluginName = 1, kPluginContent = 2;           // PluginData
constexpr uint32_t kDtype = 1, kTensorShape = 2, kStringVal = 8;  // TensorProto
constexpr uint32_t kDim = 2;                      // TensorShapeProto; its size, 0, is left out
constexpr uint32_t kStartInfo = 3, kEndInfo = 4;  // HParamsPluginData
constexpr uint32_t kHparams = 1, kStartTime = 5;  // SessionStartInfo
constexpr uint32_t kStatus = 1, kEndTime = 2;     // SessionEndInfo
constexpr uint32_t kKey = 1, kMapValue = 2;       // of a map's entry
constexpr uint32_t kNumber = 2, kString = 3, kBool = 4;  // google.protobuf.Value
}  // namespace field

constexpr uint64_t kFloat = 1, kStringType = 7;  // DT_FLOAT, DT_STRING
constexpr uint64_t kTensorClass = 2;             // DATA_CLASS_TENSOR
constexpr uint64_t kSuccess = 1, kFailure = 2;

WireWriter event_at(const EventTime& when) {
  WireWriter event;
  event.floating(field::kWallTime, when.wall_time);
  event.varint(field::kStep, uint64_t(when.step));
  return event;
}

std::string summary_event(const EventTime& when, const WireWriter& value) {
  WireWriter summary, event = event_at(when);
  summary.bytes(field::kValue, value.message());
  event.bytes(field::kSummary, summary.message());
  return event.message();
}

// --- histograms -----------------------------------------------------------------------------

// Bucket k > 0 ends at 1e-12 · 1.1^(k − 1), k < 0 is its mirror image; bucket 0 is around nothing.
constexpr double kSmallest = 1e-12, kGrowth = 1.1;
constexpr int kMostBuckets = 1222;  // the last one holds the largest float

int bucket_of(double value) {
  double size = std::abs(value);
  if (size < kSmallest) return 0;
  int index = 1 + int(std::floor(std::log(size / kSmallest) / std::log(kGrowth)));
  return value < 0 ? -index : index;
}

// The upper limit: the far side of a positive bucket, the near side of a negative one.
double limit_of(int bucket) {
  if (bucket == 0) return kSmallest;
  if (bucket > 0) return kSmallest * std::pow(kGrowth, bucket);
  return -kSmallest * std::pow(kGrowth, -bucket - 1);
}

std::string packed(std::span<const double> numbers) {
  std::string bytes;
  bytes.reserve(8 * numbers.size());
  for (double number : numbers) {
    auto bits = std::bit_cast<uint64_t>(number);
    for (int shift = 0; shift < 64; shift += 8) bytes += char(uint8_t(bits >> shift));
  }
  return bytes;
}

struct Histogram {
  double min = std::numeric_limits<double>::infinity();
  double max = -min, count = 0, sum = 0, sum_squares = 0;
  std::vector<double> buckets = std::vector<double>(2 * kMostBuckets + 1);  // from -kMostBuckets

  void add(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
    count += 1;
    sum += value;
    sum_squares += value * value;
    buckets[size_t(bucket_of(value) + kMostBuckets)] += 1;
  }
};

// A bucket begins where the one before it ends: an empty one stands before each that follows a gap.
WireWriter message_of(const Histogram& histogram) {
  std::vector<double> limits, counts;
  int previous = std::numeric_limits<int>::min();
  for (int bucket = -kMostBuckets; bucket <= kMostBuckets; ++bucket) {
    double count = histogram.buckets[size_t(bucket + kMostBuckets)];
    if (count == 0) continue;
    if (bucket - 1 != previous) {
      limits.push_back(limit_of(bucket - 1));
      counts.push_back(0);
    }
    limits.push_back(limit_of(bucket));
    counts.push_back(count);
    previous = bucket;
  }
  WireWriter message;
  message.floating(field::kMin, histogram.count > 0 ? histogram.min : 0.0);
  message.floating(field::kMax, histogram.count > 0 ? histogram.max : 0.0);
  message.floating(field::kNum, histogram.count);
  message.floating(field::kSum, histogram.sum);
  message.floating(field::kSumSquares, histogram.sum_squares);
  message.bytes(field::kBucketLimit, packed(limits));
  message.bytes(field::kBucket, packed(counts));
  return message;
}

// --- plugins ----------------------------------------------------------------------------------

std::string plugin_metadata(const std::string& plugin, const std::string& content) {
  WireWriter data, metadata;
  data.bytes(field::kPluginName, plugin);
  data.bytes(field::kPluginContent, content);
  metadata.bytes(field::kPluginData, data.message());
  metadata.varint(field::kDataClass, kTensorClass);
  return metadata.message();
}

// The HParams plugin looks at the metadata alone; the tensor beside it is an empty one.
std::string empty_tensor() {
  WireWriter shape, tensor;
  shape.bytes(field::kDim, "");
  tensor.varint(field::kDtype, kFloat);
  tensor.bytes(field::kTensorShape, shape.message());
  return tensor.message();
}

std::string hparams_event(const EventTime& when, const std::string& tag, uint32_t number,
                          const WireWriter& info) {
  WireWriter content, value;
  content.bytes(number, info.message());
  value.bytes(field::kTag, tag);
  value.bytes(field::kTensor, empty_tensor());
  value.bytes(field::kMetadata, plugin_metadata("hparams", content.message()));
  return summary_event(when, value);
}

std::string dynamic_value(const HParam& hparam) {
  WireWriter value;
  if (const bool* truth = std::get_if<bool>(&hparam.second))
    value.varint(field::kBool, *truth ? 1 : 0);
  else if (const double* number = std::get_if<double>(&hparam.second))
    value.floating(field::kNumber, *number);
  else
    value.bytes(field::kString, std::get<std::string>(hparam.second));
  return value.message();
}

}  // namespace

std::string event_file_version(double wall_time) {
  WireWriter event = event_at({.wall_time = wall_time});
  event.bytes(field::kFileVersion, "brain.Event:2");
  return event.message();
}

std::string scalar_event(const EventTime& when, const std::string& tag, double value) {
  WireWriter message;
  message.bytes(field::kTag, tag);
  message.floating(field::kSimpleValue, float(value));
  return summary_event(when, message);
}

std::string text_event(const EventTime& when, const std::string& tag, const std::string& text) {
  WireWriter tensor, message;
  tensor.varint(field::kDtype, kStringType);
  tensor.bytes(field::kTensorShape, "");  // a scalar
  tensor.bytes(field::kStringVal, text);
  message.bytes(field::kTag, tag);
  message.bytes(field::kTensor, tensor.message());
  message.bytes(field::kMetadata, plugin_metadata("text", ""));
  return summary_event(when, message);
}

std::string histogram_event(const EventTime& when, const std::string& tag,
                            std::span<const float> values) {
  Histogram histogram;
  for (float value : values)
    if (std::isfinite(value)) histogram.add(double(value));
  WireWriter message;
  message.bytes(field::kTag, tag);
  message.bytes(field::kHisto, message_of(histogram).message());
  return summary_event(when, message);
}

std::string hparams_begin_event(const EventTime& when, std::span<const HParam> hparams) {
  WireWriter info;
  for (const HParam& hparam : hparams) {
    WireWriter entry;
    entry.bytes(field::kKey, hparam.first);
    entry.bytes(field::kMapValue, dynamic_value(hparam));
    info.bytes(field::kHparams, entry.message());
  }
  info.floating(field::kStartTime, when.wall_time);
  return hparams_event(when, "_hparams_/session_start_info", field::kStartInfo, info);
}

std::string hparams_end_event(const EventTime& when, bool succeeded) {
  WireWriter info;
  info.varint(field::kStatus, succeeded ? kSuccess : kFailure);
  info.floating(field::kEndTime, when.wall_time);
  return hparams_event(when, "_hparams_/session_end_info", field::kEndInfo, info);
}

}  // namespace stoker
