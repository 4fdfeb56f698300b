// A folder per class, an image per file.
#include <fmt/format.h>

#include "data/sources/files.h"
#include "data/sources/labelled_files.h"

namespace stoker::data {

Dataset image_folder(const std::string& path, const ImageFolderOptions& options,
                     FileSystem& files) {
  LabelledFiles images{
      .kind = "image_folder",
      .what = "images",
      .path = path,
      .extra = "",
      .classes = options.class_names.empty() ? folders_of(path, files) : options.class_names,
      .files = {}};
  if (images.classes.empty())
    throw FileError(path + ": no folders in it; an image folder has one for each class");
  for (size_t label = 0; label < images.classes.size(); ++label) {
    std::string folder = path + "/" + images.classes[label];
    for (const DirectoryEntry& entry : files.list(folder))
      if (!entry.is_directory && has_extension(entry.name, options.extensions))
        images.files.push_back({folder + "/" + entry.name, int64_t(label)});
  }
  if (images.files.empty())
    throw FileError(fmt::format("{}: no images in its {} folders; looked for {}", path,
                                images.classes.size(), fmt::join(options.extensions, ", ")));
  return labelled_files(std::move(images), files);
}

Dataset image_folder(const std::string& path, const ImageFolderOptions& options) {
  return image_folder(path, options, local_files());
}

std::vector<std::string> class_names(const std::string& path) {
  return folders_of(path, local_files());
}

}  // namespace stoker::data
