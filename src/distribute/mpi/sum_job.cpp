#include "distribute/mpi/sum_job.h"

#include <cstring>

#include "distribute/sums.h"

namespace stoker::distribute::mpi {

namespace {

constexpr size_t kSmallBytes = 16 << 10;  // per process: latency counts, not bytes

MPI_Datatype type_of(Wire wire) {
  return wire == Wire::float32 ? MPI_FLOAT : wire == Wire::bfloat16 ? MPI_UINT16_T : MPI_INT64_T;
}

}  // namespace

SumJob::SumJob(Exchange exchange, int process, int processes)
    : exchange_(std::move(exchange)), process_(process), processes_(processes) {
  size_t bytes = exchange_.elements * wire_size(exchange_.wire) * exchange_.contributions.size();
  small_ = bytes <= kSmallBytes;
}

SumJob::Section SumJob::section(int process) const {
  auto part = [&](int number) { return exchange_.elements * size_t(number) / size_t(processes_); };
  return {part(process), part(process + 1) - part(process)};
}

bool SumJob::plain() const {
  return exchange_.contributions.size() == 1 && exchange_.wire != Wire::bfloat16;
}

std::byte* SumJob::contribution(size_t index, size_t element) const {
  return static_cast<std::byte*>(exchange_.contributions[index]) +
         element * memory_size(exchange_.wire);
}

// Sections by process, in each the contributions one after the other.
void SumJob::pack() {
  size_t size = wire_size(exchange_.wire);
  sent_.resize(exchange_.elements * exchange_.contributions.size() * size);
  std::byte* to = sent_.data();
  for (int process = 0; process < (small_ ? 1 : processes_); ++process) {
    Section part = small_ ? Section{0, exchange_.elements} : section(process);
    for (size_t i = 0; i < exchange_.contributions.size(); ++i) {
      to_wire(contribution(i, part.begin), part.count, exchange_.wire, to);
      to += part.count * size;
    }
  }
}

void SumJob::begin(MPI_Comm exchange) {
  MPI_Datatype type = type_of(exchange_.wire);
  int contributions = int(exchange_.contributions.size());
  if (!plain() || small_) pack();
  size_t size = wire_size(exchange_.wire);
  if (small_) {
    int count = int(exchange_.elements) * contributions;
    got_.resize(size_t(count) * size_t(processes_) * size);
    check(MPI_Iallgather(sent_.data(), count, type, got_.data(), count, type, exchange, &request_),
          "gathering a sum");
    return;
  }
  Section own = section(process_);
  for (int process = 0; process < processes_; ++process) {
    Section part = section(process);
    counts_.push_back(int(part.count) * contributions);
    places_.push_back(int(part.begin) * contributions);
    got_counts_.push_back(int(own.count) * contributions);
    got_places_.push_back(int(own.count) * contributions * process);
  }
  got_.resize(own.count * size_t(contributions * processes_) * size);
  const void* from = plain() ? exchange_.contributions[0] : sent_.data();
  check(MPI_Ialltoallv(from, counts_.data(), places_.data(), type, got_.data(), got_counts_.data(),
                       got_places_.data(), type, exchange, &request_),
        "exchanging a sum");
}

bool SumJob::arrived() {
  int there = 0;
  check(MPI_Test(&request_, &there, MPI_STATUS_IGNORE), "a sum");
  return there != 0;
}

// What arrived, in the order of the ranks, into the first contribution.
void SumJob::add_up() {
  Section part = small_ ? Section{0, exchange_.elements} : section(process_);
  size_t ranks = size_t(processes_) * exchange_.contributions.size();
  const std::byte* from = got_.data();
  std::vector<std::byte> wide;
  if (exchange_.wire == Wire::bfloat16) {
    wide.resize(part.count * ranks * memory_size(exchange_.wire));
    from_wire(got_.data(), part.count * ranks, exchange_.wire, wide.data());
    from = wide.data();
  }
  std::vector<const void*> all;
  for (size_t rank = 0; rank < ranks; ++rank)
    all.push_back(from + rank * part.count * memory_size(exchange_.wire));
  sum_in_order(all, part.count, exchange_.wire, contribution(0, part.begin));
  summed_ = true;
}

bool SumJob::wants_second_round() {
  if (second_ || done_) return false;
  if (!summed_) {
    if (!arrived()) return false;
    add_up();
    if (small_) {
      spread();
      done_ = true;
    }
  }
  return !done_;
}

void SumJob::begin_second_round(MPI_Comm gather) {
  second_ = true;
  counts_.clear();
  places_.clear();
  for (int process = 0; process < processes_; ++process) {
    Section part = section(process);
    counts_.push_back(int(part.count));
    places_.push_back(int(part.begin));
  }
  MPI_Datatype type = type_of(exchange_.wire);
  void* all = exchange_.contributions[0];
  if (exchange_.wire == Wire::bfloat16) {
    sums_.resize(exchange_.elements * wire_size(exchange_.wire));
    Section own = section(process_);
    to_wire(contribution(0, own.begin), own.count, exchange_.wire,
            sums_.data() + own.begin * wire_size(exchange_.wire));
    all = sums_.data();
  }
  check(MPI_Iallgatherv(MPI_IN_PLACE, 0, type, all, counts_.data(), places_.data(), type, gather,
                        &request_),
        "gathering sums");
}

// The first contribution holds the sum; so do the others.
void SumJob::spread() {
  size_t bytes = exchange_.elements * memory_size(exchange_.wire);
  for (size_t i = 1; i < exchange_.contributions.size(); ++i)
    std::memcpy(exchange_.contributions[i], exchange_.contributions[0], bytes);
}

bool SumJob::is_done() {
  if (done_) return true;
  if (!second_ || !arrived()) return false;
  if (exchange_.wire == Wire::bfloat16)
    from_wire(sums_.data(), exchange_.elements, exchange_.wire, exchange_.contributions[0]);
  spread();
  done_ = true;
  return true;
}

}  // namespace stoker::distribute::mpi
