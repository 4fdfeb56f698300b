#include "data/image/passes.h"

#include "data/image/readers.h"

namespace stoker::image {
namespace {

double entry(std::span<const double> values, int64_t channel) {
  return values.size() == 1 ? values[0] : values[size_t(channel)];
}

}  // namespace

Plan::Plan() : readers_(std::make_unique<Readers>()) {}
Plan::~Plan() = default;

void Plan::begin(const TensorSpec& in) {
  value_ = in;
  passes_.clear();
  coefficients_.clear();
  scaled_ = false;
}

void Plan::end() {
  if (passes_.empty()) new_picture();
}

void Plan::decode(const Step& step, int64_t height, int64_t width, int64_t channels, bool scaled) {
  Pass pass;
  pass.in = value_;
  pass.decoder = &step;
  pass.source_height = height;
  pass.source_width = width;
  pass.channels = channels;
  pass.geometry = Geometry(height, width);
  value_ = pass.out = {DType::uint8, {height, width, channels}};
  scaled_ = scaled;
  passes_.push_back(pass);
}

void Plan::whole(const Step& step, const TensorSpec& out, uint64_t key) {
  Pass pass;
  pass.kind = Pass::Kind::whole;
  pass.key = key;
  pass.in = value_;
  pass.step = &step;
  value_ = pass.out = out;
  passes_.push_back(pass);
}

// Values without a geometry are pictures one pixel high.
Pass& Plan::new_picture() {
  Pass pass;
  pass.in = pass.out = value_;
  const Shape& shape = value_.shape;
  pass.channels = shape.rank() == 0 ? 1 : shape[-1];
  bool picture = shape.rank() == 3;
  pass.source_height = picture ? shape[0] : 1;
  pass.source_width = picture              ? shape[1]
                      : pass.channels == 0 ? 0
                                           : shape.elements() / pass.channels;
  pass.geometry = Geometry(pass.source_height, pass.source_width);
  return passes_.emplace_back(pass);
}

Pass& Plan::picture() {
  bool open = !passes_.empty() && passes_.back().kind == Pass::Kind::picture;
  return open ? passes_.back() : new_picture();
}

Pass& Plan::pointwise(int count) {
  Pass& last = picture();
  return last.pointwise_count + count <= Pass::kMost ? last : new_picture();
}

void Plan::set_size(const Geometry& geometry) {
  value_.shape.set(0, geometry.height());
  value_.shape.set(1, geometry.width());
  passes_.back().out = value_;
}

void Plan::crop(const Box& box) {
  Pass& pass = picture();
  pass.geometry.crop(box);
  set_size(pass.geometry);
}

void Plan::crop_padded(const Box& box) {
  Pass* pass = &picture();
  if (!pass->geometry.can_pad() || pass->pointwise_count > 0) pass = &new_picture();
  pass->geometry.crop_padded(box);
  set_size(pass->geometry);
}

void Plan::resize(int64_t height, int64_t width, const Resize& how) {
  Pass* pass = &picture();
  if (!pass->geometry.can_resize() || pass->pointwise_count > 0) pass = &new_picture();
  pass->geometry.resize(height, width, how);
  set_size(pass->geometry);
}

// (x · a + b) · scale + offset = x · (a · scale) + (b · scale + offset)
bool Plan::compose(Pass& pass, std::span<const double> scale, std::span<const double> offset) {
  if (pass.pointwise_count == 0) return false;
  const Pointwise& last = pass.pointwise[size_t(pass.pointwise_count - 1)];
  if (last.kind != Pointwise::Kind::affine || last.quantised) return false;
  double* scales = coefficients_.data() + last.coefficients;
  double* offsets = scales + pass.channels;
  for (int64_t channel = 0; channel < pass.channels; ++channel) {
    scales[channel] *= entry(scale, channel);
    offsets[channel] = offsets[channel] * entry(scale, channel) + entry(offset, channel);
  }
  return true;
}

void Plan::affine(std::span<const double> scale, std::span<const double> offset, DType to) {
  bool quantised = to == DType::uint8;
  Pass* pass = &pointwise(1);
  if (!compose(*pass, scale, offset)) {
    size_t at = coefficients_.size();
    for (const auto& values : {scale, offset})
      for (int64_t channel = 0; channel < pass->channels; ++channel)
        coefficients_.push_back(entry(values, channel));
    pass->pointwise[size_t(pass->pointwise_count++)] = {.coefficients = at};
  }
  pass->pointwise[size_t(pass->pointwise_count - 1)].quantised = quantised;
  value_.dtype = to;
  pass->out = value_;
}

void Plan::saturation(double factor) {
  Pass& pass = pointwise(2);
  pass.pointwise[size_t(pass.pointwise_count++)] = {.kind = Pointwise::Kind::saturation,
                                                    .factor = factor};
}

// The mean has to be known first: contrast begins a pass of its own.
void Plan::contrast(double factor) {
  Pass& pass = new_picture();
  pass.pointwise[0] = {.kind = Pointwise::Kind::contrast,
                       .factor = factor,
                       .quantised = value_.dtype == DType::uint8};
  pass.pointwise_count = 1;
}

}  // namespace stoker::image
