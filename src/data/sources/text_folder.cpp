// A folder per class, a text per file.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/text.h>

#include "data/runtime/permutation.h"
#include "data/sources/files.h"
#include "data/sources/labelled_files.h"
#include "data/text/checked_text.h"

namespace stoker::data {

namespace {

constexpr int kDeepestFolder = 16;

// Files below, in the order of their folders' names; subfolders belong to the class.
void add_texts(const std::string& folder, const TextFolderOptions& options, int64_t label,
               FileSystem& files, std::vector<LabelledFile>& found, int depth) {
  if (depth > kDeepestFolder)
    throw FileError(
        fmt::format("{}: folders are nested more than {} deep; is there a link in a circle?",
                    folder, kDeepestFolder));
  std::vector<DirectoryEntry> entries = files.list(folder);
  for (const DirectoryEntry& entry : entries)
    if (!entry.is_directory && has_extension(entry.name, options.extensions))
      found.push_back({folder + "/" + entry.name, label});
  for (const DirectoryEntry& entry : entries)
    if (entry.is_directory)
      add_texts(folder + "/" + entry.name, options, label, files, found, depth + 1);
}

void check_split(const TextFolderOptions& options) {
  bool some = options.subset != Subset::all;
  if (!(options.validation_split >= 0 && options.validation_split < 1))
    throw ValueError(
        fmt::format("text_folder: validation_split is {}, expected at least 0 and below 1",
                    options.validation_split));
  if (some != (options.validation_split > 0))
    throw ValueError(some ? "text_folder: subset is set, but validation_split is 0"
                          : "text_folder: validation_split is set, but subset is not; expected "
                            "Subset::training or Subset::validation");
}

// Which files are for validation is drawn by the seed; their order stays.
std::vector<LabelledFile> subset_of(std::vector<LabelledFile> all,
                                    const TextFolderOptions& options) {
  if (options.subset == Subset::all) return all;
  auto count = int64_t(all.size()), held_out = int64_t(options.validation_split * double(count));
  std::vector<bool> for_validation(all.size());
  Permutation order(count, mixed(options.seed, 0x7E));
  for (int64_t at = count - held_out; at < count; ++at) for_validation[size_t(order(at))] = true;
  std::vector<LabelledFile> chosen;
  for (size_t at = 0; at < all.size(); ++at)
    if (for_validation[at] == (options.subset == Subset::validation))
      chosen.push_back(std::move(all[at]));
  return chosen;
}

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
  check_split(options);
  if (options.max_length && *options.max_length < 1)
    throw ValueError(
        fmt::format("text_folder: max_length is {}, expected at least 1", *options.max_length));
  LabelledFiles texts{
      .kind = "text_folder",
      .what = "texts",
      .path = path,
      .extra = "",
      .classes = options.class_names.empty() ? folders_of(path, files) : options.class_names,
      .files = {}};
  if (texts.classes.empty())
    throw FileError(path + ": no folders in it; a text folder has one for each class");
  for (size_t label = 0; label < texts.classes.size(); ++label)
    add_texts(path + "/" + texts.classes[label], options, int64_t(label), files, texts.files, 1);
  texts.files = subset_of(std::move(texts.files), options);
  if (texts.files.empty())
    throw FileError(fmt::format("{}: no texts{} in its {} folders; looked for {}", path,
                                options.subset == Subset::all ? "" : " of this subset",
                                texts.classes.size(), fmt::join(options.extensions, ", ")));
  if (options.subset != Subset::all)
    texts.extra = fmt::format("{} of split {}, seed {}",
                              options.subset == Subset::training ? "training" : "validation",
                              options.validation_split, options.seed);
  return labelled_files(std::move(texts), files)
      .map(FunctionRef(std::make_shared<CheckedText>(options.max_length, options.invalid_utf8)));
}

Dataset text_folder(const std::string& path, const TextFolderOptions& options) {
  return text_folder(path, options, local_files());
}

}  // namespace stoker::data
