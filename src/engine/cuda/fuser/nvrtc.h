// NVIDIA's run-time compiler, loaded when it is first needed: no build and no program depends on
// it. It needs no GPU. Thread-safe.
#pragma once

#include <memory>
#include <string>

namespace stoker::fuser {

class Nvrtc {
 public:
  // The library of this process, or null: there is none, or STOKER_NVRTC is "off".
  static const Nvrtc* get();
  ~Nvrtc();

  std::string version() const;  // "13.0"
  // A cubin of the prelude and `source`, for a GPU of this compute capability (90: 9.0). Error with
  // the compiler's log where it does not compile.
  std::string compile(const std::string& source, int capability) const;

 private:
  struct Functions;
  explicit Nvrtc(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions_;
};

}  // namespace stoker::fuser
