#include "train/checkpoint/checkpoint_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "formats/checkpoint_manifest.h"
#include "formats/crc32c.h"
#include "formats/safetensors.h"
#include "train/files/file_format.h"

namespace stoker {

namespace {

using Pieces = std::vector<std::span<const std::byte>>;

constexpr std::string_view kPrefix = "ckpt-";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kTraining = "training.json";
constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kState = "state.safetensors";
constexpr std::array<const char*, 3> kFiles = {kTraining, kWeights, kState};
constexpr size_t kChunk = size_t(1) << 20;

std::string join(const std::string& directory, std::string_view name) {
  return (std::filesystem::path(directory) / name).string();
}

// Unique among the threads of this process and the processes of this host; no checkpoint's name.
std::string temporary_name(const std::string& name) {
  static std::atomic<uint64_t> count = 0;
  return fmt::format(".{}.{}-{}{}", name, getpid(), count++, kTemporarySuffix);
}

bool is_temporary(std::string_view name) {
  return name.starts_with(fmt::format(".{}", kPrefix)) && name.ends_with(kTemporarySuffix);
}

std::optional<ListedCheckpoint> parse_name(const std::string& name) {
  ListedCheckpoint found{.name = name};
  const char* end = name.data() + name.size();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  auto [middle, epoch_error] = std::from_chars(name.data() + kPrefix.size(), end, found.epoch);
  if (epoch_error != std::errc() || middle == end || *middle != '-') return std::nullopt;
  std::from_chars(middle + 1, end, found.step);
  if (checkpoint_name(found.epoch, found.step) != name) return std::nullopt;
  return found;
}

// All that look like checkpoints, the oldest first.
std::vector<ListedCheckpoint> list_names(const std::string& directory, FileSystem& files) {
  std::vector<ListedCheckpoint> found;
  if (!files.exists(directory)) return found;
  for (const DirectoryEntry& entry : files.list(directory))
    if (auto parsed = parse_name(entry.name); parsed && entry.is_directory)
      found.push_back(*parsed);
  std::ranges::sort(found, {},
                    [](const ListedCheckpoint& each) { return std::pair(each.epoch, each.step); });
  return found;
}

CheckpointManifest::File write_file(const std::string& directory, const char* name,
                                    const Pieces& pieces, FileSystem& files) {
  CheckpointManifest::File written{.name = name};
  auto file = files.create(join(directory, name), FileSystem::Write::replace);
  for (std::span<const std::byte> piece : pieces) {
    file->write(piece);
    written.bytes += piece.size();
    written.crc = crc32c(piece, written.crc);
  }
  file->sync();
  return written;
}

CheckpointManifest::File write_text(const std::string& directory, const char* name,
                                    const std::string& text, FileSystem& files) {
  return write_file(directory, name, {as_bytes(text)}, files);
}

CheckpointManifest::File write_tensors(const std::string& directory, const char* name,
                                       const NamedTensors& tensors, const char* format,
                                       FileSystem& files) {
  SafetensorsFile file = file_of_format(format);
  file.tensors = tensors;
  std::string head;
  return write_file(directory, name, safetensors_pieces(file, head), files);
}

std::string callback_prefix(size_t index) { return fmt::format("callbacks/{}/", index); }

NamedTensors state_tensors(const Checkpoint& checkpoint) {
  NamedTensors all = checkpoint.state;
  for (size_t i = 0; i < checkpoint.callbacks.size(); ++i)
    for (const auto& [name, tensor] : checkpoint.callbacks[i].second.tensors)
      all.emplace_back(callback_prefix(i) + name, tensor);
  return all;
}

void give_callbacks_their_tensors(Checkpoint& checkpoint) {
  for (size_t i = 0; i < checkpoint.callbacks.size(); ++i) {
    std::string prefix = callback_prefix(i);
    for (const auto& [name, tensor] : checkpoint.state)
      if (name.starts_with(prefix))
        checkpoint.callbacks[i].second.tensors.emplace_back(name.substr(prefix.size()), tensor);
    std::erase_if(checkpoint.state,
                  [&](const auto& entry) { return entry.first.starts_with(prefix); });
  }
}

uint64_t write_files(const std::string& directory, const Checkpoint& checkpoint,
                     std::optional<double> monitored, FileSystem& files) {
  CheckpointManifest manifest{.epoch = uint64_t(checkpoint.epoch),
                              .step = uint64_t(checkpoint.step),
                              .monitored = monitored};
  manifest.files = {
      write_text(directory, kTraining, checkpoint_to_json(checkpoint), files),
      write_tensors(directory, kWeights, checkpoint.weights, kWeightsFormat, files),
      write_tensors(directory, kState, state_tensors(checkpoint), kStateFormat, files)};
  uint64_t bytes =
      write_text(directory, kManifest, make_checkpoint_manifest(manifest), files).bytes;
  for (const CheckpointManifest::File& file : manifest.files) bytes += file.bytes;
  files.sync_directory(directory);
  return bytes;
}

void remove_quietly(const std::string& path, FileSystem& files) {
  try {
    files.remove_all(path);
  } catch (const FileError&) {
    // The failure that led here is the one to report; leftovers go with the next fit.
  }
}

// A directory that stands where the new one goes, under the first free name.
void move_aside(const std::string& path, FileSystem& files) {
  for (int number = 1;; ++number) {
    std::string other = fmt::format("{}.damaged-{}", path, number);
    if (files.exists(other)) continue;
    files.rename(path, other);
    return;
  }
}

CheckpointManifest read_manifest(const std::string& path, FileSystem& files) {
  std::string manifest = join(path, kManifest);
  try {
    uint64_t size = files.size(manifest);
    if (size > kMaxCheckpointManifest)
      throw ValueError(fmt::format("{} bytes are more than a manifest has", size));
    return parse_checkpoint_manifest(read_text(manifest, files));
  } catch (const ValueError& error) {
    throw FileError(fmt::format("{}: {}", manifest, error.what()));
  }
}

void verify(const std::string& path, const CheckpointManifest::File& expected, FileSystem& files) {
  auto file = files.open(path);
  if (file->size() != expected.bytes)
    throw FileError(
        fmt::format("{}: has {} bytes, its manifest says {}", path, file->size(), expected.bytes));
  std::vector<std::byte> chunk(size_t(std::min<uint64_t>(kChunk, expected.bytes)));
  uint32_t crc = 0;
  for (uint64_t done = 0; done < expected.bytes;) {
    auto part = std::span(chunk).first(size_t(std::min<uint64_t>(kChunk, expected.bytes - done)));
    file->read_exactly(done, part);
    crc = crc32c(part, crc);
    done += part.size();
  }
  if (crc != expected.crc)
    throw FileError(fmt::format("{}: its checksum is {:08x}, its manifest says {:08x}", path, crc,
                                expected.crc));
}

void verify_all(const std::string& path, FileSystem& files) {
  CheckpointManifest manifest = read_manifest(path, files);
  std::string name = std::filesystem::path(path).filename().string();
  if (checkpoint_name(int64_t(manifest.epoch), int64_t(manifest.step)) != name)
    throw FileError(fmt::format("{}: its manifest is that of epoch {}, step {}", path,
                                manifest.epoch, manifest.step));
  for (const char* each : kFiles) {
    auto listed = std::ranges::find(manifest.files, each, &CheckpointManifest::File::name);
    if (listed == manifest.files.end())
      throw FileError(fmt::format("{}: its manifest lacks {}", path, each));
    verify(join(path, each), *listed, files);
  }
}

}  // namespace

std::string checkpoint_name(int64_t epoch, int64_t step) {
  return fmt::format("{}{:06}-{:09}", kPrefix, epoch, step);
}

uint64_t write_checkpoint(const std::string& directory, const Checkpoint& checkpoint,
                          std::optional<double> monitored, FileSystem& files) {
  std::string name = checkpoint_name(checkpoint.epoch, checkpoint.step);
  std::string temporary = join(directory, temporary_name(name)), path = join(directory, name);
  uint64_t bytes = 0;
  try {
    files.create_directories(temporary);
    bytes = write_files(temporary, checkpoint, monitored, files);
    if (files.exists(path)) move_aside(path, files);
    files.rename(temporary, path);
  } catch (...) {
    remove_quietly(temporary, files);
    throw;
  }
  files.sync_directory(directory);
  return bytes;
}

Checkpoint read_checkpoint(const std::string& path, FileSystem& files) {
  verify_all(path, files);
  try {
    Checkpoint checkpoint = checkpoint_from_json(read_text(join(path, kTraining), files));
    checkpoint.weights = read_safetensors(join(path, kWeights), files).tensors;
    checkpoint.state = read_safetensors(join(path, kState), files).tensors;
    give_callbacks_their_tensors(checkpoint);
    return checkpoint;
  } catch (const ValueError& error) {
    throw FileError(fmt::format("{}: {}", join(path, kTraining), error.what()));
  }
}

bool is_whole(const std::string& path, FileSystem& files) {
  try {
    verify_all(path, files);
    return true;
  } catch (const FileError&) {
    return false;
  }
}

FoundCheckpoint find_newest_checkpoint(const std::string& directory, FileSystem& files) {
  FoundCheckpoint found;
  std::vector<ListedCheckpoint> names = list_names(directory, files);
  for (auto each = names.rbegin(); each != names.rend(); ++each) {
    std::string path = join(directory, each->name);
    try {
      found.checkpoint = read_checkpoint(path, files);
      found.path = path;
      return found;
    } catch (const FileError& error) {
      found.damaged.push_back(error.what());
    }
  }
  if (!names.empty())
    throw FileError(
        fmt::format("{}: none of its {} checkpoints can be used: {}; move them away to begin anew",
                    directory, names.size(), found.damaged.front()));
  return found;
}

std::vector<ListedCheckpoint> list_checkpoints(const std::string& directory, FileSystem& files) {
  std::vector<ListedCheckpoint> good;
  for (ListedCheckpoint& each : list_names(directory, files)) {
    try {
      each.monitored = read_manifest(join(directory, each.name), files).monitored;
      good.push_back(std::move(each));
    } catch (const FileError&) {
      // Damaged: not for us to count or to remove.
    }
  }
  return good;
}

std::vector<std::string> expendable(const std::vector<ListedCheckpoint>& checkpoints,
                                    const KeepRule& rule) {
  const ListedCheckpoint* best = nullptr;
  for (const ListedCheckpoint& each : checkpoints) {
    if (!rule.best || !each.monitored) continue;
    bool better = best == nullptr || (rule.maximise ? *each.monitored > *best->monitored
                                                    : *each.monitored < *best->monitored);
    if (better) best = &each;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    const ListedCheckpoint& each = checkpoints[i];
    bool newest = int64_t(checkpoints.size() - i) <= rule.newest;
    bool milestone = rule.every_epochs > 0 && each.step == 0 && each.epoch % rule.every_epochs == 0;
    if (!newest && !milestone && best != &each) names.push_back(each.name);
  }
  return names;
}

bool make_room(const std::string& directory, const KeepRule& rule, FileSystem& files,
               std::vector<std::string>& gone) {
  std::vector<ListedCheckpoint> checkpoints = list_checkpoints(directory, files);
  if (checkpoints.size() < 2 || !is_whole(join(directory, checkpoints.back().name), files))
    return false;
  KeepRule strict = rule;
  strict.newest = 1;
  std::vector<std::string> names = expendable(checkpoints, strict);
  gone.push_back(names.empty() ? checkpoints.front().name : names.front());
  remove_checkpoints(directory, {gone.back()}, files);
  return true;
}

void remove_checkpoints(const std::string& directory, const std::vector<std::string>& names,
                        FileSystem& files) {
  for (const std::string& name : names) {
    std::string temporary = join(directory, temporary_name(name));
    files.rename(join(directory, name), temporary);
    files.remove_all(temporary);
  }
}

void remove_leftovers(const std::string& directory, FileSystem& files) {
  for (const DirectoryEntry& entry : files.list(directory))
    if (is_temporary(entry.name)) remove_quietly(join(directory, entry.name), files);
}

}  // namespace stoker
