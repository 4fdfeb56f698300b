#include "jobs/data_spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "jobs/data_kinds.h"

namespace stoker::jobs {

namespace {

constexpr uint64_t kSplitSeed = 0x5eed;  // any fixed number: the same pictures validate every time
constexpr ImageSize kDefaultSize = {96, 96};

void expect_examples(const data::Dataset& elements, const std::string& text) {
  const data::ElementSpec& spec = elements.spec();
  bool row = !spec.empty() && spec[0].shape.rank() == 1 && spec[0].dtype == DType::float32 &&
             spec[0].shape.is_known();
  bool picture = !spec.empty() && (spec[0].dtype == DType::bytes || spec[0].shape.rank() == 3);
  bool label = spec.size() == 2 && (spec[1].shape.rank() == 0 ||
                                    (spec[1].dtype == DType::float32 && spec[1].shape.is_known()));
  if (!label || !(picture || row))
    throw ValueError(fmt::format(
        "data \"{}\": expected elements (picture, label) with the picture as bytes[] or [height, "
        "width, channels], or rows of float32 [columns], got {}",
        text, data::to_string(spec)));
}

// A part of the data becomes the validation set, drawn once and for all.
void split(const Job& job, OpenedData& opened) {
  data::Cardinality count = opened.train->cardinality();
  if (job.validation_split == 0 || !opened.train->random_access() || !count.known()) return;
  auto held = int64_t(double(*count.count) * job.validation_split);
  if (held == 0 || held == *count.count) return;
  data::Dataset drawn = opened.train->shuffle({.seed = kSplitSeed, .reshuffle_each_epoch = false});
  opened.validation = drawn.take(held);
  opened.train = drawn.skip(held);
}

std::string counted(const std::optional<data::Dataset>& dataset) {
  if (!dataset) return "none";
  data::Cardinality count = dataset->cardinality();
  return count.known() ? fmt::format("{}", *count.count) : "an unknown number";
}

TensorSpec picture_spec(const Job& job, const Examples& examples) {
  const TensorSpec& stored = examples.elements.spec()[0];
  if (examples.encoded()) {
    ImageSize size = job.image_size.value_or(kDefaultSize);
    return {DType::uint8, {size.height, size.width, 3}};
  }
  Shape shape = stored.shape;
  if (examples.table()) {
    if (job.augment) throw OptionError("augment: the data is a table; only pictures are augmented");
    if (job.image_size) throw OptionError("image_size: the data is a table, without pictures");
    return stored;
  }
  if (job.image_size) shape = {job.image_size->height, job.image_size->width, shape[2]};
  if (!shape.is_known())
    throw ValueError(
        fmt::format("pictures are {}, of different sizes: give image_size", to_string(stored)));
  return {stored.dtype, shape};
}

// Validation pictures are resized when the job names a size, never on their own account.
void check_validation(const Job& job, const JobData& data) {
  if (!data.validation) return;
  const TensorSpec& stored = data.validation->elements.spec()[0];
  const Shape& wanted = data.picture.shape;
  if (data.train.table() || data.validation->table()) {
    if (stored == data.picture) return;
    throw ValueError(fmt::format("rows to validate with are {}, those to train on {}",
                                 to_string(stored), to_string(data.picture)));
  }
  int64_t channels = data.validation->encoded() ? 3 : stored.shape[2];
  bool same_size = data.validation->encoded() || job.image_size ||
                   (stored.shape[0] == wanted[0] && stored.shape[1] == wanted[1]);
  if (!same_size)
    throw ValueError(fmt::format(
        "pictures to validate with are {}, those to train on {}; give image_size to resize both",
        to_string(stored), to_string(data.picture)));
  if (channels != wanted[2])
    throw ValueError(
        fmt::format("pictures to validate with have {} channels, those to train on {}; convert "
                    "them",
                    channels, wanted[2]));
}

// What makes a stored picture one for the model.
std::optional<image::Op> fitted(const JobData& data, const Examples& examples) {
  if (examples.table()) return std::nullopt;
  int64_t height = data.picture.shape[0], width = data.picture.shape[1];
  image::Op resize = image::resize(height, width, {.antialias = true});
  if (examples.encoded()) return image::decode_image() | resize;
  if (examples.elements.spec()[0].shape == data.picture.shape) return std::nullopt;
  return resize;
}

// Crops of half the area and more; grey pictures (digits, scans) are only shifted: a mirrored 2 is
// no 2.
image::Op augmented(const JobData& data, const Examples& examples) {
  int64_t height = data.picture.shape[0], width = data.picture.shape[1];
  bool grey = data.picture.shape[2] == 1;
  if (grey || !examples.encoded()) {
    image::Op shifted =
        image::random_crop(height, width, {.padding = std::max<int64_t>(1, height / 12)});
    if (std::optional<image::Op> fit = fitted(data, examples)) shifted = *fit | shifted;
    return grey ? shifted : shifted | image::random_flip_left_right();
  }
  return image::decode_image() | image::random_resized_crop(height, width, {.scale = {0.5, 1}}) |
         image::random_flip_left_right();
}

data::Dataset mapped(const data::Dataset& elements, const std::optional<image::Op>& op) {
  return op ? elements.map(*op, {.name = "pictures"}) : elements;
}

data::DatasetOptions options_of(const Job& job, const char* name) {
  return {.name = name, .seed = job.seed, .as_written = job.as_written};
}

}  // namespace

JobData open_data(const Job& job, const DataNames& known) {
  if (job.data.empty()) throw OptionError(fmt::format("no data; give {}", kDataSpecs));
  OpenedData opened = open_spec(job, job.data, known);
  expect_examples(*opened.train, job.data);
  if (!job.validation_data.empty()) {
    OpenedData other = open_spec(job, job.validation_data, opened.names);
    opened.validation = other.validation ? other.validation : other.train;
    expect_examples(*opened.validation, job.validation_data);
  } else if (!opened.validation) {
    split(job, opened);
  }
  bool numbers = opened.train->spec()[1].dtype == DType::float32;
  if (job.classes && numbers)
    throw OptionError("classes: the data has none, numbers are predicted");
  if (job.classes) opened.classes = *job.classes;
  if (opened.classes < 2 && !numbers)
    throw ValueError(fmt::format(
        "data \"{}\": {}; give classes", job.data,
        opened.classes == 1 ? "holds one class only" : "does not say how many classes it has"));
  JobData data{
      .train = {*opened.train}, .classes = opened.classes, .names = std::move(opened.names)};
  if (opened.validation) data.validation = Examples{*opened.validation};
  data.picture = picture_spec(job, data.train);
  check_validation(job, data);
  std::string of = numbers ? "" : fmt::format(" of {} classes", data.classes);
  data.text = fmt::format("{} to train on, {} to validate with, {}{}{}", counted(opened.train),
                          counted(opened.validation), to_string(data.picture), of, opened.text);
  return data;
}

Outputs JobData::outputs() const {
  if (classes > 0) return {.count = classes};
  return {.count = train.elements.spec()[1].shape.elements(), .classes = false};
}

Job fitted_job(Job job, const Outputs& outputs) {
  if (outputs.classes) return job;
  const Job usual;
  if (job.loss == usual.loss) job.loss = "mean_squared_error";
  if (job.metrics == usual.metrics) job.metrics = "mean_absolute_error";
  return job;
}

data::Dataset training_batches(const Job& job, const JobData& data, int64_t batch) {
  constexpr int64_t kWindow = 10'000;  // of streams, which cannot be shuffled as a whole
  const data::Dataset& source = data.train.elements;
  data::Dataset shuffled = source.random_access() ? source.shuffle() : source.shuffle(kWindow);
  std::optional<image::Op> op =
      job.augment ? augmented(data, data.train) : fitted(data, data.train);
  return mapped(shuffled, op).batch(batch).with_options(options_of(job, "train"));
}

data::Dataset plain_elements(const JobData& data, const Examples& examples) {
  return mapped(examples.elements, fitted(data, examples));
}

data::Dataset plain_batches(const Job& job, const JobData& data, const Examples& examples,
                            int64_t batch) {
  return plain_elements(data, examples).batch(batch).with_options(options_of(job, "validation"));
}

}  // namespace stoker::jobs
