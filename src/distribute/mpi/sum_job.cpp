#include "distribute/mpi/sum_job.h"

#include <algorithm>
#include <cstring>

#include "distribute/sums.h"

namespace stoker::distribute::mpi {

namespace {

constexpr size_t kSmallBytes = 16 << 10;  // per process: latency counts, not bytes
// Of a message: what Open MPI sends at once over TCP. Larger ones wait for an answer that waits behind
// other messages: 46.8 MB between two hosts at 1 Gbit/s took 386 ms in messages of 60 KiB, 456 in 128 KiB
// and 524 in 512 KiB.
constexpr size_t kSectionBytes = 60 << 10;
constexpr size_t kScratchBytes = 16 << 20;
constexpr size_t kMostElements = size_t(1) << 27;  // counts of MPI are ints
constexpr uint64_t kTags = 1 << 15;                // every MPI has as many

}  // namespace

size_t SumJob::most_elements(int processes, Wire wire) {
  return std::min(kMostElements, kSectionBytes * size_t(processes) / wire_size(wire));
}

int64_t SumJob::most_at_once(int processes) {
  return int64_t(std::max<size_t>(4, kScratchBytes / (kSectionBytes * size_t(processes))));
}

SumJob::SumJob(Exchange exchange, uint64_t number, Shared& shared)
    : exchange_(std::move(exchange)), tag_(int(number % kTags)), shared_(shared) {
  small_ = bytes_on_wire(exchange_.elements) * exchange_.contributions.size() <= kSmallBytes;
}

SumJob::~SumJob() {
  // After a failure messages may still arrive: their memory stays with the job, which ends with the
  // process.
  for (Scratch::Block* block : {&sent_, &got_, &sums_})
    if (done_) shared_.scratch.give_back(*block);
}

SumJob::Section SumJob::section(int process) const {
  auto part = [&](int number) {
    return exchange_.elements * size_t(number) / size_t(shared_.processes);
  };
  return {part(process), part(process + 1) - part(process)};
}

bool SumJob::plain() const {
  return exchange_.contributions.size() == 1 && exchange_.wire != Wire::bfloat16;
}

std::byte* SumJob::contribution(size_t index, size_t element) const {
  return static_cast<std::byte*>(exchange_.contributions[index]) +
         element * memory_size(exchange_.wire);
}

size_t SumJob::bytes_on_wire(size_t elements) const { return elements * wire_size(exchange_.wire); }

// Sections by process, in each the contributions one after the other.
void SumJob::pack() {
  sent_ = shared_.scratch.take(bytes_on_wire(exchange_.elements) * exchange_.contributions.size());
  std::byte* to = sent_.data.get();
  for (int process = 0; process < (small_ ? 1 : shared_.processes); ++process) {
    Section part = small_ ? Section{0, exchange_.elements} : section(process);
    for (size_t i = 0; i < exchange_.contributions.size(); ++i) {
      to_wire(contribution(i, part.begin), part.count, exchange_.wire, to);
      to += bytes_on_wire(part.count);
    }
  }
}

void SumJob::begin_small() {
  pack();
  size_t bytes = bytes_on_wire(exchange_.elements) * exchange_.contributions.size();
  got_ = shared_.scratch.take(bytes * size_t(shared_.processes));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(sent_.data.get(), int(bytes), MPI_BYTE, got_.data.get(), int(bytes),
                       MPI_BYTE, shared_.exchange, &request),
        "gathering a sum");
  shared_.requests.add(request, receives_);
}

void SumJob::begin() {
  if (small_) return begin_small();
  if (!plain()) pack();
  const std::byte* from =
      plain() ? static_cast<const std::byte*>(exchange_.contributions[0]) : sent_.data.get();
  size_t contributions = exchange_.contributions.size();
  size_t own = bytes_on_wire(section(shared_.process).count) * contributions;
  got_ = shared_.scratch.take(own * size_t(shared_.processes));
  if (exchange_.wire == Wire::bfloat16)
    sums_ = shared_.scratch.take(bytes_on_wire(exchange_.elements));
  for (int step = 1; step < shared_.processes; ++step) {  // not all to the same process first
    int source = (shared_.process + shared_.processes - step) % shared_.processes;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(got_.data.get() + own * size_t(source), int(own), MPI_BYTE, source, tag_,
                    shared_.exchange, &request),
          "receiving a contribution");
    shared_.requests.add(request, receives_);
  }
  for (int step = 1; step < shared_.processes; ++step) {
    int target = (shared_.process + step) % shared_.processes;
    Section part = section(target);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(from + bytes_on_wire(part.begin) * contributions,
                    int(bytes_on_wire(part.count) * contributions), MPI_BYTE, target, tag_,
                    shared_.exchange, &request),
          "sending a contribution");
    shared_.requests.add(request, sends_);
  }
}

