#include <array>
#include <map>

#include <fmt/format.h>

#include "formats/xplane.h"
#include "observe/profile/trace_files.h"

namespace stoker {

namespace {

using Kind = TimelineEvent::Kind;

// Without any, an event of a device is no kernel there. Registers and grids are not known here.
constexpr const char* kDetails = "grid:unknown";

// The Profile page looks for ops with a pattern of these characters.
std::string op_name(std::string text) {
  for (char& letter : text) {
    bool fits = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                (letter >= '0' && letter <= '9') || letter == '_' || letter == '.' ||
                letter == '/' || letter == '-';
    if (!fits) letter = '_';
  }
  return text;
}

class XSpaceWriter {
 public:
  XSpaceWriter(const Timeline& timeline, const Recorded& recorded)
      : timeline_(timeline), recorded_(recorded) {}

  std::string write(std::string_view host) {
    XPlaneWriter threads(1, "/host:CPU"), device(2, "/device:GPU:0");
    device.stat({"device_vendor", std::string_view("Nvidia")});
    int64_t line = 0;
    for (const Lane& lane : timeline_.lanes) {
      // A CPU's computing is the host's: a device of its own is a GPU's there.
      bool on_device = lane.device && recorded_.gpu;
      XPlaneWriter& plane = on_device ? device : threads;
      ++line;
      plane.begin_line(line, on_device ? stream_name(lane, line) : lane.name,
                       int64_t(recorded_.since_1970 * 1e9));
      for (const TimelineEvent& event : lane.events) write(plane, event, on_device);
    }
    std::vector<std::string> planes{threads.finish()};
    if (recorded_.gpu) planes.push_back(device.finish());
    return encode_xspace(planes, host);
  }

 private:
  static std::string stream_name(const Lane& lane, int64_t line) {
    return fmt::format("Stream #{}({})", line, lane.name == "copy" ? "MemcpyH2D" : "Compute");
  }

  // What ties the device's events to the host's step that launched them.
  static XStat launch_of(const TimelineEvent& event) {
    return {"correlation_id", event.number + 1};
  }

  void write(XPlaneWriter& plane, const TimelineEvent& event, bool on_device) {
    XStat launch = launch_of(event);
    switch (event.kind) {
      case Kind::step:
        write_step(plane, event, on_device);
        return;
      case Kind::wait:
        plane.event(
            {.name = "IteratorGetNext (wait for batch)", .begin = event.begin, .end = event.end});
        return;
      case Kind::copy:
        plane.event({.name = "MemcpyH2D",
                     .begin = event.begin,
                     .end = event.end,
                     .stats = std::span(&launch, size_t(1))});
        return;
      case Kind::op:
        write_op(plane, event, on_device);
        return;
      default:
        plane.event({.name = event.name, .begin = event.begin, .end = event.end});
    }
  }

  // "_r": the root of all that happens in it.
  void write_step(XPlaneWriter& plane, const TimelineEvent& event, bool on_device) const {
    std::array<XStat, 3> stats{launch_of(event), XStat{"step_num", event.number},
                               XStat{"_r", int64_t(1)}};
    if (on_device)
      plane.event({.name = "step, replayed as a whole",
                   .begin = event.begin,
                   .end = event.end,
                   .stats = std::span(stats).first(1)});
    else
      plane.event({.name = "train",
                   .begin = event.begin,
                   .end = event.end,
                   .stats = std::span(stats).subspan(recorded_.gpu ? 0 : 1)});
  }

  void write_op(XPlaneWriter& plane, const TimelineEvent& event, bool on_device) {
    const KernelInfo& kernel = *event.kernel;
    const std::string& name = name_of(kernel);
    std::array<XStat, 6> stats{XStat{"flops", int64_t(kernel.cost.flops)},
                               XStat{"bytes_accessed", int64_t(kernel.cost.bytes)},
                               XStat{"kernel", std::string_view(kernel.kernel)},
                               XStat{"tf_op", std::string_view(name)},
                               launch_of(event),
                               XStat{"kernel_details", std::string_view(kDetails)}};
    plane.event({.name = on_device ? std::string_view(kernel.kernel) : name,
                 .begin = event.begin,
                 .end = event.end,
                 .stats = std::span(stats).first(on_device ? 6 : 3)});
  }

  // "dense/matmul:matmul": behind the colon the kind of op.
  const std::string& name_of(const KernelInfo& kernel) {
    auto [known, is_new] = names_.try_emplace(&kernel);
    if (is_new) known->second = fmt::format("{}:{}", op_name(op_label(kernel)), op_name(kernel.op));
    return known->second;
  }

  const Timeline& timeline_;
  const Recorded& recorded_;
  std::map<const KernelInfo*, std::string> names_;
};

}  // namespace

std::string xspace(const Timeline& timeline, const Recorded& recorded, std::string_view host) {
  return XSpaceWriter(timeline, recorded).write(host);
}

}  // namespace stoker
