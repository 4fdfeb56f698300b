// A maker that does something with each element of its input: what filter and map share.
#pragma once

#include <string>
#include <utility>

#include <stoker/random.h>

#include "data/runtime/addresses.h"
#include "data/runtime/making.h"
#include "data/runtime/worker.h"

namespace stoker::data {

class ElementMaker : public Maker {
 public:
  std::string origin(const Ticket& ticket) const override { return input_->origin(ticket); }

 protected:
  // stage: in messages. key: of the random numbers. scratch: a place of its own.
  ElementMaker(MakerRef input, std::string stage, uint64_t key, size_t scratch)
      : input_(std::move(input)), stage_(std::move(stage)), key_(key), scratch_(scratch) {}

  // function(element, rng, made) with the input's element, unless it was dropped, and random numbers that only its name
  // decides; what it throws names the element.
  template <class Function>
  Made make_from(const Ticket& ticket, Worker& worker, Function function) const {
    ScratchElement& in = worker.scratch(scratch_);
    Made made = input_->make(ticket, in, worker);
    if (!made.kept) return made;
    Rng rng(mixed(key_, uint64_t(made.epoch)), uint64_t(made.index));
    try {
      function(in, rng, made);
    } catch (...) {
      rethrow_addressed(stage_, made.epoch, made.index, input_->origin(ticket));
    }
    return made;
  }

  MakerRef input_;
  std::string stage_;
  uint64_t key_;
  size_t scratch_;
};

}  // namespace stoker::data
