#include "data/image/jpeg_handle.h"

#include <jerror.h>

#include <stoker/image.h>

namespace stoker::image {
namespace {

JpegErrors& errors_of(j_common_ptr info) { return *reinterpret_cast<JpegErrors*>(info->err); }

void leave(j_common_ptr info) {
  JpegErrors& errors = errors_of(info);
  info->err->format_message(info, errors.text);
  std::longjmp(errors.jump, 1);
}

// Warnings after which every pixel is still what the file says.
bool harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
         code == JWRN_BOGUS_ICC || code == JWRN_TOO_MUCH_DATA;
}

// Level -1 is a warning about the data, others are traces.
void take_message(j_common_ptr info, int level) {
  if (level < 0 && !harmless(info->err->msg_code)) leave(info);
}

void discard(j_common_ptr) {}

void limit_scans(j_common_ptr info) {
  int scans = reinterpret_cast<j_decompress_ptr>(info)->input_scan_number;
  if (scans > kMostScans) leave_jpeg(info, "more scans than any picture needs");
}

}  // namespace

void leave_jpeg(j_common_ptr info, const char* text) {
  JpegErrors& errors = errors_of(info);
  std::snprintf(errors.text, sizeof(errors.text), "%s", text);
  std::longjmp(errors.jump, 1);
}

jpeg_error_mgr* JpegErrors::set_up() {
  jpeg_std_error(&manager);
  manager.error_exit = leave;
  manager.emit_message = take_message;
  manager.output_message = discard;
  return &manager;
}

void JpegErrors::fail() const { throw ImageError(std::string("JPEG: ") + text); }

jpeg_progress_mgr* JpegScanLimit::set_up() {
  manager = {};
  manager.progress_monitor = limit_scans;
  return &manager;
}

}  // namespace stoker::image
