#include "formats/shard_file.h"

#include <array>

#include "formats/crc32c.h"

namespace stoker {

namespace {

constexpr size_t kWriteBytes = 1 << 20;

// What parse_record reads first.
void make_words(std::span<const ConstTensorView> views, std::span<const TensorSpec> spec,
                std::vector<uint64_t>& words) {
  words.clear();
  for (size_t component = 0; component < views.size(); ++component) {
    const ConstTensorView& view = views[component];
    for (int axis = 0; axis < view.shape.rank(); ++axis)
      if (spec[component].shape[axis] < 0) words.push_back(uint64_t(view.shape[axis]));
    if (view.dtype == DType::bytes)
      for (const std::string& text : view.values<std::string>()) words.push_back(text.size());
  }
}

}  // namespace

ShardFile::ShardFile(const std::string& directory, ShardName name, FileSystem& files)
    : name_(make_shard_name(name)),
      file_(files.create(directory + "/" + name_, FileSystem::Write::replace)) {
  header_.number = name.number;
  buffer_.reserve(kWriteBytes);
  append(std::as_bytes(std::span(&header_, 1)));
}

void ShardFile::write(uint64_t element, std::span<const ConstTensorView> views,
                      std::span<const TensorSpec> spec) {
  uint64_t begin = bytes_;
  crc_ = 0;
  make_words(views, spec, words_);
  append(std::as_bytes(std::span(words_)));
  for (const ConstTensorView& view : views) {
    if (view.dtype == DType::bytes) {
      for (const std::string& text : view.values<std::string>()) append(as_bytes(text));
    } else {
      append_zeros_to(begin + align_values(bytes_ - begin, view.bytes()));
      append({static_cast<const std::byte*>(view.data), view.bytes()});
    }
  }
  append_zeros_to(begin + align_up(bytes_ - begin, record_alignment(spec)));
  index_.push_back({element, begin, bytes_ - begin, crc_});
}

ShardManifest::Shard ShardFile::finish() {
  auto index = std::as_bytes(std::span(index_));
  ShardFooter footer{.index_offset = bytes_, .records = index_.size(), .index_crc = crc32c(index)};
  footer.crc = footer_crc(header_, footer);
  append(index);
  append(std::as_bytes(std::span(&footer, 1)));
  flush();
  file_->sync();
  file_.reset();
  return {name_, bytes_, index_.size(), footer.crc};
}

void ShardFile::append(std::span<const std::byte> bytes) {
  crc_ = crc32c(bytes, crc_);
  bytes_ += bytes.size();
  if (buffer_.size() + bytes.size() > kWriteBytes) flush();
  if (bytes.size() >= kWriteBytes)
    file_->write(bytes);
  else
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void ShardFile::append_zeros_to(uint64_t offset) {
  static constexpr std::array<std::byte, kShardAlignment> kZeros{};
  append(std::span(kZeros).first(size_t(offset - bytes_)));
}

void ShardFile::flush() {
  if (!buffer_.empty()) file_->write(buffer_);
  buffer_.clear();
}

}  // namespace stoker
