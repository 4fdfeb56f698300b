// What batch, padded_batch and bucket_by_sequence_length share: specs, counts, and rows written one after the other into one
// element.
#pragma once

#include <functional>
#include <optional>

#include <fmt/format.h>

#include "data/node.h"
#include "data/runtime/making.h"
#include "data/runtime/worker.h"

namespace stoker::data {

ElementSpec batch_spec(const ElementSpec& rows, int64_t count);
Cardinality batch_count(Cardinality of, int64_t size, bool drop_remainder);
// A batch as one element of `out`. `place`: as of make_rows, where rows may be dropped.
Made make_all_rows(const Maker& maker, const Ticket& ticket, ElementWriter& out, Worker& worker,
                   std::optional<size_t> place = {});

// What Node::details says of a batch.
std::string batch_details(int64_t size, const BatchOptions& options);

// Batches of the parts that a ticket holds. `place`: as of make_all_rows.
MakerRef group_maker(MakerRef input, std::optional<size_t> place = {});

// The rows of the slice alone, of a maker of batches whose rows can be made on their own.
MakerRef sliced_rows(MakerRef batches, const BatchSlice& slice, PlanContext& context);

// Batches whose rows are made on their own: rows() and make_row() say how. `place`: as of make_all_rows.
class RowsMaker : public Maker {
 public:
  explicit RowsMaker(MakerRef input, std::optional<size_t> place = {})
      : input_(std::move(input)), place_(place) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    return make_all_rows(*this, ticket, out, worker, place_);
  }
  MakerRef sliced(const MakerRef& self, const BatchSlice& slice,
                  PlanContext& context) const override {
    return sliced_rows(self, slice, context);
  }

 protected:
  MakerRef input_;

 private:
  std::optional<size_t> place_;
};

// The rows of a batch, each on its own, for those who have to see all before they write: in the memory
// that place `place` keeps on this worker, until the next call. Null: the row was dropped.
using RowElements = std::vector<const ScratchElement*>;
RowElements make_rows(const Maker& maker, const Ticket& ticket, Worker& worker, size_t place);
// Those in [begin, end) that were not dropped.
RowElements kept_rows(const RowElements& rows, int64_t begin, int64_t end);
// Rows, at least one, as one element.
void write_rows(const RowElements& rows, ElementWriter& out);
[[noreturn]] void throw_no_rows(const Ticket& ticket, int64_t rows);

// Rows of different lengths as one element, filled up.
struct Padding {
  // The extent of an unknown dimension whose longest row is `longest`. ShapeError: too long.
  std::function<int64_t(const Ticket& ticket, int64_t longest)> extent;
  std::vector<Shape> shapes = {};  // stated, one per component; none, and -1: by `extent`
  std::vector<double> values;      // one per component
  bool mask = false;               // as PaddedBatchOptions::mask
};
// `rows`: a maker of batches with rows of `spec`. `scratch`: a place of its own.
MakerRef padded_maker(MakerRef rows, ElementSpec spec, Padding padding, size_t scratch);
// What comes out of it. `op` opens the ShapeError where there is nothing to mask.
ElementSpec padded_spec(const std::string& op, const ElementSpec& rows, bool mask);
// ValueError unless every component that is filled up can hold its value.
void check_padding(const std::string& op, const ElementSpec& rows,
                   const std::vector<double>& values);

class RowsInto final : public ElementWriter {
 public:
  RowsInto(ElementWriter& out, int64_t rows) : out_(out), rows_(rows) {}
  void begin(int64_t row) { row_ = row; }

  void* put(size_t index, DType dtype, const Shape& shape) override {
    if (places_.size() <= index) places_.resize(index + 1);
    Place& place = places_[index];
    if (place.data == nullptr) {
      place.spec = {dtype, shape};
      place.data = static_cast<std::byte*>(out_.put(index, dtype, shape.prepend(rows_)));
    } else if (place.spec.dtype != dtype || !(place.spec.shape == shape)) {
      throw ShapeError(fmt::format(
          "component {} is {}, but the batch has rows of {}; elements of a batch need one shape "
          "(image::resize, image::crop or padded_batch give them one)",
          index, to_string(TensorSpec{dtype, shape}), to_string(place.spec)));
    }
    return place.data + size_t(row_ * shape.elements()) * size_of(dtype);
  }
  void copy(size_t index, const ConstTensorView& value) override {
    copy_values(value, {value.dtype, value.shape, put(index, value.dtype, value.shape)});
  }

 private:
  struct Place {
    TensorSpec spec;
    std::byte* data = nullptr;
  };
  ElementWriter& out_;
  int64_t rows_, row_ = 0;
  std::vector<Place> places_;
};

// A row; one that does not fit is named as `stage`'s.
Made make_part(const char* stage, const Maker& input, const Ticket& part, ElementWriter& out,
               Worker& worker);

}  // namespace stoker::data
