#include "data/image/picture_pass.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace stoker::image {
namespace {

constexpr int64_t kFlatPixels = 1024;  // in the cache, as floats

// Bytes come from decoders only, which give uint8.
DType pixel_dtype(const Pass& pass) {
  return pass.decoder != nullptr ? DType::uint8 : pass.in.dtype;
}

}  // namespace

class PicturePass::Rows {
 public:
  Rows(const Pass& pass, PointwiseChain& chain, Workspace& workspace, int64_t pixel_bytes,
       void* out)
      : chain_(chain),
        workspace_(workspace),
        out_(static_cast<uint8_t*>(out)),
        width_(pass.geometry.width()),
        height_(pass.geometry.height()),
        flip_(pass.geometry.flip_y()),
        in_bytes_(width_ * pixel_bytes),
        out_bytes_(width_ * pass.channels * int64_t(size_of(pass.out.dtype))) {}

  // Memory to make row y in, for finish.
  void* place(int64_t y) {
    return chain_.empty() ? target(y) : workspace_.row.need(size_t(in_bytes_));
  }
  // Row y is at `row`.
  void finish(int64_t y, const void* row) {
    if (!chain_.empty())
      chain_.apply(row, width_, target(y));
    else if (row != target(y))
      std::memcpy(target(y), row, size_t(in_bytes_));
  }

 private:
  uint8_t* target(int64_t y) { return out_ + (flip_ ? height_ - 1 - y : y) * out_bytes_; }

  PointwiseChain& chain_;
  Workspace& workspace_;
  uint8_t* out_;
  int64_t width_, height_;
  bool flip_;
  int64_t in_bytes_, out_bytes_;
};

PicturePass::PicturePass(const Pass& pass, Workspace& workspace, const Kernels& kernels)
    : pass_(pass),
      geometry_(pass.geometry),
      workspace_(workspace),
      kernels_(kernels),
      pixel_bytes_(pass.channels * int64_t(size_of(pixel_dtype(pass)))) {}

void PicturePass::run(const ConstTensorView& in, void* out) {
  if (pass_.out.shape.elements() == 0) return;
  bool contrast = pass_.pointwise_count > 0 && pass_.pointwise[0].kind == Pointwise::Kind::contrast;
  std::span<const double> means;
  if (contrast) means = channel_means(pass_, in.data, workspace_, kernels_);
  PointwiseChain chain(pass_, workspace_, kernels_, means);
  if (geometry_.identity() && pass_.decoder == nullptr) return copy_flat(in, chain, out);
  if (geometry_.identity() && chain.empty())
    return pass_.decoder->decode_to(static_cast<uint8_t*>(out), workspace_);
  Rows rows(pass_, chain, workspace_, pixel_bytes_, out);
  if (geometry_.resized())
    resize(in, rows);
  else
    copy(in, rows);
}

void PicturePass::copy_flat(const ConstTensorView& in, PointwiseChain& chain, void* out) {
  const auto* from = static_cast<const uint8_t*>(in.data);
  auto* to = static_cast<uint8_t*>(out);
  int64_t pixels = pass_.source_height * pass_.source_width;
  int64_t out_bytes = pass_.channels * int64_t(size_of(pass_.out.dtype));
  if (chain.empty()) {
    std::memcpy(to, from, size_t(pixels * pixel_bytes_));
    return;
  }
  for (int64_t done = 0; done < pixels; done += kFlatPixels)
    chain.apply(from + done * pixel_bytes_, std::min(kFlatPixels, pixels - done),
                to + done * out_bytes);
}

Pixels PicturePass::source(const ConstTensorView& in, const Box& box, int shrink) {
  if (pass_.decoder != nullptr) return pass_.decoder->decode(box, shrink, workspace_);
  int64_t stride = pass_.source_width * pixel_bytes_;
  return {static_cast<const uint8_t*>(in.data) + box.y * stride + box.x * pixel_bytes_, stride};
}

// The source box may reach beyond the picture (padding); only what exists is read.
void PicturePass::copy(const ConstTensorView& in, Rows& rows) {
  const Box& box = geometry_.source();
  int64_t top = std::clamp<int64_t>(-box.y, 0, box.height);
  int64_t bottom = std::clamp<int64_t>(pass_.source_height - box.y, top, box.height);
  int64_t left = std::clamp<int64_t>(-box.x, 0, box.width);
  int64_t right = std::clamp<int64_t>(pass_.source_width - box.x, left, box.width);
  Pixels pixels;
  if (top < bottom && left < right)
    pixels = source(in, {box.y + top, box.x + left, bottom - top, right - left}, 1);
  for (int64_t y = 0; y < box.height; ++y) {
    bool inside = pixels.data != nullptr && y >= top && y < bottom;
    const auto* row = static_cast<const uint8_t*>(pixels.data) + (y - top) * pixels.stride;
    if (inside && right - left == box.width) {
      copy_row(row, y, rows);
      continue;
    }
    uint8_t* line = workspace_.line.need(size_t(box.width * pixel_bytes_));
    std::memset(line, 0, size_t(box.width * pixel_bytes_));
    if (inside) std::memcpy(line + left * pixel_bytes_, row, size_t((right - left) * pixel_bytes_));
    copy_row(line, y, rows);
  }
}

