// The seam between the processes of a job; MPI fills it. All processes call the same functions in
// the same order; each call returns, or throws a CollectiveError, within the deadline.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "engine/collective.h"

namespace stoker::distribute {

// A sum over all replicas of all processes. Each process brings the same number of contributions;
// their ranks go up with the process, then with the place in the list.
struct Exchange {
  std::vector<void*> contributions;  // of this process; each becomes the sum
  size_t elements = 0;
  Wire wire = Wire::float32;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int process() const = 0;  // from 0
  virtual int processes() const = 0;
  virtual int local_process() const = 0;    // among those of this host
  virtual int local_processes() const = 0;  // on this host
  virtual std::string host(int process) const = 0;

  // Returns at once. `done` is called on another thread when every contribution holds the sum, or
  // with what went wrong.
  virtual void start(Exchange exchange, std::function<void(std::exception_ptr)> done) = 0;

  // A thread waits for a sum from now on, until wait_ends(): while none does, the transport leaves the
  // cores to the computation where it can.
  virtual void wait_begins() {}
  virtual void wait_ends() {}

  // Bytes of every process, in order: `all` holds processes() × bytes.
  virtual void all_gather(const void* mine, size_t bytes, void* all) = 0;
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  virtual void barrier() = 0;

  // Where this process stands, for what others say about it: steps of the epoch that are done.
  virtual void set_place(int64_t epoch, int64_t step) { (void)epoch, (void)step; }
  // Whether this process says for all what happened: the first of those that live.
  virtual bool speaks() const { return process() == 0; }
  // This process gives up: the calls of all others end with a CollectiveError that says why.
  virtual void fail(const std::string& why) noexcept { (void)why; }
};

}  // namespace stoker::distribute
