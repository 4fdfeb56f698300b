// The file that the Profile page of TensorBoard opens: tsl/profiler/protobuf/xplane.proto. A space
// holds planes (a host, a device), a plane lines (a thread, a stream), a line events.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/protobuf_wire.h"

namespace stoker {

struct XStat {
  std::string_view name;
  std::variant<int64_t, double, std::string_view> value;
};

struct XEvent {
  std::string_view name;
  int64_t begin = 0, end = 0;  // nanoseconds, from the line's time on
  std::span<const XStat> stats = {};
};

// One plane, line by line.
class XPlaneWriter {
 public:
  XPlaneWriter(int64_t id, std::string_view name);

  void stat(const XStat& stat);  // of the plane
  void begin_line(int64_t id, std::string_view name, int64_t nanoseconds);
  void event(const XEvent& event);  // of the line that was begun last

  // The plane with all that was given so far; nothing can be added afterwards.
  std::string finish();

 private:
  using Names = std::map<std::string, int64_t, std::less<>>;
  static int64_t id_of(Names& names, std::string_view name);
  std::string encoded(const XStat& stat);
  void end_line();

  WireWriter plane_, line_;
  bool in_line_ = false;
  Names events_, stats_;
};

std::string encode_xspace(std::span<const std::string> planes, std::string_view host);

}  // namespace stoker
