#include "jobs/data_kinds.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <stoker/idx.h>

#include "jobs/table_data.h"

namespace stoker::jobs {

namespace {

namespace fs = std::filesystem;

// The first of `names` that is a folder in `place`; empty: none.
std::string folder_in(const std::string& place, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (fs::is_directory(fs::path(place) / name)) return (fs::path(place) / name).string();
  return "";
}
std::string training_folder(const std::string& place) { return folder_in(place, {"train"}); }
std::string validation_folder(const std::string& place) {
  return folder_in(place, {"val", "validation", "valid", "test"});
}

void expect_folder(const std::string& place) {
  if (!fs::exists(place)) throw FileError(place + ": there is no such folder");
  if (!fs::is_directory(place)) throw FileError(place + ": not a folder");
}

OpenedData open_folder(const std::string& place) {
  expect_folder(place);
  std::string train = training_folder(place), validation = validation_folder(place);
  OpenedData opened;
  opened.names.classes = data::class_names(train.empty() ? place : train);
  opened.classes = int64_t(opened.names.classes.size());
  data::ImageFolderOptions options{.class_names = opened.names.classes};
  opened.train = data::image_folder(train.empty() ? place : train, options);
  if (!train.empty() && !validation.empty())
    opened.validation = data::image_folder(validation, options);
  return opened;
}

std::string idx_file(const std::string& folder, const std::string& name) {
  std::string path = folder + "/" + name;
  for (const std::string& candidate : {path, path + ".gz"})
    if (fs::exists(candidate)) return candidate;
  throw FileError(
      fmt::format("{}: neither it nor {}.gz is there; idx:DIR wants MNIST's names", path, name));
}

struct Labelled {
  Tensor pictures, labels;  // [N, H, W, C], [N]
};

Labelled load_arrays(const std::string& folder, const std::string& prefix) {
  std::string path = idx_file(folder, prefix + "-images-idx3-ubyte");
  Labelled arrays{load_idx(path), load_idx(idx_file(folder, prefix + "-labels-idx1-ubyte"))};
  const Shape& shape = arrays.pictures.shape();
  if (shape.rank() != 3 || arrays.pictures.dtype() != DType::uint8)
    throw FileError(fmt::format("{}: expected uint8 [count, rows, columns], got {}", path,
                                to_string(arrays.pictures.spec())));
  if (arrays.labels.shape().rank() != 1 || arrays.labels.dtype() != DType::uint8 ||
      arrays.labels.shape()[0] != shape[0])
    throw FileError(fmt::format("{}: {} pictures, but labels {}", path, shape[0],
                                to_string(arrays.labels.spec())));
  arrays.pictures = arrays.pictures.reshape({shape[0], shape[1], shape[2], 1});
  return arrays;
}

int64_t largest(const Tensor& labels) {
  auto values = labels.values<uint8_t>();
  return values.empty() ? -1 : int64_t(*std::max_element(values.begin(), values.end()));
}

OpenedData open_idx(const Job&, const std::string& place, const DataNames&) {
  expect_folder(place);
  Labelled train = load_arrays(place, "train");
  OpenedData opened;
  opened.classes = largest(train.labels) + 1;
  opened.train = data::from_slices({train.pictures, train.labels});
  bool has_test = fs::exists(place + "/t10k-images-idx3-ubyte") ||
                  fs::exists(place + "/t10k-images-idx3-ubyte.gz");
  if (has_test) {
    Labelled test = load_arrays(place, "t10k");
    opened.validation = data::from_slices({test.pictures, test.labels});
  }
  return opened;
}

OpenedData open_shards(const Job& job, const std::string& place, const DataNames&) {
  expect_folder(place);
  OpenedData opened;
  std::string train = training_folder(place), validation = validation_folder(place);
  data::LoadOptions options{.map = !job.unmapped};
  opened.train = data::load(train.empty() ? place : train, options);
  if (!train.empty() && !validation.empty()) opened.validation = data::load(validation, options);
  opened.names = read_names(place);
  opened.classes = int64_t(opened.names.classes.size());
  return opened;
}

OpenedData open_tfrecord(const Job& job, const std::string& glob, const DataNames&) {
  std::vector<std::string> paths;
  for (const Batch& path : data::files(glob)) paths.push_back(*path[0].data<std::string>());
  if (paths.empty()) throw FileError(glob + ": no file matches");
  OpenedData opened;
  opened.train = data::tfrecord(paths).map(data::parse_example(
      {{job.image_feature, {DType::bytes, {}}}, {job.label_feature, {DType::int64, {}}}}));
  return opened;
}

template <Table (*open)(const Job&, const std::string&, const DataNames&)>
OpenedData open_table(const Job& job, const std::string& glob, const DataNames& known) {
  Table table = open(job, glob, known);
  return {.train = std::move(table.rows),
          .validation = {},
          .classes = table.classes,
          .names = std::move(table.names),
          .text = ", " + table.text};
}

template <LabelledArrays (*open)(const Job&, const std::string&)>
OpenedData open_arrays(const Job& job, const std::string& place, const DataNames&) {
  LabelledArrays arrays = open(job, place);
  return {.train = std::move(arrays.train),
          .validation = std::move(arrays.validation),
          .classes = arrays.classes,
          .names = {},
          .text = {}};
}

template <Tensor (*load)(const std::string&)>
data::Dataset array_rows(const Job&, const std::string& path, const DataNames&) {
  return data::from_slices({load(path)});
}

using RowsOf = data::Dataset (*)(const Job& job, const std::string& place, const DataNames& known);

struct DataKind {
  std::string_view prefix;  // of a spec
  OpenedData (*open)(const Job& job, const std::string& place, const DataNames& known);
  // None: nothing is predicted from it. Optional, because GCC 12 compares addresses of functions at
  // run time under its sanitizers.
  std::optional<RowsOf> rows = {};
  bool needs_columns = false;  // rows: the columns of the model
};
constexpr DataKind kDataKinds[] = {
    {"idx:", open_idx},
    {"shards:", open_shards},
    {"tfrecord:", open_tfrecord},
    {"csv:", open_table<open_csv>, csv_rows, true},
    {"svmlight:", open_table<open_svmlight>, svmlight_rows, true},
    {"npz:", open_arrays<open_npz>, array_rows<npz_inputs>},
    {"npy:", open_arrays<open_npy>, array_rows<npy_inputs>},
};
constexpr bool names(std::string_view text, const DataKind& kind) {
  return text.find(kind.prefix) != std::string_view::npos;
}
static_assert(std::ranges::all_of(kDataKinds, [](const DataKind& kind) {
  return names(kDataSpecs, kind) && names(kRowSpecs, kind) == kind.rows.has_value();
}));

// Null: none.
const DataKind* kind_of(const std::string& spec) {
  for (const DataKind& kind : kDataKinds)
    if (spec.starts_with(kind.prefix)) return &kind;
  return nullptr;
}

}  // namespace

OpenedData open_spec(const Job& job, const std::string& spec, const DataNames& known) {
  if (const DataKind* kind = kind_of(spec))
    return kind->open(job, spec.substr(kind->prefix.size()), known);
  size_t colon = spec.find(':');
  if (colon != std::string::npos && !fs::exists(spec))
    throw OptionError(fmt::format("data \"{}\": unknown kind \"{}\"; a spec is {}", spec,
                                  spec.substr(0, colon), kDataSpecs));
  return open_folder(spec);
}

bool is_rows_spec(const std::string& spec) {
  const DataKind* kind = kind_of(spec);
  return kind != nullptr && kind->rows.has_value();
}

data::Dataset open_rows(const Job& job, const std::string& spec, const DataNames& known,
                        const std::string& model) {
  const DataKind* kind = kind_of(spec);
  if (kind == nullptr || !kind->rows)
    throw OptionError(fmt::format("\"{}\" is not {}", spec, kRowSpecs));
  if (kind->needs_columns && known.columns.empty())
    throw FileError(fmt::format(
        "{}: there is no columns.json beside it, which says what columns the model takes; train "
        "again with --out",
        model));
  return (*kind->rows)(job, spec.substr(kind->prefix.size()), known);
}

}  // namespace stoker::jobs
