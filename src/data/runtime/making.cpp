#include "data/runtime/making.h"

#include "data/runtime/worker.h"

namespace stoker::data {

Made Maker::make_row(const Ticket&, int64_t, ElementWriter&, Worker&) const {
  throw Error("this element is made as a whole");
}

MakerRef Maker::sliced(const MakerRef&, const BatchSlice&, PlanContext&) const { return nullptr; }

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

void ScratchElement::grow(Buffer& buffer, size_t bytes) {
  bytes = std::max<size_t>(bytes, 64);
  budget_->charge(int64_t(bytes - buffer.capacity));
  charged_ += int64_t(bytes - buffer.capacity);
  buffer.numbers = Tensor(DType::uint8, {int64_t(bytes)});
  buffer.data = buffer.numbers.raw_mut();
  buffer.capacity = bytes;
}

void* ScratchElement::put(size_t index, DType dtype, const Shape& shape) {
  while (buffers_.size() <= index) buffers_.emplace_back();
  Buffer& buffer = buffers_[index];
  size_t count = shape.rank() == 0 ? 1 : size_t(shape.elements());
  void* data = nullptr;
  if (dtype == DType::bytes) {
    if (buffer.strings.size() < count) buffer.strings.resize(count);
    data = buffer.strings.data();
  } else {
    size_t bytes = count * size_of(dtype);
    if (buffer.capacity < bytes || buffer.data == nullptr) grow(buffer, bytes);
    data = buffer.data;
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

ScratchElement& Worker::scratch(size_t id) {
  while (scratch_.size() <= id) scratch_.push_back(std::make_unique<ScratchElement>(budget_));
  scratch_[id]->clear(/*keeps=*/false);
  return *scratch_[id];
}

}  // namespace stoker::data
