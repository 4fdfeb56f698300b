// Huffman decoding of baseline JPEG, in place of libjpeg's: most coefficients take one look into a
// table that gives run, value and length together; and intervals between restart markers that lie
// outside the wanted region are passed over.
//
// It only ever takes what is entirely regular. At the first thing that is not (a missing or
// misplaced marker, a code that does not exist, data that ends early) it gives up by an error of
// libjpeg, and the caller decodes again with libjpeg's own decoder, whose word counts.
#pragma once

#include <memory>

struct jpeg_decompress_struct;

namespace stoker::image {

class JpegEntropy {
 public:
  JpegEntropy();
  ~JpegEntropy();

  // Between jpeg_start_decompress and the first row, of a picture in memory. False: this kind of
  // file (progressive, arithmetic, several scans) or of library is left to libjpeg. Lives until the
  // picture is read.
  bool install(jpeg_decompress_struct& info);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker::image
