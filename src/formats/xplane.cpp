#include "formats/xplane.h"

namespace stoker {

namespace {

// Field numbers of xplane.proto.
namespace xplane {
namespace space {
constexpr uint32_t kPlanes = 1, kHostnames = 4;
}
namespace plane {
constexpr uint32_t kId = 1, kName = 2, kLines = 3, kEventMetadata = 4, kStatMetadata = 5,
                   kStats = 6;
}
namespace line {
constexpr uint32_t kId = 1, kName = 2, kTimestampNs = 3, kEvents = 4, kDisplayName = 11;
}
namespace event {
constexpr uint32_t kMetadataId = 1, kOffsetPs = 2, kDurationPs = 3, kStats = 4;
}
namespace stat {
constexpr uint32_t kMetadataId = 1, kDouble = 2, kInt64 = 4, kString = 5;
}
namespace metadata {
constexpr uint32_t kId = 1, kName = 2;
}
namespace entry {  // of a map
constexpr uint32_t kKey = 1, kValue = 2;
}
}  // namespace xplane

constexpr int64_t kPicoseconds = 1000;  // in a nanosecond

std::string map_entry(int64_t id, std::string_view name) {
  WireWriter value;
  value.varint(xplane::metadata::kId, uint64_t(id));
  value.bytes(xplane::metadata::kName, name);
  WireWriter entry;
  entry.varint(xplane::entry::kKey, uint64_t(id));
  entry.bytes(xplane::entry::kValue, value.message());
  return entry.message();
}

}  // namespace

XPlaneWriter::XPlaneWriter(int64_t id, std::string_view name) {
  plane_.varint(xplane::plane::kId, uint64_t(id));
  plane_.bytes(xplane::plane::kName, name);
}

int64_t XPlaneWriter::id_of(Names& names, std::string_view name) {
  auto found = names.find(name);
  if (found == names.end()) found = names.emplace(name, int64_t(names.size()) + 1).first;
  return found->second;
}

std::string XPlaneWriter::encoded(const XStat& stat) {
  WireWriter writer;
  writer.varint(xplane::stat::kMetadataId, uint64_t(id_of(stats_, stat.name)));
  if (const int64_t* whole = std::get_if<int64_t>(&stat.value))
    writer.varint(xplane::stat::kInt64, uint64_t(*whole));
  else if (const double* number = std::get_if<double>(&stat.value))
    writer.floating(xplane::stat::kDouble, *number);
  else
    writer.bytes(xplane::stat::kString, std::get<std::string_view>(stat.value));
  return writer.message();
}

void XPlaneWriter::stat(const XStat& stat) { plane_.bytes(xplane::plane::kStats, encoded(stat)); }

void XPlaneWriter::begin_line(int64_t id, std::string_view name, int64_t nanoseconds) {
  end_line();
  in_line_ = true;
  line_.varint(xplane::line::kId, uint64_t(id));
  line_.bytes(xplane::line::kName, name);
  line_.bytes(xplane::line::kDisplayName, name);
  line_.varint(xplane::line::kTimestampNs, uint64_t(nanoseconds));
}

void XPlaneWriter::event(const XEvent& event) {
  WireWriter writer;
  writer.varint(xplane::event::kMetadataId, uint64_t(id_of(events_, event.name)));
  writer.varint(xplane::event::kOffsetPs, uint64_t(event.begin * kPicoseconds));
  writer.varint(xplane::event::kDurationPs, uint64_t((event.end - event.begin) * kPicoseconds));
  for (const XStat& stat : event.stats) writer.bytes(xplane::event::kStats, encoded(stat));
  line_.bytes(xplane::line::kEvents, writer.message());
}

void XPlaneWriter::end_line() {
  if (in_line_) plane_.bytes(xplane::plane::kLines, line_.message());
  line_ = {};
  in_line_ = false;
}

std::string XPlaneWriter::finish() {
  end_line();
  for (const auto& [name, id] : events_)
    plane_.bytes(xplane::plane::kEventMetadata, map_entry(id, name));
  for (const auto& [name, id] : stats_)
    plane_.bytes(xplane::plane::kStatMetadata, map_entry(id, name));
  return plane_.message();
}

std::string encode_xspace(std::span<const std::string> planes, std::string_view host) {
  WireWriter space;
  for (const std::string& plane : planes) space.bytes(xplane::space::kPlanes, plane);
  space.bytes(xplane::space::kHostnames, host);
  return space.message();
}

}  // namespace stoker
