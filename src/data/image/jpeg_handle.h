// libjpeg's error handling, in one place: libjpeg leaves a failed call by longjmp; guarded() makes
// an exception of it. Nothing with a destructor may live inside a guarded call.
#pragma once

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

namespace stoker::image {

struct JpegErrors {
  jpeg_error_mgr manager;  // first: libjpeg hands this back
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];

  // To be given to jpeg_create_*.
  jpeg_error_mgr* set_up();
  // Throws ImageError with libjpeg's text.
  [[noreturn]] void fail() const;

  template <class Call>
  void guarded(Call&& call) {
    if (setjmp(jump) != 0) fail();
    call();
  }
};

// Leaves the guarded call, from inside libjpeg's callbacks.
[[noreturn]] void leave_jpeg(j_common_ptr info, const char* text);

// A picture of thousands of scans is an attack: each costs as much as the whole picture.
inline constexpr int kMostScans = 256;

struct JpegScanLimit {
  jpeg_progress_mgr manager;
  jpeg_progress_mgr* set_up();
};

}  // namespace stoker::image
