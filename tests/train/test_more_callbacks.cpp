// RemoteMonitor, against a server in this process, and CallbackList.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <sstream>

#include <fmt/format.h>

#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

// Takes one request on a port of this machine and answers it.
class OneRequest {
 public:
  OneRequest() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, generic, size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
    request_ = std::async(std::launch::async, [this] { return take(); });
  }
  ~OneRequest() { ::close(listener_); }
  OneRequest(const OneRequest&) = delete;
  OneRequest& operator=(const OneRequest&) = delete;

  std::string root() const { return fmt::format("http://127.0.0.1:{}", port_); }
  std::string text() { return request_.get(); }

 private:
  std::string take() const {
    int client = ::accept(listener_, nullptr, nullptr);
    std::string text;
    char part[1024];
    while (!complete(text)) {
      ssize_t count = ::recv(client, part, sizeof part, 0);
      if (count <= 0) break;
      text.append(part, size_t(count));
    }
    std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    EXPECT_EQ(::send(client, answer.data(), answer.size(), 0), ssize_t(answer.size()));
    ::close(client);
    return text;
  }
  static bool complete(const std::string& text) {
    size_t head = text.find("\r\n\r\n"), length = text.find("Content-Length: ");
    if (head == std::string::npos || length == std::string::npos) return false;
    return text.size() >= head + 4 + size_t(std::stoul(text.substr(length + 16)));
  }

  int listener_;
  int port_ = 0;
  std::future<std::string> request_;
};

class MoreCallbacks : public testing::Test {
 protected:
  OnDevice device_;
  Data data_ = line(8, 1);
  std::ostringstream out_;

  Sequential fitted(const std::vector<CallbackRef>& callbacks, int64_t epochs = 1) {
    Sequential model({Input({2}), Dense(1)});
    model.compile({.loss = "mse"});
    default_context().out = &out_;
    model.fit(data_.x, data_.y, {.epochs = epochs, .verbose = 0, .callbacks = callbacks});
    return model;
  }
};

TEST_F(MoreCallbacks, RemoteMonitorPostsTheLogsAsJson) {
  OneRequest server;
  fitted({RemoteMonitor({.root = server.root(),
                         .path = "/here",
                         .headers = {{"X-Run", "7"}},
                         .send_as_json = true})});
  EXPECT_TRUE(says(server.text(), {"POST /here HTTP/1.1", "X-Run: 7", "application/json",
                                   "{\"epoch\":0,\"loss\":"}));
}

TEST_F(MoreCallbacks, RemoteMonitorPostsAFormByDefault) {
  OneRequest server;
  fitted({RemoteMonitor({.root = server.root()})});
  EXPECT_TRUE(says(server.text(), {"POST /publish/epoch/end/ HTTP/1.1", "x-www-form-urlencoded",
                                   "data=%7B%22epoch%22%3A0%2C%22loss%22%3A"}));
}

TEST_F(MoreCallbacks, RemoteMonitorSaysOnceThatNoServerIsThere) {
  std::string root;
  {
    OneRequest server;
    root = server.root();
    fitted({RemoteMonitor({.root = root})});
    server.text();
  }
  fitted({RemoteMonitor({.root = root})}, 3);
  std::string said = out_.str();
  EXPECT_TRUE(says(said, {"RemoteMonitor", root.c_str(), "training goes on"}));
  EXPECT_EQ(said.find("RemoteMonitor"), said.rfind("RemoteMonitor"));
  EXPECT_TRUE(says(error_of<ValueError>([] { RemoteMonitor({.root = "https://a"}); }),
                   {"https://a", "http://host:port"}));
}

TEST_F(MoreCallbacks, MonitorsKnowWhatIsToGrow) {
  for (const Metric& metric :
       {F1Score(), FBetaScore(), MeanIoU(2), R2Score(), AUC(), SensitivityAtSpecificity(0.5),
        PearsonCorrelation(), TruePositives(), CosineSimilarityMetric(), Precision()})
    EXPECT_TRUE(Monitor("test", "val_" + metric.name(), "auto", 0).improves(2, 1)) << metric.name();
  for (const Metric& metric : {RootMeanSquaredError(), HingeMetric(), FalsePositives()})
    EXPECT_FALSE(Monitor("test", "val_" + metric.name(), "auto", 0).improves(2, 1))
        << metric.name();
}

TEST_F(MoreCallbacks, ACallbackListCallsAllOfItsCallbacks) {
  EarlyStopping stopping({.monitor = "loss", .min_delta = 1e9, .patience = 1});
  int64_t epochs = 0, batches = 0;
  LambdaCallback counting({.on_epoch_end = [&](int64_t, const Logs&) { ++epochs; },
                           .on_train_batch_end = [&](int64_t, const Logs&) { ++batches; }});
  CallbackList list({stopping});
  list.append(counting);
  fitted({list}, 5);
  EXPECT_EQ(stopping.stopped_epoch(), 1);
  EXPECT_EQ(epochs, 2);
  EXPECT_EQ(batches, 2);

  CallbackState state = list.state();
  EXPECT_TRUE(state.values.has("0/best"));
  EarlyStopping other({.monitor = "loss"});
  CallbackList({other}).restore(state);
  EXPECT_EQ(other.best(), stopping.best());
}

}  // namespace
}  // namespace stoker
