// One HTTP/1.1 POST to a server, for RemoteMonitor. Blocks for the timeout at most. FileError, with
// the address and the reason, when the server cannot be reached or does not answer; the answer itself
// is not looked at.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stoker {

struct HttpAddress {
  std::string host, port, path;
};
// "http://host:port", and a path behind it. ValueError for anything else.
HttpAddress http_address(const std::string& root, const std::string& path);

struct HttpPost {
  HttpAddress to;
  std::string content_type, body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  double timeout_seconds = 5;
};
void send_post(const HttpPost& post);

// As forms and URLs hold it: all but letters, digits and -._~ as %XX.
std::string percent_encoded(const std::string& text);

}  // namespace stoker
