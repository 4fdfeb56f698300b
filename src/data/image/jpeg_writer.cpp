#include "data/image/jpeg_writer.h"

#include <cstdlib>

#include "data/image/jpeg_handle.h"

namespace stoker::image {
namespace {

constexpr int64_t kMostRewritten = 100'000'000;  // pixels; all coefficients are held in memory

class Compressor {
 public:
  Compressor() {
    info.err = errors.set_up();
    errors.guarded([&] {
      jpeg_create_compress(&info);
      jpeg_mem_dest(&info, &memory, &size);
    });
  }
  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(memory);  // libjpeg's malloc
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  void finish(std::string& out) {
    errors.guarded([&] { jpeg_finish_compress(&info); });
    out.assign(reinterpret_cast<const char*>(memory), size);
  }

  jpeg_compress_struct info = {};
  JpegErrors errors = {};
  unsigned char* memory = nullptr;
  unsigned long size = 0;
};

class Decompressor {
 public:
  Decompressor() {
    info.err = errors.set_up();
    errors.guarded([&] { jpeg_create_decompress(&info); });
    info.progress = limit.set_up();
  }
  ~Decompressor() { jpeg_destroy_decompress(&info); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  jpeg_decompress_struct info = {};
  JpegErrors errors = {};
  JpegScanLimit limit = {};
};

void set_up(jpeg_compress_struct& info, const Image& picture, const EncodeJpeg& options) {
  info.image_height = JDIMENSION(picture.height);
  info.image_width = JDIMENSION(picture.width);
  info.input_components = int(picture.channels);
  info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, options.quality, TRUE);
  info.dct_method = JDCT_ISLOW;
  info.optimize_coding = TRUE;
  int sampling = options.subsampled && picture.channels == 3 ? 2 : 1;
  info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = sampling;
  if (options.progressive) jpeg_simple_progression(&info);
}

// The divisor of `row` that is nearest to `wanted`.
unsigned nearest_divisor(unsigned row, unsigned wanted) {
  auto distance = [&](unsigned d) { return d > wanted ? d - wanted : wanted - d; };
  unsigned best = row;
  for (unsigned d = 1; d <= row; ++d)
    if (row % d == 0 && distance(d) < distance(best)) best = d;
  return best;
}

// A scan of one component counts its own blocks, one of several counts groups of them.
unsigned blocks_per_row(const jpeg_decompress_struct& info) {
  int factor = info.num_components == 1 ? 1 : info.max_h_samp_factor;
  unsigned block = unsigned(factor) * DCTSIZE;
  return (info.image_width + block - 1) / block;
}

}  // namespace

void write_jpeg(const Image& picture, const EncodeJpeg& options, std::string& out) {
  Compressor to;
  to.errors.guarded([&] {
    set_up(to.info, picture, options);
    jpeg_start_compress(&to.info, TRUE);
    while (to.info.next_scanline < to.info.image_height) {
      // libjpeg takes pointers to rows that it does not change.
      auto* row = const_cast<JSAMPLE*>(picture.row(to.info.next_scanline).data());
      jpeg_write_scanlines(&to.info, &row, 1);
    }
  });
  to.finish(out);
}

void rewrite_jpeg(std::string_view jpeg, const RestartMarkers& options, std::string& out) {
  Decompressor from;
  from.errors.guarded([&] {
    jpeg_mem_src(&from.info, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
    jpeg_read_header(&from.info, TRUE);
  });
  if (int64_t(from.info.image_height) * from.info.image_width > kMostRewritten)
    throw ImageError("add_restart_markers: " + std::to_string(from.info.image_width) + "×" +
                     std::to_string(from.info.image_height) + " pixels, the limit is " +
                     std::to_string(kMostRewritten));
  jvirt_barray_ptr* coefficients = nullptr;
  from.errors.guarded([&] { coefficients = jpeg_read_coefficients(&from.info); });
  Compressor to;
  to.errors.guarded([&] {
    jpeg_copy_critical_parameters(&from.info, &to.info);
    to.info.optimize_coding = TRUE;
    to.info.restart_interval = nearest_divisor(blocks_per_row(from.info), unsigned(options.mcus));
    jpeg_write_coefficients(&to.info, coefficients);
  });
  to.finish(out);
}

}  // namespace stoker::image
