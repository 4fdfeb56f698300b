// A peer in Python that does one piece of work per request, so that it and Stoker can take turns. The
// script is called with a folder, reads names from its input, does what each stands for and answers with
// a line: "done" and its CPU seconds, or why not. It runs in the environment that scripts/peers-setup.sh makes.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace stoker::bench {

class PeerProcess {
 public:
  // `script`: below bench/. Requests go through a FIFO in `folder`.
  PeerProcess(const std::string& folder, const std::string& script);

  // False: the peer cannot do it, or there is no peer.
  bool can(const std::string& name) { return ask(name).starts_with(kDone); }
  // Returns the CPU seconds that it took. Error when it cannot be done.
  double run(const std::string& name);

 private:
  static constexpr const char* kDone = "done ";

  struct Close {
    void operator()(FILE* file) const { ::fclose(file); }
  };
  struct EndProcess {
    void operator()(FILE* pipe) const { ::pclose(pipe); }
  };
  std::string ask(const std::string& name);

  std::unique_ptr<FILE, EndProcess> answers_;  // null: there is no peer
  std::unique_ptr<FILE, Close> requests_;      // closed first, which ends the process
};

// The interpreter of the peers' environment; empty: there is none.
std::string peers_python();

}  // namespace stoker::bench
