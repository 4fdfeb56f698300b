// The seam between the engine and the replicas of a step. A program that is one of several replicas
// sums over all of them through a Communicator, which src/distribute fills: threads of one process,
// MPI, NCCL. One per replica; used by the thread that runs the replica's program.
//
// Every replica starts the same sums in the same order. A sum adds the contributions in the order
// of the ranks, whatever carries them, so its bits depend on the number of ranks alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/error.h>

#include "base/host_function.h"

namespace stoker {

class Graph;

// What the elements of a sum are, in memory and on the wire. bfloat16: float32 in memory; each
// contribution and the sum are rounded to bfloat16, the additions are in float32.
enum class Wire : uint8_t { float32, bfloat16, int64 };

std::string_view name(Wire wire);
Wire wire_from_name(std::string_view name);  // ValueError lists the names
inline size_t memory_size(Wire wire) { return wire == Wire::int64 ? 8 : 4; }
inline size_t wire_size(Wire wire) { return wire == Wire::bfloat16 ? 2 : memory_size(wire); }

// A replica did not join, or its process is gone: what was waited for, and which ranks are known.
class CollectiveError : public Error {
 public:
  using Error::Error;
};

struct SumCall {
  void* data = nullptr;  // elements of memory_size(wire)
  size_t elements = 0;
  Wire wire = Wire::float32;
};

// In device memory, in its own dtype on the wire.
struct DeviceSum {
  void* data = nullptr;
  size_t elements = 0;
  DType dtype = DType::float32;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Starts a sum in place; host memory. The memory belongs to the communicator until wait() of the
  // returned ticket returns. CollectiveError.
  virtual uint64_t start_sum(const SumCall& call) = 0;
  virtual void wait(uint64_t ticket) = 0;
  // The same on a device's stream (a cudaStream_t), which goes on with the sums, all of them one
  // collective. Legal while the stream is captured. Only where on_device().
  virtual bool on_device() const { return false; }
  virtual void sum_on(void* stream, std::span<const DeviceSum> sums);

  // Sums leave what is there.
  bool is_alone() const { return alone_; }
  void set_alone(bool alone) { alone_ = alone; }

 private:
  bool alone_ = false;
};

// How an all_reduce names its communicator: the attribute "group". Like a host function it belongs to
// the program and is never written.
struct CommunicatorLink : HostFunction {
  explicit CommunicatorLink(std::shared_ptr<Communicator> linked)
      : communicator(std::move(linked)) {
    name = "replicas";
  }
  std::shared_ptr<Communicator> communicator;
};
// Of its attributes. Null: there is one replica. Error for a sum over another number of replicas than the communicator's.
std::shared_ptr<Communicator> communicator_of(const Attrs& attrs);

// While it lives, these communicators, or those of a graph, leave what is there: one replica can run
// its program by itself (find_non_finite), and a step can be timed without its sums.
class AloneReplica {
 public:
  explicit AloneReplica(const Graph& graph);
  explicit AloneReplica(std::vector<std::shared_ptr<Communicator>> communicators);
  ~AloneReplica();
  AloneReplica(const AloneReplica&) = delete;
  AloneReplica& operator=(const AloneReplica&) = delete;

 private:
  std::vector<std::shared_ptr<Communicator>> communicators_;
};

}  // namespace stoker
