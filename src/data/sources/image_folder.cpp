// A folder per class, an image per file.
#include <algorithm>

#include <fmt/format.h>

#include "data/identity.h"
#include "data/node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"
#include "data/sources/files.h"

namespace stoker::data {

namespace {

struct Image {
  std::string path;
  int64_t label;
};

class ImageFolderMaker final : public Maker {
 public:
  ImageFolderMaker(std::shared_ptr<const std::vector<Image>> images, FileSystem& files)
      : images_(std::move(images)), files_(files) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker&) const override {
    const Image& image = (*images_)[size_t(ticket.index)];
    try {
      read_whole(image.path, *static_cast<std::string*>(out.put(0, DType::bytes, {})), files_);
    } catch (...) {
      rethrow_addressed("image_folder", ticket.epoch, ticket.index, image.path);
    }
    *static_cast<int64_t*>(out.put(1, DType::int64, {})) = image.label;
    return {ticket.epoch, ticket.index};
  }
  std::string origin(const Ticket& ticket) const override {
    return (*images_)[size_t(ticket.index)].path;
  }

 private:
  std::shared_ptr<const std::vector<Image>> images_;
  FileSystem& files_;
};

class ImageFolderNode final : public Node {
 public:
  ImageFolderNode(std::string path, std::shared_ptr<const std::vector<Image>> images,
                  std::vector<std::string> classes, FileSystem& files)
      : Node("image_folder", {}, {{DType::bytes, {}}, {DType::int64, {}}},
             {int64_t(images->size())}, true),
        path_(std::move(path)),
        images_(std::move(images)),
        classes_(std::move(classes)),
        files_(files) {}
  std::string details() const override {
    return fmt::format("\"{}\", {} images of {} classes", path_, images_->size(), classes_.size());
  }
  std::string recipe() const override {
    return fmt::format("{}: {}", details(), fmt::join(classes_, ", "));
  }
  void add_sources(SourceFiles& files) const override {
    for (const Image& image : *images_) files.add(image.path, files_);
  }
  Planned plan(PlanContext&) const override {
    return {.maker = std::make_shared<ImageFolderMaker>(images_, files_),
            .length = int64_t(images_->size())};
  }

 private:
  std::string path_;
  std::shared_ptr<const std::vector<Image>> images_;
  std::vector<std::string> classes_;
  FileSystem& files_;
};

std::vector<std::string> folders_of(const std::string& path, FileSystem& files) {
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : files.list(path))
    if (entry.is_directory && entry.name[0] != '.') names.push_back(entry.name);
  return names;
}

bool has_extension(const std::string& name, const std::vector<std::string>& extensions) {
  auto same = [](char a, char b) { return std::tolower(uint8_t(a)) == std::tolower(uint8_t(b)); };
  return std::any_of(extensions.begin(), extensions.end(), [&](const std::string& extension) {
    return name.size() > extension.size() &&
           std::equal(extension.rbegin(), extension.rend(), name.rbegin(), same);
  });
}

}  // namespace

Dataset image_folder(const std::string& path, const ImageFolderOptions& options,
                     FileSystem& files) {
  std::vector<std::string> classes =
      options.class_names.empty() ? folders_of(path, files) : options.class_names;
  if (classes.empty())
    throw FileError(path + ": no folders in it; an image folder has one for each class");
  auto images = std::make_shared<std::vector<Image>>();
  for (size_t label = 0; label < classes.size(); ++label) {
    std::string folder = path + "/" + classes[label];
    for (const DirectoryEntry& entry : files.list(folder))
      if (!entry.is_directory && has_extension(entry.name, options.extensions))
        images->push_back({folder + "/" + entry.name, int64_t(label)});
  }
  if (images->empty())
    throw FileError(fmt::format("{}: no images in its {} folders; looked for {}", path,
                                classes.size(), fmt::join(options.extensions, ", ")));
  return Dataset(
      std::make_shared<ImageFolderNode>(path, std::move(images), std::move(classes), files));
}

Dataset image_folder(const std::string& path, const ImageFolderOptions& options) {
  return image_folder(path, options, local_files());
}

std::vector<std::string> class_names(const std::string& path) {
  return folders_of(path, local_files());
}

}  // namespace stoker::data
