#include "data/sources/labelled_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/identity.h"
#include "data/node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/permutation.h"
#include "data/runtime/positions.h"
#include "data/sources/files.h"

namespace stoker::data {

namespace {

using Shared = std::shared_ptr<const LabelledFiles>;

class LabelledFileMaker final : public Maker {
 public:
  LabelledFileMaker(Shared all, FileSystem& system) : all_(std::move(all)), system_(system) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker&) const override {
    const LabelledFile& file = all_->files[size_t(ticket.index)];
    try {
      read_whole(file.path, *static_cast<std::string*>(out.put(0, DType::bytes, {})), system_);
    } catch (...) {
      rethrow_addressed(all_->kind, ticket.epoch, ticket.index, file.path);
    }
    *static_cast<int64_t*>(out.put(1, DType::int64, {})) = file.label;
    return {ticket.epoch, ticket.index};
  }
  std::string origin(const Ticket& ticket) const override {
    return all_->files[size_t(ticket.index)].path;
  }

 private:
  Shared all_;
  FileSystem& system_;
};

class LabelledFilesNode final : public Node {
 public:
  LabelledFilesNode(Shared all, FileSystem& system)
      : Node(all->kind, {}, {{DType::bytes, {}}, {DType::int64, {}}}, {int64_t(all->files.size())},
             true),
        all_(std::move(all)),
        system_(system) {}
  std::string details() const override {
    return fmt::format("\"{}\", {} {} of {} classes{}", all_->path, all_->files.size(), all_->what,
                       all_->classes.size(), all_->extra.empty() ? "" : ", " + all_->extra);
  }
  std::string recipe() const override {
    return fmt::format("{}: {}", details(), fmt::join(all_->classes, ", "));
  }
  void add_sources(SourceFiles& files) const override {
    for (const LabelledFile& file : all_->files) files.add(file.path, system_);
  }
  Planned plan(PlanContext& context) const override {
    return files_of_rank({.maker = std::make_shared<LabelledFileMaker>(all_, system_),
                          .length = int64_t(all_->files.size())},
                         *this, context);
  }

 private:
  Shared all_;
  FileSystem& system_;
};

constexpr int kDeepestFolder = 16;

// Files below, in the order of their folders' names; subfolders belong to the class.
void add_files(const std::string& path, const LabelledFolder& folder, int64_t label,
               FileSystem& files, std::vector<LabelledFile>& found, int depth) {
  if (depth > kDeepestFolder)
    throw FileError(
        fmt::format("{}: folders are nested more than {} deep; is there a link in a circle?", path,
                    kDeepestFolder));
  std::vector<DirectoryEntry> entries = files.list(path);
  for (const DirectoryEntry& entry : entries)
    if (!entry.is_directory && has_extension(entry.name, folder.extensions))
      found.push_back({path + "/" + entry.name, label});
  for (const DirectoryEntry& entry : entries)
    if (entry.is_directory)
      add_files(path + "/" + entry.name, folder, label, files, found, depth + 1);
}

void check_split(const LabelledFolder& folder) {
  const Split& split = folder.split;
  bool some = split.subset != Subset::all;
  if (!(split.validation_split >= 0 && split.validation_split < 1))
    throw ValueError(fmt::format("{}: validation_split is {}, expected at least 0 and below 1",
                                 folder.kind, split.validation_split));
  if (some != (split.validation_split > 0))
    throw ValueError(folder.kind + (some ? ": subset is set, but validation_split is 0"
                                         : ": validation_split is set, but subset is not; expected "
                                           "Subset::training or Subset::validation"));
}

// Which files are for validation is drawn by the seed; their order stays.
std::vector<LabelledFile> subset_of(std::vector<LabelledFile> all, const Split& split) {
  if (split.subset == Subset::all) return all;
  auto count = int64_t(all.size()), held_out = int64_t(split.validation_split * double(count));
  std::vector<bool> for_validation(all.size());
  Permutation order(count, mixed(split.seed, 0x7E));
  for (int64_t at = count - held_out; at < count; ++at) for_validation[size_t(order(at))] = true;
  std::vector<LabelledFile> chosen;
  for (size_t at = 0; at < all.size(); ++at)
    if (for_validation[at] == (split.subset == Subset::validation))
      chosen.push_back(std::move(all[at]));
  return chosen;
}

std::string text_of(const Split& split) {
  if (split.subset == Subset::all) return "";
  return fmt::format("{} of split {}, seed {}",
                     split.subset == Subset::training ? "training" : "validation",
                     split.validation_split, split.seed);
}

}  // namespace

Dataset labelled_folder(const LabelledFolder& folder, const std::string& path, FileSystem& files) {
  check_split(folder);
  LabelledFiles all{
      .kind = folder.kind,
      .what = folder.what,
      .path = path,
      .extra = text_of(folder.split),
      .classes = folder.class_names.empty() ? folders_of(path, files) : folder.class_names,
      .files = {}};
  if (all.classes.empty())
    throw FileError(fmt::format("{}: no folders in it; expected one for each class", path));
  for (size_t label = 0; label < all.classes.size(); ++label)
    add_files(path + "/" + all.classes[label], folder, int64_t(label), files, all.files, 1);
  all.files = subset_of(std::move(all.files), folder.split);
  if (all.files.empty())
    throw FileError(fmt::format("{}: no {}{} in its {} folders; looked for {}", path, folder.what,
                                folder.split.subset == Subset::all ? "" : " of this subset",
                                all.classes.size(), fmt::join(folder.extensions, ", ")));
  return labelled_files(std::move(all), files);
}

Dataset labelled_files(LabelledFiles files, FileSystem& system) {
  return Dataset(std::make_shared<LabelledFilesNode>(
      std::make_shared<const LabelledFiles>(std::move(files)), system));
}

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

}  // namespace stoker::data
