#include "distribute/nccl/nccl_group.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace stoker::distribute {

namespace {

void check(ncclResult_t code, const char* what) {
  if (code == ncclSuccess) return;
  throw CollectiveError(fmt::format("NCCL: {}: {}", what, ncclGetErrorString(code)));
}

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  throw CollectiveError(fmt::format("CUDA: {}: {}", what, cudaGetErrorString(code)));
}

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return ncclFloat32;
    case DType::float16:
      return ncclFloat16;
    case DType::bfloat16:
      return ncclBfloat16;
    case DType::int32:
      return ncclInt32;
    case DType::int64:
      return ncclInt64;
    default:
      throw CollectiveError(fmt::format("NCCL: no sum of {}", name(dtype)));
  }
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(ncclComm_t comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}
  ~NcclCommunicator() override { ncclCommDestroy(comm_); }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool on_device() const override { return true; }
  uint64_t start_sum(const SumCall&) override {
    throw CollectiveError("NCCL sums device memory only");
  }
  void wait(uint64_t) override {}
  void sum_on(void* stream, std::span<const DeviceSum> sums) override {
    check(ncclGroupStart(), "a group");
    for (const DeviceSum& sum : sums)
      check(ncclAllReduce(sum.data, sum.data, sum.elements, type_of(sum.dtype), ncclSum, comm_,
                          static_cast<cudaStream_t>(stream)),
            "a sum");
    check(ncclGroupEnd(), "a group");
  }

 private:
  ncclComm_t comm_;
  int rank_, size_;
};

// The PCI addresses of all replicas, in the order of their ranks.
constexpr size_t kBusText = 32;
std::vector<std::string> gathered(const std::vector<std::string>& buses, Transport* transport) {
  if (transport == nullptr) return buses;
  std::vector<char> mine(buses.size() * kBusText),
      all(mine.size() * size_t(transport->processes()));
  for (size_t i = 0; i < buses.size(); ++i)
    std::memcpy(mine.data() + i * kBusText, buses[i].data(),
                std::min(buses[i].size(), kBusText - 1));
  transport->all_gather(mine.data(), mine.size(), all.data());
  std::vector<std::string> found;
  for (size_t at = 0; at < all.size(); at += kBusText) found.emplace_back(all.data() + at);
  return found;
}

// The same GPU address on two hosts is two GPUs.
bool all_differ(const std::vector<std::string>& buses, size_t per_process, Transport* transport) {
  std::set<std::pair<std::string, std::string>> seen;
  for (size_t rank = 0; rank < buses.size(); ++rank) {
    std::string host = transport != nullptr ? transport->host(int(rank / per_process)) : "";
    if (buses[rank].empty() || !seen.emplace(host, buses[rank]).second) return false;
  }
  return true;
}

}  // namespace

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return {};
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::vector<std::shared_ptr<Communicator>> nccl_communicators(const std::vector<std::string>& buses,
                                                              Transport* transport) {
  std::vector<std::string> all = gathered(buses, transport);
  if (!all_differ(all, buses.size(), transport)) return {};
  ncclUniqueId id;
  int process = transport != nullptr ? transport->process() : 0;
  if (process == 0) check(ncclGetUniqueId(&id), "an id");
  if (transport != nullptr) transport->broadcast(&id, sizeof id, 0);
  int before = 0, size = int(all.size());
  check(cudaGetDevice(&before), "the current GPU");
  std::vector<ncclComm_t> comms(buses.size());
  check(ncclGroupStart(), "a group");
  for (size_t i = 0; i < buses.size(); ++i) {
    int gpu = 0;
    check(cudaDeviceGetByPCIBusId(&gpu, buses[i].c_str()), "finding a GPU");
    check(cudaSetDevice(gpu), "choosing a GPU");
    int rank = process * int(buses.size()) + int(i);
    check(ncclCommInitRank(&comms[i], size, id, rank), "joining the replicas");
  }
  check(ncclGroupEnd(), "joining the replicas");
  check(cudaSetDevice(before), "choosing a GPU");
  std::vector<std::shared_ptr<Communicator>> made;
  for (size_t i = 0; i < buses.size(); ++i)
    made.push_back(
        std::make_shared<NcclCommunicator>(comms[i], process * int(buses.size()) + int(i), size));
  return made;
}

}  // namespace stoker::distribute
