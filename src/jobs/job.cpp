#include "jobs/job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/error.h>

#include "formats/json.h"
#include "jobs/data_kinds.h"

namespace stoker::jobs {

namespace {

using nlohmann::json;

[[noreturn]] void expected(const char* what, const json& got) {
  throw ValueError(fmt::format("expected {}, got {}", what,
                               got.dump(-1, ' ', false, json::error_handler_t::replace)));
}

void read(const json& from, std::string& to) {
  if (!from.is_string()) expected("text", from);
  to = from.get<std::string>();
}
void read(const json& from, bool& to) {
  if (!from.is_boolean()) expected("true or false", from);
  to = from.get<bool>();
}
void read(const json& from, int64_t& to) {
  bool too_large = from.is_number_unsigned() && from.get<uint64_t>() > uint64_t(INT64_MAX);
  if (!from.is_number_integer() || too_large) expected("a whole number", from);
  to = from.get<int64_t>();
}
void read(const json& from, uint64_t& to) {
  if (!from.is_number_integer() || (!from.is_number_unsigned() && from.get<int64_t>() < 0))
    expected("a whole number from 0 on", from);
  to = from.get<uint64_t>();
}
void read(const json& from, double& to) {
  if (!from.is_number()) expected("a number", from);
  to = from.get<double>();
}
void read(const json& from, BatchChoice& to) {
  if (from == "auto") {
    to = {0};
    return;
  }
  if (!from.is_number_integer() || from.get<int64_t>() < 1)
    expected("a number from 1 on, or \"auto\"", from);
  to = {from.get<int64_t>()};
}
void read(const json& from, ImageSize& to) {
  constexpr const char* kForm = "a size as 224 or \"160x120\" (height x width), from 1 to 16384";
  constexpr int64_t kLargest = 16384;
  if (from.is_number_integer()) {
    to = {from.get<int64_t>(), from.get<int64_t>()};
  } else if (from.is_string()) {
    const std::string text = from.get<std::string>();
    int end = 0;
    ImageSize size;
    // NOLINTNEXTLINE(cert-err34-c): the range is checked below
    if (std::sscanf(text.c_str(), "%5ldx%5ld%n", &size.height, &size.width, &end) != 2 ||
        size_t(end) != text.size())
      expected(kForm, from);
    to = size;
  } else {
    expected(kForm, from);
  }
  if (to.height < 1 || to.width < 1 || to.height > kLargest || to.width > kLargest)
    expected(kForm, from);
}
void read(const json& from, ProfiledSteps& to) {
  constexpr const char* kForm = "a step as 100 or steps as \"100-120\", counted from 1";
  if (from.is_number_integer()) {
    to = {from.get<int64_t>(), from.get<int64_t>()};
  } else if (from.is_string()) {
    const std::string text = from.get<std::string>();
    int end = 0;
    // NOLINTNEXTLINE(cert-err34-c): the range is checked below
    if (std::sscanf(text.c_str(), "%18ld-%18ld%n", &to.first, &to.last, &end) != 2 ||
        size_t(end) != text.size())
      expected(kForm, from);
  } else {
    expected(kForm, from);
  }
  if (to.first < 1 || to.last < to.first) expected(kForm, from);
}
template <class T>
void read(const json& from, std::optional<T>& to) {
  if (from.is_null()) return to.reset();
  T value{};
  read(from, value);
  to = value;
}

template <class T>
json written(const T& value) {
  return value;
}
json written(const BatchChoice& batch) { return batch.size == 0 ? json("auto") : json(batch.size); }
json written(const ImageSize& size) {
  if (size.height == size.width) return size.height;
  return fmt::format("{}x{}", size.height, size.width);
}
json written(const ProfiledSteps& steps) {
  if (steps.first == steps.last) return steps.first;
  return fmt::format("{}-{}", steps.first, steps.last);
}
template <class T>
json written(const std::optional<T>& value) {
  return value ? written(*value) : json();
}

template <auto Member>
constexpr JobField field(const char* name, const char* value, const char* meaning,
                         const char* group) {
  using Type = std::remove_cvref_t<decltype(std::declval<Job>().*Member)>;
  return {.name = name,
          .value = value,
          .meaning = meaning,
          .group = group,
          .set = [](Job& job, const json& from) { read(from, job.*Member); },
          .get = [](const Job& job) { return written(job.*Member); },
          .text = std::is_same_v<Type, std::string>};
}

constexpr const char* kData = "Data";
constexpr const char* kTraining = "Training";
constexpr const char* kMachine = "Machine";
constexpr const char* kOutput = "Output";

constexpr JobField kFields[] = {
    field<&Job::data>("data", "SPEC", kDataSpecs, kData),
    field<&Job::validation_data>("validation_data", "SPEC", "another data spec to validate with",
                                 kData),
    field<&Job::validation_split>(
        "validation_split", "SHARE",
        "of data without a validation set of its own, taken by a fixed draw", kData),
    field<&Job::image_size>("image_size", "N|HxW",
                            "what images are resized to (files: 96; arrays: as they are)", kData),
    field<&Job::classes>("classes", "N", "how many, where the data does not say it", kData),
    field<&Job::image_feature>("image_feature", "NAME", "of a tf.Example, encoded images", kData),
    field<&Job::label_feature>("label_feature", "NAME", "of a tf.Example, integers", kData),
    field<&Job::label_column>("label_column", "NAME",
                              "of a table; none: label, target or class, or the last one", kData),
    field<&Job::columns>("columns", "A,B,…", "of a table, to learn from; none: all", kData),
    field<&Job::missing>("missing", "VALUE", "for empty fields of a table; none: an error", kData),
    field<&Job::na_values>("na_values", "A,B,…", "fields of a table that count as empty: NA,?",
                           kData),
    field<&Job::delimiter>("delimiter", "C|tab",
                           "between fields; none: a comma, a tab in .tsv files", kData),
    field<&Job::no_header>("no_header", "",
                           "the first line of a table is a row; columns are 0, 1, …", kData),
    field<&Job::augment>("augment", "", "random crops, and flips of colour images", kData),

    field<&Job::model>("model", "NAME|FILE",
                       "mlp, lenet, cnn, resnet18, … EfficientNetB0 as in Keras, or FILE.stoker",
                       kTraining),
    field<&Job::epochs>("epochs", "N", "times through the data", kTraining),
    field<&Job::steps_per_epoch>("steps_per_epoch", "N", "fewer steps than the data has",
                                 kTraining),
    field<&Job::batch>("batch", "N|auto", "samples per step; auto: the fastest, measured",
                       kTraining),
    field<&Job::on_out_of_memory>("on_out_of_memory", "fail|halve",
                                  "halve: batches that do not fit run in parts", kTraining),
    field<&Job::loss>("loss", "NAME", "as Keras names it; for numbers mse, mae, …", kTraining),
    field<&Job::metrics>("metrics", "NAMES",
                         "as Keras names them: accuracy,sparse_top_k_categorical_accuracy, …",
                         kTraining),
    field<&Job::optimizer>("optimizer", "NAME", "as Keras names it: sgd, adam, adamw, rmsprop, …",
                           kTraining),
    field<&Job::learning_rate>("learning_rate", "RATE", "none: the optimiser's own", kTraining),
    field<&Job::schedule>("schedule", "NAME", "cosine: to 0 at the last step; constant", kTraining),
    field<&Job::warmup_epochs>("warmup_epochs", "N", "in which the rate rises from 0", kTraining),
    field<&Job::momentum>("momentum", "SHARE", "of sgd and rmsprop", kTraining),
    field<&Job::weight_decay>("weight_decay", "RATE", "decoupled from the gradient", kTraining),

    field<&Job::seed>("seed", "N", "the same seed gives the same weights, to the last bit",
                      kMachine),
    field<&Job::device>("device", "NAME", "auto (a GPU where there is one), cpu, cuda, cuda:N",
                        kMachine),
    field<&Job::devices>("devices", "all|N|cpu:N",
                         "train on several: all GPUs, so many, or so many parts of the CPU",
                         kMachine),
    field<&Job::deterministic_shards>(
        "deterministic_shards", "N",
        "the same bits on any number of ranks that divides N; 0: off; CPUs", kMachine),
    field<&Job::shard_optimizer>(
        "shard_optimizer", "",
        "each rank keeps the optimiser's state of its share of the weights: less memory", kMachine),
    field<&Job::timeout>("timeout", "SECONDS", "that ranks wait for one that does not come",
                         kMachine),
    field<&Job::precision>("precision", "POLICY", "float32, mixed_bfloat16, mixed_float16",
                           kMachine),
    field<&Job::memory_limit>("memory_limit", "BYTES", "that may be held; 0: all there are",
                              kMachine),
    field<&Job::threads>("threads", "N", "that compute; 0: chosen", kMachine),
    field<&Job::pipeline_threads>("pipeline_threads", "N", "that make batches; 0: chosen",
                                  kMachine),
    field<&Job::as_written>("as_written", "",
                            "run the input pipeline without any of Stoker's repairs", kMachine),
    field<&Job::unmapped>("unmapped", "",
                          "read shards instead of mapping them: they may change under the run",
                          kMachine),

    field<&Job::out>("out", "DIR", "where the model, checkpoints, figures and logs go", kOutput),
    field<&Job::resume>("resume", "auto|never", "auto: go on with what --out holds", kOutput),
    field<&Job::allow_differences>("allow_differences", "",
                                   "go on although settings or data differ from those of --out",
                                   kOutput),
    field<&Job::checkpoint_steps>("checkpoint_steps", "N", "between checkpoints; 0: one per epoch",
                                  kOutput),
    field<&Job::profile>("profile", "N|A-B", "steps to profile, for TensorBoard and Perfetto",
                         kOutput),
    field<&Job::verbose>("verbose", "0|1|2", "silent, progress, one line per epoch", kOutput),
};

const JobField& field_of(std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(std::size(kFields));
  for (const JobField& field : kFields) {
    if (field.name == name) return field;
    names.push_back(field.name);
  }
  throw ValueError(fmt::format("unknown key \"{}\"; there are {}", name, fmt::join(names, ", ")));
}

void set(Job& job, const JobField& field, const json& value) {
  try {
    field.set(job, value);
  } catch (const ValueError& error) {
    throw ValueError(fmt::format("{}: {}", field.name, error.what()));
  }
}

}  // namespace

std::span<const JobField> job_fields() { return kFields; }

void set_field(Job& job, std::string_view name, const std::string& text) {
  const JobField& field = field_of(name);
  json value = field.text ? json(text) : try_parse_json(text);
  as_option([&] { set(job, field, value.is_discarded() ? json(text) : value); });
}

void update_job(Job& job, const json& keys) {
  if (!keys.is_object()) throw ValueError("a job is a table of keys and values");
  for (const auto& [name, value] : keys.items()) set(job, field_of(name), value);
}

json to_json(const Job& job) {
  json keys = json::object();
  for (const JobField& field : kFields)
    if (json value = field.get(job); !value.is_null() && value != json(""))
      keys[std::string(field.name)] = std::move(value);
  return keys;
}

}  // namespace stoker::jobs
