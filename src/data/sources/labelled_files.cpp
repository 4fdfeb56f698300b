#include "data/sources/labelled_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/identity.h"
#include "data/node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"
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
  Planned plan(PlanContext&) const override {
    return {.maker = std::make_shared<LabelledFileMaker>(all_, system_),
            .length = int64_t(all_->files.size())};
  }

 private:
  Shared all_;
  FileSystem& system_;
};

}  // namespace

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
