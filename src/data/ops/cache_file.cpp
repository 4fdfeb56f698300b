#include "data/ops/cache_file.h"

#include <fmt/format.h>

#include "base/folder_lock.h"

namespace stoker::data {

namespace {

ElementSpec with_number(ElementSpec spec) {
  spec.push_back({DType::int64, {}});
  return spec;
}

std::string sources_of(const std::string& path) { return fmt::format("{}/{}", path, kSourcesName); }

std::string read_listing(const std::string& path) {
  try {
    return read_text(sources_of(path));
  } catch (const FileError&) {
    return {};
  }
}

}  // namespace

CacheFile::CacheFile(std::string path, ElementSpec spec, CacheIdentity identity)
    : path_(std::move(path)), spec_(std::move(spec)), identity_(std::move(identity)) {
  check_shard_folder(path_);
  reader_.store(open(outdated_));
}

std::shared_ptr<const ShardReader> CacheFile::open(std::string& why) const {
  if (!shards_exist(path_)) return nullptr;
  try {
    auto reader = std::make_shared<const ShardReader>(path_);
    why = why_outdated(identity_, reader->fingerprint(), read_listing(path_));
    if (why.empty() && reader->spec() != with_number(spec_)) why = "its elements are others";
    return why.empty() ? reader : nullptr;
  } catch (const FileError& error) {
    why = fmt::format("it is damaged: {}", error.what());
    return nullptr;
  }
}

std::shared_ptr<const ShardReader> CacheFile::reader(int64_t epoch, Notices& notices) {
  auto found = reader_.load();
  if (found || looked_.load(std::memory_order_relaxed) >= epoch) return found;
  if (looked_.exchange(epoch) >= 0) look(notices);
  return reader_.load();
}

void CacheFile::look(Notices& notices) {
  std::lock_guard lock(mutex_);
  if (reader_.load() || failed_ || !idle_) return;
  std::string why;
  if (auto found = open(why)) {
    notices.say(fmt::format("cache {} is complete: it is read from now on", path_));
    reader_.store(std::move(found));
  }
  idle_ = false;  // whoever wrote it may be gone
}

void CacheFile::drop(const std::shared_ptr<const ShardReader>& reader, const std::string& why,
                     Notices& notices) {
  std::lock_guard lock(mutex_);
  if (reader_.load() != reader) return;
  reader_.store(nullptr);
  notices.say(fmt::format("cache {} is rebuilt: it is damaged: {}", path_, why));
}

void CacheFile::add(int64_t index, std::span<const ConstTensorView> element, int64_t number,
                    int64_t length, Notices& notices) {
  if (idle_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  if (reader_.load() || !start(length, notices) || written_[size_t(index)]) return;
  written_[size_t(index)] = true;
  write(index, element, number, notices);
  if (writer_ && count_ == length) complete(notices);
}

int64_t CacheFile::restart() {
  std::lock_guard lock(mutex_);
  writer_.reset();
  count_ = 0;
  return ++walk_;
}

void CacheFile::add_next(int64_t walk, std::span<const ConstTensorView> element, int64_t number,
                         Notices& notices) {
  std::lock_guard lock(mutex_);
  // A stream is written from its first element on, or not at all.
  if (walk != walk_ || reader_.load() || idle_ || !start(-1, notices)) return;
  write(count_, element, number, notices);
}

void CacheFile::finish(int64_t walk, Notices& notices) {
  std::lock_guard lock(mutex_);
  if (walk == walk_ && !reader_.load() && writer_) complete(notices);
}

// True: there is a writer. Another process may have completed the cache just before the lock was
// free.
bool CacheFile::start(int64_t length, Notices& notices) {
  if (writer_) return true;
  if (idle_) return false;
  if (!outdated_.empty())
    notices.say(
        fmt::format("cache {} is rebuilt: {}", path_, std::exchange(outdated_, std::string())));
  try {
    writer_ = std::make_unique<ShardWriter>(path_, with_number(spec_),
                                            ShardOptions{.fingerprint = identity_.text});
    std::string why;
    if (length >= 0 && shards_exist(path_)) {
      if (auto found = open(why)) {
        writer_.reset();
        reader_.store(found);
        return false;
      }
    }
    if (!identity_.listing.empty()) write_file_atomically(sources_of(path_), identity_.listing);
  } catch (const FolderInUse& error) {
    idle_ = true;
    if (!std::exchange(busy_said_, true))
      notices.say(fmt::format("cache {}; until it is complete, elements are made without it",
                              error.what()));
    return false;
  } catch (const FileError& error) {
    give_up(error.what(), notices);
    return false;
  }
  written_.assign(size_t(std::max<int64_t>(length, 0)), false);
  count_ = 0;
  return true;
}

void CacheFile::write(int64_t index, std::span<const ConstTensorView> element, int64_t number,
                      Notices& notices) {
  std::vector<ConstTensorView> views(element.begin(), element.end());
  views.emplace_back(DType::int64, Shape{}, &number);
  try {
    writer_->write(index, views);
    ++count_;
  } catch (const FileError& error) {
    give_up(error.what(), notices);
  }
}

void CacheFile::complete(Notices& notices) {
  try {
    writer_->finish();
    writer_.reset();
    reader_.store(std::make_shared<const ShardReader>(path_));
  } catch (const FileError& error) {
    give_up(error.what(), notices);
  }
}

// A disk that is full or cannot be written stays so for this run: what was written makes room.
void CacheFile::give_up(const std::string& why, Notices& notices) {
  writer_.reset();
  failed_ = true;
  idle_ = true;
  notices.say(
      fmt::format("cache {} cannot be written: {}; elements are made without it", path_, why));
}

}  // namespace stoker::data
