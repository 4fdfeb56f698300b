#include "train/callbacks/http_post.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

[[noreturn]] void fail_post(const HttpAddress& to, const std::string& why) {
  throw FileError(fmt::format("http://{}:{}{}: {}", to.host, to.port, to.path, why));
}

class Socket {
 public:
  explicit Socket(int handle) : handle_(handle) {}
  ~Socket() {
    if (handle_ >= 0) ::close(handle_);
  }
  Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int handle() const { return handle_; }

 private:
  int handle_;
};

void set_timeout(int handle, double seconds) {
  seconds = std::min(seconds, 1e9);  // beyond what a time_t surely holds: for ever
  timeval limit{};
  limit.tv_sec = time_t(seconds);
  limit.tv_usec = suseconds_t((seconds - std::floor(seconds)) * 1e6);
  ::setsockopt(handle, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::setsockopt(handle, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

Socket connected(const HttpAddress& to, double timeout_seconds) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (int error = ::getaddrinfo(to.host.c_str(), to.port.c_str(), &wanted, &found); error != 0)
    fail_post(to, ::gai_strerror(error));
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, ::freeaddrinfo);
  std::string why = "no address";
  for (addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Socket socket(::socket(each->ai_family, each->ai_socktype, each->ai_protocol));
    if (socket.handle() < 0) continue;
    set_timeout(socket.handle(), timeout_seconds);
    if (::connect(socket.handle(), each->ai_addr, each->ai_addrlen) == 0) return socket;
    why = std::strerror(errno);
  }
  fail_post(to, why);
}

std::string request_text(const HttpPost& post) {
  std::string text = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: "
      "close\r\n",
      post.to.path, post.to.host, post.to.port, post.content_type, post.body.size());
  for (const auto& [name, value] : post.headers) text += fmt::format("{}: {}\r\n", name, value);
  return text + "\r\n" + post.body;
}

}  // namespace

HttpAddress http_address(const std::string& root, const std::string& path) {
  constexpr std::string_view kScheme = "http://";
  if (!root.starts_with(kScheme) || root.size() == kScheme.size())
    throw ValueError(fmt::format(
        "RemoteMonitor: root is \"{}\", expected \"http://host:port\"; for https put a proxy on "
        "this machine",
        root));
  std::string rest = root.substr(kScheme.size());
  size_t slash = rest.find('/');
  std::string prefix = slash == std::string::npos ? "" : rest.substr(slash);
  while (prefix.ends_with('/')) prefix.pop_back();
  std::string place = rest.substr(0, slash);
  size_t colon = place.rfind(':');
  return {place.substr(0, colon), colon == std::string::npos ? "80" : place.substr(colon + 1),
          prefix + (path.starts_with('/') ? "" : "/") + path};
}

void send_post(const HttpPost& post) {
  Socket socket = connected(post.to, post.timeout_seconds);
  std::string text = request_text(post);
  for (size_t sent = 0; sent < text.size();) {
    ssize_t now = ::send(socket.handle(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) fail_post(post.to, std::strerror(errno));
    sent += size_t(now);
  }
  char first = 0;
  if (::recv(socket.handle(), &first, 1, 0) <= 0) fail_post(post.to, "no answer");
}

std::string percent_encoded(const std::string& text) {
  std::string encoded;
  for (unsigned char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 std::string_view("-._~").find(char(c)) != std::string_view::npos;
    encoded += plain ? std::string(1, char(c)) : fmt::format("%{:02X}", c);
  }
  return encoded;
}

}  // namespace stoker
