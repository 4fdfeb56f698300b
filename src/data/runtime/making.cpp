#include "data/runtime/making.h"

#include "data/runtime/worker.h"

namespace stoker::data {

Made Maker::make_row(const Ticket&, int64_t, ElementWriter&, Worker&) const {
  throw Error("this element is made as a whole");
}

void Tickets::skip(int64_t count) {
  Ticket ticket;
  while (count-- > 0 && next(ticket)) {
  }
}

ScratchElement::~ScratchElement() { budget_->release(charged_); }

ConstTensorView& ScratchElement::view(size_t index) {
  if (views_.size() <= index) views_.resize(index + 1);
  return views_[index];
}

void* ScratchElement::put(size_t index, DType dtype, const Shape& shape) {
  while (buffers_.size() <= index) buffers_.emplace_back();
  Buffer& buffer = buffers_[index];
  auto count = size_t(shape.elements());
  void* data = nullptr;
  if (dtype == DType::bytes) {
    if (buffer.strings.size() < count) buffer.strings.resize(count);
    data = buffer.strings.data();
  } else {
    size_t bytes = std::max<size_t>(count * size_of(dtype), 64);
    if (!buffer.numbers.defined() || buffer.numbers.bytes() < bytes) {
      int64_t before = buffer.numbers.defined() ? int64_t(buffer.numbers.bytes()) : 0;
      buffer.numbers = Tensor(DType::uint8, {int64_t(bytes)});
      budget_->charge(int64_t(bytes) - before);
      charged_ += int64_t(bytes) - before;
    }
    data = buffer.numbers.raw_mut();
  }
  view(index) = {dtype, shape, data};
  return data;
}

void ScratchElement::copy(size_t index, const ConstTensorView& value) {
  if (keeps_)
    copy_values(value, {value.dtype, value.shape, put(index, value.dtype, value.shape)});
  else
    view(index) = value;
}

ScratchElement& Worker::scratch(size_t id, bool keeps) {
  while (scratch_.size() <= id) scratch_.push_back(std::make_unique<ScratchElement>(budget_));
  scratch_[id]->clear(keeps);
  return *scratch_[id];
}

}  // namespace stoker::data
