// How elements are made. A Ticket stands for one element; a Maker makes it, on any thread, into a
// place that the caller owns; Tickets hands tickets out in order. Random access is the case where a
// ticket is just (epoch, index), so that shuffling, sharding and repeating are functions of
// numbers. Streams carry what was read in the ticket. Because maps only compose makers, they never
// force an element into memory: map and batch, map and map, shuffle and map fuse by construction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stoker/batch.h>
#include <stoker/element.h>

#include "data/runtime/records.h"

namespace stoker::data {

class PlanContext;
class Worker;
struct Ticket;

// What the ticket of a stream carries.
struct Held {
  Batch element;                  // made already
  std::vector<Ticket> parts;      // the rows of a batch, the sides of a zip
  std::exception_ptr error = {};  // why there is no element; thrown when the element is needed

  const Batch& value() const {
    if (error) std::rethrow_exception(error);
    return element;
  }
};

struct Ticket {
  int64_t epoch = 0, index = 0;  // names the element, also where it keys random numbers
  int64_t choice = 0;            // which input, which row: what the maker says it is
  std::shared_ptr<const Held> held = {};
};

// Under which name an element was made: what its randomness is keyed by from here on.
struct Made {
  int64_t epoch = 0, index = 0;
  bool kept = true;    // false: it was dropped, nothing has to be written
  int64_t whole = -1;  // rows of the whole batch that a slice was made of; -1: it is none
};

// How many rows ahead of the one being made the caches are asked for.
inline constexpr int64_t kRowsAhead = 2;

// Thread-safe and stateless but for caches.
class Maker {
 public:
  virtual ~Maker() = default;
  virtual Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const = 0;

  // Batches whose rows can be made on their own: how many rows, and one of them. 0: as a whole.
  virtual int64_t rows(const Ticket&) const { return 0; }
  virtual Made make_row(const Ticket& ticket, int64_t row, ElementWriter& out,
                        Worker& worker) const;
  // The rows [begin, end) at once, where that is quicker than one by one: `out` says where the first goes,
  // and the others follow it in memory. Returns how many were made, none of them dropped; the next one
  // is to be made by make_row, which throws what is wrong with it.
  virtual int64_t make_row_run(const Ticket&, int64_t, int64_t, ElementWriter&, Worker&) const {
    return 0;
  }
  // The same of elements: those of a ticket and of up to count - 1 indices behind it.
  virtual int64_t make_run(const Ticket&, int64_t, ElementWriter&, Worker&) const { return 0; }
  // The texts of such elements, where they are single ones and in memory; none: to be made one by one.
  // Valid until the worker makes something else.
  virtual Records records(const Ticket&, int64_t, Worker&) const { return {}; }
  // The row will be made soon: what it reads may be fetched into the caches.
  virtual void hint_row(const Ticket&, int64_t) const {}
  virtual void hint(const Ticket&) const {}
  // Under which name `make` would make such a batch.
  virtual Made name_of(const Ticket& ticket) const { return {ticket.epoch, ticket.index}; }
  // What is known about where an element comes from, a path for example; for messages.
  virtual std::string origin(const Ticket&) const { return {}; }

  // A maker of the same batches with the rows of `slice` alone; null: their other rows are needed.
  // `self` is this maker.
  virtual std::shared_ptr<const Maker> sliced(const std::shared_ptr<const Maker>& self,
                                              const BatchSlice& slice, PlanContext& context) const;
};
using MakerRef = std::shared_ptr<const Maker>;

// Hands out the tickets of one epoch after the other; one thread at a time.
class Tickets {
 public:
  virtual ~Tickets() = default;
  virtual void begin(int64_t epoch) = 0;
  virtual bool next(Ticket& ticket) = 0;  // false at the end of the epoch
  // Passes over as many; stops at the end. The default takes them.
  virtual void skip(int64_t count);
};

// Tickets made of those of a stream, numbered anew in every epoch.
class RenumberedTickets : public Tickets {
 public:
  void begin(int64_t epoch) override {
    input_->begin(epoch);
    epoch_ = epoch;
    index_ = 0;
  }

 protected:
  explicit RenumberedTickets(std::unique_ptr<Tickets> input) : input_(std::move(input)) {}
  Ticket numbered(std::shared_ptr<const Held> held, int64_t choice = 0) {
    return {epoch_, index_++, choice, std::move(held)};
  }

  std::unique_ptr<Tickets> input_;
  int64_t epoch_ = 0, index_ = 0;
};

// 0 … length - 1.
class CountedTickets final : public Tickets {
 public:
  explicit CountedTickets(int64_t length) : length_(length) {}
  void begin(int64_t epoch) override { epoch_ = epoch, next_ = 0; }
  bool next(Ticket& ticket) override {
    if (next_ >= length_) return false;
    ticket.epoch = epoch_, ticket.index = next_++, ticket.choice = 0;
    ticket.held.reset();
    return true;
  }
  void skip(int64_t count) override { next_ += std::min(count, length_ - next_); }

 private:
  int64_t length_, epoch_ = 0, next_ = 0;
};

// Shifts component numbers, for elements made of several.
class ShiftedWriter final : public ElementWriter {
 public:
  ShiftedWriter(ElementWriter& out, size_t shift) : out_(out), shift_(shift) {}
  void* put(size_t index, DType dtype, const Shape& shape) override {
    return out_.put(index + shift_, dtype, shape);
  }
  void copy(size_t index, const ConstTensorView& value) override {
    out_.copy(index + shift_, value);
  }

 private:
  ElementWriter& out_;
  size_t shift_;
};

// Counts of elements that are too large stay at the largest, which is "without end".
inline int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}
inline int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

// Well mixed 64 bits of two numbers.
inline uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9E3779B97F4A7C15ULL + (a << 6) + (a >> 2))) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 30)) * 0x94D049BB133111EBULL;
  x = (x ^ (x >> 27)) * 0x9E3779B97F4A7C15ULL;
  return x ^ (x >> 31);
}

}  // namespace stoker::data
