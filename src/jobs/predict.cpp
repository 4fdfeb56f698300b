#include <algorithm>
#include <filesystem>
#include <numeric>
#include <ostream>

#include <fmt/format.h>
#include <stoker/dataset.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/printable.h"
#include "jobs/data_kinds.h"
#include "jobs/predict_rows.h"
#include "jobs/use_model.h"

namespace stoker::jobs {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool is_picture(const std::string& name) {
  std::string extension = fs::path(name).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

// Files as they are given; of folders their pictures, sorted.
std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::exists(path)) throw FileError(path + ": there is no such file or folder");
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    size_t before = files.size();
    for (const DirectoryEntry& entry : local_files().list(path))
      if (!entry.is_directory && is_picture(entry.name)) files.push_back(path + "/" + entry.name);
    if (files.size() == before)
      throw FileError(path + ": no .jpg, .jpeg or .png files in this folder");
  }
  return files;
}

Tensor text_tensor(const std::vector<std::string>& texts) {
  Tensor tensor(DType::bytes, {int64_t(texts.size())});
  std::copy(texts.begin(), texts.end(), tensor.data_mut<std::string>());
  return tensor;
}

// Reads and decodes one file again to hear what is wrong with it alone.
std::string problem_of(const std::string& file, const image::Op& decode) {
  try {
    Tensor bytes(DType::bytes, {});
    *bytes.data_mut<std::string>() = read_text(file);
    decode(bytes);
  } catch (const FileError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return fmt::format("{}: {}", file, error.what());
  }
  return file + ": it could not be read at first, and can be now";
}

// The numbers of the files in a batch are its second component.
void predict_batch(const TrainedModel& trained, const Batch& batch,
                   const std::vector<std::string>& files, int64_t top, std::vector<json>& rows) {
  Tensor outputs = trained.model.predict(batch[0]);
  std::span<const int64_t> numbers = batch[1].values<int64_t>();
  for (size_t i = 0; i < numbers.size(); ++i) {
    auto number = size_t(numbers[i]);
    rows[number] = predicted_row(trained, outputs[int64_t(i)].values<float>(), top);
    rows[number]["file"] = files[number];
  }
}

json predict_pictures(const TrainedModel& trained, const std::vector<std::string>& paths,
                      int64_t top) {
  TensorSpec picture = picture_of(trained);
  std::vector<std::string> files = files_of(paths);
  image::Op decode = image::decode_image({.channels = int(picture.shape[2])}) |
                     image::resize(picture.shape[0], picture.shape[1], {.antialias = true});
  std::vector<int64_t> numbers(files.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  auto count = int64_t(files.size());
  data::Iterator walk = data::from_slices({text_tensor(files), Tensor::from(numbers, {count})})
                            .map(data::read_file())
                            .map(decode)
                            .on_error(data::OnError::skip, {.max_errors = count})
                            .batch(32)
                            .iterate();
  std::vector<json> rows(files.size());
  while (const Batch* batch = walk.next()) predict_batch(trained, *batch, files, top, rows);
  for (size_t i = 0; i < files.size(); ++i)
    if (rows[i].is_null()) rows[i] = {{"file", files[i]}, {"error", problem_of(files[i], decode)}};
  return rows;
}

void tell(const json& rows, std::ostream& out) {
  auto name_of = [](const json& row) {
    if (row.contains("file")) return printable(row["file"].get<std::string>());
    return fmt::format("row {}", row["row"].get<int64_t>());
  };
  size_t width = 0;
  for (const json& row : rows) width = std::max(width, name_of(row).size());
  for (const json& row : rows) {
    if (row.contains("error")) continue;
    std::string line = fmt::format("{:<{}}", name_of(row), width);
    if (row.contains("top"))
      for (const json& choice : row["top"])
        line += fmt::format("  {} {:.1f} %", printable(choice["class"].get<std::string>()),
                            100 * choice["probability"].get<double>());
    if (row.contains("numbers"))
      for (const json& number : row["numbers"])
        line += fmt::format("  {:.6g}", number.get<double>());
    out << line << "\n";
  }
}

}  // namespace

json predict(const TrainedModel& trained, const std::vector<std::string>& paths, int64_t top,
             std::ostream* out) {
  if (top < 1) throw ValueError(fmt::format("top: expected 1 or more, got {}", top));
  bool rows = std::ranges::any_of(paths, is_rows_spec);
  if (rows && paths.size() != 1)
    throw OptionError(fmt::format("predict: rows and arrays are given alone: {}", kRowSpecs));
  json result = rows ? predict_rows(trained, paths[0], top) : predict_pictures(trained, paths, top);
  if (out != nullptr) tell(result, *out);
  return result;
}

}  // namespace stoker::jobs
