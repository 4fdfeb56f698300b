// Elements in another order: what ops share that only say which element comes when (shuffle, repeat,
// take, skip, shard), and what replaying an order needs. On random access they are functions of
// (epoch, index); on streams they pass tickets on or over.
#pragma once

#include <functional>

#include "data/runtime/planning.h"
#include "data/runtime/slicing.h"

namespace stoker::data {

// Sends every ticket through `place`, a pure function of epoch and index.
class PlacedMaker final : public Maker {
 public:
  using Place = std::function<void(int64_t& epoch, int64_t& index)>;
  PlacedMaker(MakerRef input, Place place) : input_(std::move(input)), place_(std::move(place)) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    return input_->make(placed(ticket), out, worker);
  }
  int64_t rows(const Ticket& ticket) const override { return input_->rows(placed(ticket)); }
  Made make_row(const Ticket& ticket, int64_t row, ElementWriter& out,
                Worker& worker) const override {
    return input_->make_row(placed(ticket), row, out, worker);
  }
  void hint(const Ticket& ticket) const override { input_->hint(placed(ticket)); }
  Made name_of(const Ticket& ticket) const override { return input_->name_of(placed(ticket)); }
  std::string origin(const Ticket& ticket) const override { return input_->origin(placed(ticket)); }
  MakerRef sliced(const MakerRef&, const BatchSlice& slice, PlanContext& context) const override {
    return std::make_shared<PlacedMaker>(slice_of(input_, slice, context), place_);
  }

 private:
  Ticket placed(const Ticket& ticket) const {
    Ticket result{.epoch = ticket.epoch, .index = ticket.index};
    place_(result.epoch, result.index);
    return result;
  }

  MakerRef input_;
  Place place_;
};

// A plan whose length is known, with other positions.
inline Planned placed(Planned planned, int64_t length, PlacedMaker::Place place) {
  planned.length = length;
  planned.maker = std::make_shared<PlacedMaker>(std::move(planned.maker), std::move(place));
  return planned;
}

// Of a source whose elements are files: those of this rank, where ranks share files.
inline Planned files_of_rank(Planned planned, const Node& source, PlanContext& context) {
  int64_t files = *planned.length;
  if (!context.shares_files(source, files)) return planned;
  const BatchSlice slice = *context.slice;
  return placed(std::move(planned), (files - slice.rank - 1) / slice.size + 1,
                [slice](int64_t&, int64_t& index) { index = index * slice.size + slice.rank; });
}

}  // namespace stoker::data
