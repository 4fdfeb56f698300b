// A folder per class, a text per file.
#include <fmt/format.h>
#include <stoker/text.h>

#include "data/sources/files.h"
#include "data/sources/labelled_files.h"
#include "data/text/checked_text.h"

namespace stoker::data {

namespace {

// The text as the options want it; labels pass.
class CheckedText final : public ElementFunction {
 public:
  CheckedText(std::optional<int64_t> max_length, InvalidUtf8 invalid)
      : max_length_(max_length), invalid_(invalid) {}
  std::string name() const override { return "text"; }
  std::string identity() const override {
    return fmt::format("text, max_length {}, invalid_utf8 {}", max_length_.value_or(-1),
                       name_of(invalid_));
  }
  ElementSpec infer(const ElementSpec& in) const override { return in; }
  void apply(std::span<const ConstTensorView> in, ElementWriter& out, Rng&) const override {
    auto& text = *static_cast<std::string*>(out.put(0, DType::bytes, {}));
    text = *static_cast<const std::string*>(in[0].data);
    check_text(text, invalid_);
    if (max_length_ && int64_t(text.size()) > *max_length_) text.resize(size_t(*max_length_));
    out.copy(1, in[1]);
  }

 private:
  std::optional<int64_t> max_length_;
  InvalidUtf8 invalid_;
};

}  // namespace

Dataset text_folder(const std::string& path, const TextFolderOptions& options, FileSystem& files) {
  if (options.max_length && *options.max_length < 1)
    throw ValueError(
        fmt::format("text_folder: max_length is {}, expected at least 1", *options.max_length));
  return labelled_folder({.kind = "text_folder",
                          .what = "texts",
                          .extensions = options.extensions,
                          .class_names = options.class_names,
                          .split = {options.validation_split, options.subset, options.seed}},
                         path, files)
      .map(FunctionRef(std::make_shared<CheckedText>(options.max_length, options.invalid_utf8)));
}

Dataset text_folder(const std::string& path, const TextFolderOptions& options) {
  return text_folder(path, options, local_files());
}

}  // namespace stoker::data
