#include <cmath>

#include "formats/json.h"
#include "train/callbacks/callback_support.h"
#include "train/callbacks/http_post.h"

namespace stoker {

template <>
const Fields<RemoteMonitorOptions>& callback_fields() {
  using C = RemoteMonitorOptions;
  static const Fields<C> table = {{"field", &C::field, not_empty()},
                                  {"timeout_seconds", &C::timeout_seconds, above(0)}};
  return table;
}

RemoteMonitor::RemoteMonitor(RemoteMonitorOptions options) : options_(std::move(options)) {
  callback_fields<RemoteMonitorOptions>().check("RemoteMonitor", options_);
  http_address(options_.root, options_.path);  // checks it
}

void RemoteMonitor::on_epoch_end(int64_t epoch, const Logs& logs) {
  nlohmann::ordered_json json = {{"epoch", epoch}};
  for (size_t i = 0; i < logs.size(); ++i) {
    double value = logs.value(i);
    json[logs.names()[i]] = std::isfinite(value) ? nlohmann::ordered_json(value) : nullptr;
  }
  std::string text = json.dump();
  HttpPost post{.to = http_address(options_.root, options_.path),
                .content_type = "application/json",
                .body = text,
                .headers = options_.headers,
                .timeout_seconds = options_.timeout_seconds};
  if (!options_.send_as_json) {
    post.content_type = "application/x-www-form-urlencoded";
    post.body = percent_encoded(options_.field) + "=" + percent_encoded(text);
  }
  try {
    send_post(post);
    said_ = false;
  } catch (const FileError& error) {
    if (!std::exchange(said_, true))
      say(*this, fmt::format("RemoteMonitor: {}; training goes on", error.what()));
  }
}

}  // namespace stoker
