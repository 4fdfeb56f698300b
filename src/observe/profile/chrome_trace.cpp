#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "observe/profile/trace_files.h"

namespace stoker {

namespace {

using Kind = TimelineEvent::Kind;

constexpr int kHost = 1, kDevice = 2;  // "processes" of the trace

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class ChromeWriter {
 public:
  std::string write(const Timeline& timeline, const Recorded& recorded) {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    name("process_name", kHost, 0, "host");
    name("process_name", kDevice, 0, recorded.device_name);
    int lane_number = 0;
    for (const Lane& lane : timeline.lanes) {
      int process = lane.device ? kDevice : kHost;
      ++lane_number;
      name("thread_name", process, lane_number, lane.name);
      append(
          R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
          process, lane_number, lane_number);
      for (const TimelineEvent& event : lane.events) write(event, process, lane_number);
    }
    write_memory(timeline);
    text_.erase(text_.size() - 2);  // the last comma
    text_ += fmt::format(
        "\n],\"otherData\":{{\"made_by\":\"Stoker\",\"events\":{},\"events_dropped\":{}}}}}\n",
        timeline.events, timeline.dropped);
    return std::move(text_);
  }

 private:
  template <class... Args>
  void append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += ",\n";
  }

  void name(const char* what, int process, int thread, std::string_view name) {
    append(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}})", process, thread,
           what, json_text(name));
  }

  void write(const TimelineEvent& event, int process, int thread) {
    append(R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},{}}})", process, thread,
           double(event.begin) * 1e-3, double(event.end - event.begin) * 1e-3, words(event));
  }

  // A curve: what is held while ops run, where it changes.
  void write_memory(const Timeline& timeline) {
    for (const Lane& lane : timeline.lanes) {
      size_t live = 0;
      for (const TimelineEvent& event : lane.events) {
        if (event.kind != Kind::op || event.kernel->live == live) continue;
        live = event.kernel->live;
        append(R"({{"ph":"C","pid":{},"ts":{:.3f},"name":"memory","args":{{"bytes":{}}}}})",
               kDevice, double(event.begin) * 1e-3, live);
      }
    }
  }

  std::string words(const TimelineEvent& event) {
    switch (event.kind) {
      case Kind::step:
        return fmt::format(R"("name":"step {}","args":{{"epoch":{}}})", event.number, event.epoch);
      case Kind::wait:
        return R"("name":"wait for batch")";
      case Kind::copy:
        return R"("name":"copy of the batch")";
      case Kind::op:
        return words_of(*event.kernel);
      default:
        return fmt::format(R"("name":{})", json_text(event.name));
    }
  }

  const std::string& words_of(const KernelInfo& kernel) {
    auto [known, is_new] = kernels_.try_emplace(&kernel);
    if (is_new)
      known->second = fmt::format(R"("name":{},"args":{{"kernel":{},"flops":{:.0f},"bytes":{:.0f},)"
                                  R"("memory":{},"live":{}}})",
                                  json_text(op_label(kernel)), json_text(kernel.kernel),
                                  kernel.cost.flops, kernel.cost.bytes, kernel.memory, kernel.live);
    return known->second;
  }

  std::string text_;
  std::map<const KernelInfo*, std::string> kernels_;
};

}  // namespace

std::string chrome_trace(const Timeline& timeline, const Recorded& recorded) {
  return ChromeWriter().write(timeline, recorded);
}

}  // namespace stoker