void PicturePass::copy_row(const uint8_t* row, int64_t y, Rows& rows) {
  if (!geometry_.flip_x()) return rows.finish(y, row);
  void* place = rows.place(y);
  if (pixel_dtype(pass_) == DType::float32)
    kernels_.reverse_f32(reinterpret_cast<const float*>(row), geometry_.width(), pass_.channels,
                         static_cast<float*>(place));
  else
    kernels_.reverse_u8(row, geometry_.width(), pass_.channels, static_cast<uint8_t*>(place));
  rows.finish(y, place);
}

// Half the size while twice the pixels that are needed remain.
int PicturePass::choose_shrink() const {
  bool smooth = geometry_.how().method == ResizeMethod::area ||
                (geometry_.how().method == ResizeMethod::bilinear && geometry_.how().antialias);
  if (pass_.decoder == nullptr || !workspace_.plan.scaled_decoding() || !smooth) return 1;
  int shrink = 1;
  while (shrink < 8 && geometry_.source().height >= shrink * 4 * geometry_.target().height &&
         geometry_.source().width >= shrink * 4 * geometry_.target().width)
    shrink *= 2;
  return shrink;
}

void PicturePass::resize(const ConstTensorView& in, Rows& rows) {
  const Box &box = geometry_.source(), &target = geometry_.target(), &window = geometry_.window();
  int shrink = choose_shrink();
  auto axis = [&](int64_t start, int64_t length, int64_t outputs, int64_t begin, int64_t count,
                  bool reversed) {
    double scaled = double(start) / shrink, whole = std::floor(scaled);
    double extent = double(length) / shrink;
    return Axis{scaled - whole, extent, int64_t(std::ceil(scaled + extent) - whole),
                outputs,        begin,  count,
                reversed};
  };
  Taps &vertical = workspace_.rows, &horizontal = workspace_.columns;
  vertical.compute(axis(box.y, box.height, target.height, window.y, window.height, false),
                   geometry_.how());
  horizontal.compute(
      axis(box.x, box.width, target.width, window.x, window.width, geometry_.flip_x()),
      geometry_.how());
  int64_t columns = horizontal.end() - horizontal.begin();
  Pixels pixels = source(in,
                         {box.y / shrink + vertical.begin(), box.x / shrink + horizontal.begin(),
                          vertical.end() - vertical.begin(), columns},
                         shrink);
  vertical.rebase(vertical.begin());
  horizontal.rebase(horizontal.begin());
  if (pixel_dtype(pass_) == DType::float32)
    mix_floats(pixels, columns, rows);
  else
    mix_bytes(pixels, columns, rows);
}

void PicturePass::mix_bytes(const Pixels& source, int64_t columns, Rows& rows) {
  Taps& vertical = workspace_.rows;
  vertical.make_u8();
  workspace_.columns.make_u8();
  ColumnTaps horizontal = workspace_.columns.columns_u8();
  int64_t values = columns * pass_.channels;
  // Groups of four taps reach beyond the last pixel, with weight zero.
  int64_t padding = horizontal.groups * 4 * pass_.channels + kLinePadding;
  uint8_t* line = workspace_.line.need(size_t(values + padding));
  std::memset(line + values, 0, size_t(padding));
  for (int64_t y = 0; y < vertical.outputs(); ++y) {
    const auto* first =
        static_cast<const uint8_t*>(source.data) + vertical.first(y) * source.stride;
    if (vertical.count(y) == 1)
      std::memcpy(line, first, size_t(values));
    else
      kernels_.mix_rows_u8(first, source.stride, vertical.weights_u8(y), vertical.count(y), values,
                           line);
    auto* row = static_cast<uint8_t*>(rows.place(y));
    kernels_.mix_columns_u8(line, horizontal, pass_.channels, row);
    rows.finish(y, row);
  }
}

void PicturePass::mix_floats(const Pixels& source, int64_t columns, Rows& rows) {
  Taps& vertical = workspace_.rows;
  vertical.make_f32();
  workspace_.columns.make_f32();
  FloatTaps horizontal = workspace_.columns.columns_f32();
  int64_t values = columns * pass_.channels, stride = source.stride / int64_t(sizeof(float));
  float* line = workspace_.line.need_of<float>(size_t(values));
  for (int64_t y = 0; y < vertical.outputs(); ++y) {
    const float* first = static_cast<const float*>(source.data) + vertical.first(y) * stride;
    kernels_.mix_rows_f32(first, stride, vertical.weights_f32(y), vertical.count(y), values, line);
    auto* row = static_cast<float*>(rows.place(y));
    kernels_.mix_columns_f32(line, horizontal, pass_.channels, row);
    rows.finish(y, row);
  }
}

}  // namespace stoker::image
