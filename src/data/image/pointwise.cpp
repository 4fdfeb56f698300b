#include "data/image/pointwise.h"

#include <algorithm>
#include <cstring>

#include "data/image/workspace.h"

namespace stoker::image {
namespace {

// TensorFlow converts 0 … 1 to uint8 by · 255.5 and cutting: unchanged values come out unchanged.
constexpr double kRequantise = 255.5 / 255;

}  // namespace

template <class Scale, class Offset>
Affine PointwiseChain::repeated(const Scale& scale_of, const Offset& offset_of) {
  int64_t period = kPeriodPixels * pass_.channels;
  float* scale = coefficients_;
  float* offset = coefficients_ + period;
  coefficients_ += 2 * period;
  for (int64_t i = 0; i < period; ++i) {
    scale[i] = float(scale_of(i % pass_.channels));
    offset[i] = float(offset_of(i % pass_.channels));
  }
  return {scale, offset, period};
}

PointwiseChain::PointwiseChain(const Pass& pass, Workspace& workspace, const Kernels& kernels,
                               std::span<const double> means)
    : pass_(pass),
      workspace_(workspace),
      kernels_(kernels),
      from_bytes_(pass.in.dtype != DType::float32),
      to_bytes_(pass.out.dtype == DType::uint8) {
  if (pass.pointwise_count == 0) return;
  coefficients_ = workspace.coefficients.need_of<float>(size_t(Pass::kMost + 1) * 2 *
                                                        size_t(kPeriodPixels * pass.channels));
  // Saturation works on floats in place: bytes are widened first.
  if (from_bytes_ && pass.pointwise[0].kind == Pointwise::Kind::saturation) {
    stages_[size_t(count_++)].affine =
        repeated([](int64_t) { return 1.0; }, [](int64_t) { return 0.0; });
  }
  for (int i = 0; i < pass.pointwise_count; ++i) add(pass.pointwise[size_t(i)], means);
}

void PointwiseChain::add(const Pointwise& change, std::span<const double> means) {
  Stage& stage = stages_[size_t(count_++)];
  stage.quantised = change.quantised;
  stage.factor = float(change.factor);
  stage.saturation = change.kind == Pointwise::Kind::saturation;
  if (change.kind == Pointwise::Kind::affine) {
    const double* scales = workspace_.plan.coefficients().data() + change.coefficients;
    const double* offsets = scales + pass_.channels;
    stage.affine = repeated([&](int64_t channel) { return scales[channel]; },
                            [&](int64_t channel) { return offsets[channel]; });
  }
  if (change.kind == Pointwise::Kind::contrast) {
    double factor = change.factor, unit = change.quantised ? kRequantise : 1;
    stage.affine =
        repeated([&](int64_t) { return factor * unit; },
                 [&](int64_t channel) { return means[size_t(channel)] * (1 - factor) * unit; });
  }
}

void PointwiseChain::apply(const void* in, int64_t pixels, void* out) {
  int64_t values = pixels * pass_.channels;
  if (count_ == 1 && from_bytes_ && to_bytes_) {
    kernels_.affine_u8_u8(static_cast<const uint8_t*>(in), values, stages_[0].affine,
                          static_cast<uint8_t*>(out));
    return;
  }
  float* floats =
      to_bytes_ ? workspace_.floats.need_of<float>(size_t(values)) : static_cast<float*>(out);
  first(in, pixels, floats);
  for (int i = 1; i + (to_bytes_ ? 1 : 0) < count_; ++i) {
    const Stage& stage = stages_[size_t(i)];
    if (stage.saturation)
      kernels_.saturate(floats, pixels, stage.factor);
    else
      kernels_.affine_f32_f32[stage.quantised](floats, values, stage.affine, floats);
  }
  if (to_bytes_) last(count_ == 1 ? static_cast<const float*>(in) : floats, pixels, out);
}

// The first stage, unless it is also the last one and writes bytes.
void PointwiseChain::first(const void* in, int64_t pixels, float* floats) {
  if (count_ == 1 && to_bytes_) return;
  int64_t values = pixels * pass_.channels;
  const Stage& stage = stages_[0];
  if (stage.saturation) {
    std::memcpy(floats, in, size_t(values) * sizeof(float));
    kernels_.saturate(floats, pixels, stage.factor);
  } else if (from_bytes_) {
    kernels_.affine_u8_f32[stage.quantised](static_cast<const uint8_t*>(in), values, stage.affine,
                                            floats);
  } else {
    kernels_.affine_f32_f32[stage.quantised](static_cast<const float*>(in), values, stage.affine,
                                             floats);
  }
}

// Steps that end in uint8 end with an affine change (Plan::affine).
void PointwiseChain::last(const float* floats, int64_t pixels, void* out) {
  kernels_.affine_f32_u8(floats, pixels * pass_.channels, stages_[size_t(count_ - 1)].affine,
                         static_cast<uint8_t*>(out));
}

std::span<const double> channel_means(const Pass& pass, const void* in, Workspace& workspace,
                                      const Kernels& kernels) {
  int64_t pixels = pass.source_height * pass.source_width, period = kPeriodPixels * pass.channels;
  std::vector<double>&sums = workspace.sums, &means = workspace.means;
  sums.assign(size_t(period), 0);
  means.assign(size_t(pass.channels), 0);
  if (pass.in.dtype == DType::float32) {
    kernels.sum_columns_f32(static_cast<const float*>(in), pixels * pass.channels, period,
                            sums.data());
  } else {
    workspace.counts.assign(size_t(period), 0);
    kernels.sum_columns_u8(static_cast<const uint8_t*>(in), pixels * pass.channels, period,
                           workspace.counts.data());
    std::copy(workspace.counts.begin(), workspace.counts.end(), sums.begin());
  }
  for (int64_t i = 0; i < period; ++i)
    means[size_t(i % pass.channels)] += sums[size_t(i)] / double(pixels);
  return means;
}

}  // namespace stoker::image