// What arrived and what is here, in the order of the ranks, into the first contribution.
void SumJob::add_up() {
  Section part = small_ ? Section{0, exchange_.elements} : section(shared_.process);
  size_t contributions = exchange_.contributions.size();
  size_t ranks = size_t(shared_.processes) * contributions;
  bool narrow = exchange_.wire == Wire::bfloat16;
  size_t bytes = part.count * memory_size(exchange_.wire);
  Scratch::Block wide;
  if (narrow) wide = shared_.scratch.take(ranks * bytes);
  std::vector<const void*> all;
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (int(rank / contributions) == shared_.process) {
      all.push_back(contribution(rank % contributions, part.begin));
      continue;
    }
    const std::byte* from = got_.data.get() + rank * bytes_on_wire(part.count);
    if (narrow) from_wire(from, part.count, exchange_.wire, wide.data.get() + rank * bytes);
    all.push_back(narrow ? wide.data.get() + rank * bytes : from);
  }
  sum_in_order(all, part.count, exchange_.wire, contribution(0, part.begin));
  shared_.scratch.give_back(wide);
  shared_.scratch.give_back(got_);
  summed_ = true;
}

void SumJob::send_sum() {
  Section own = section(shared_.process);
  const std::byte* from = contribution(0, own.begin);
  if (exchange_.wire == Wire::bfloat16) {
    std::byte* to = sums_.data.get() + bytes_on_wire(own.begin);
    to_wire(from, own.count, exchange_.wire, to);
    from = to;
  }
  for (int step = 1; step < shared_.processes; ++step) {
    int target = (shared_.process + step) % shared_.processes;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(from, int(bytes_on_wire(own.count)), MPI_BYTE, target, tag_, shared_.gather,
                    &request),
          "sending a sum");
    shared_.requests.add(request, sums_sent_);
  }
}

// Into the sections of the others, once what lay there was sent.
void SumJob::receive_sums() {
  receives_sums_ = true;
  std::byte* to = exchange_.wire == Wire::bfloat16 ? sums_.data.get() : contribution(0, 0);
  for (int step = 1; step < shared_.processes; ++step) {
    int source = (shared_.process + shared_.processes - step) % shared_.processes;
    Section part = section(source);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(to + bytes_on_wire(part.begin), int(bytes_on_wire(part.count)), MPI_BYTE,
                    source, tag_, shared_.gather, &request),
          "receiving a sum");
    shared_.requests.add(request, sums_received_);
  }
}

void SumJob::advance() {
  if (done_) return;
  if (!summed_ && receives_ == 0) {
    add_up();
    if (!small_) send_sum();
  }
  if (!small_ && !receives_sums_ && sends_ == 0) receive_sums();
  bool arrived = summed_ && (small_ || (receives_sums_ && sums_received_ == 0 && sums_sent_ == 0));
  if (arrived) finish();
}

// The first contribution holds the sum; so do the others.
void SumJob::finish() {
  if (exchange_.wire == Wire::bfloat16 && !small_) {
    Section own = section(shared_.process);
    size_t behind = own.begin + own.count;
    auto widen = [&](size_t begin, size_t end) {
      from_wire(sums_.data.get() + bytes_on_wire(begin), end - begin, exchange_.wire,
                contribution(0, begin));
    };
    widen(0, own.begin);
    widen(behind, exchange_.elements);
  }
  size_t bytes = exchange_.elements * memory_size(exchange_.wire);
  for (size_t i = 1; i < exchange_.contributions.size(); ++i)
    std::memcpy(exchange_.contributions[i], exchange_.contributions[0], bytes);
  done_ = true;
}

}  // namespace stoker::distribute::mpi
