// A training job as data: everything `stoker train` needs to know, with its defaults. Every member
// is one row of job_fields(): a key of job files, an option of the command line and a line of the
// help come from there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/error.h>
#include <nlohmann/json_fwd.hpp>

namespace stoker::jobs {

// What an option says cannot be, whatever is in the files that it names. The program ends with status 2.
class OptionError : public ValueError {
 public:
  using ValueError::ValueError;
};
// Runs `read`, whose ValueErrors are about the value of an option.
template <class Read>
decltype(auto) as_option(Read&& read) {
  try {
    return read();
  } catch (const ValueError& error) {
    throw OptionError(error.what());
  }
}

// Samples in a step; 0: chosen (stoker/auto_batch.h), written "auto".
struct BatchChoice {
  int64_t size = 0;
  friend bool operator==(const BatchChoice&, const BatchChoice&) = default;
};

// Height and width, written 224 or "160x120".
struct ImageSize {
  int64_t height = 0, width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// Steps of the training, counted from 1, written 100 or "100-120".
struct ProfiledSteps {
  int64_t first = 0, last = 0;
  friend bool operator==(const ProfiledSteps&, const ProfiledSteps&) = default;
};

struct Job {
  std::string data = "";                     // a data spec: data_spec.h
  std::string validation_data = "";          // another; none: what the data brings, or a part of it
  double validation_split = 0.2;             // of data that brings no validation set of its own
  std::optional<ImageSize> image_size = {};  // none: as it is, 96×96 for files of pictures
  std::optional<int64_t> classes = {};       // none: what the data says
  std::string image_feature = "image/encoded", label_feature = "image/class/label";  // tfrecord
  std::string label_column = "";  // of a table; none: label, target or class, or the last one
  std::string columns = "";       // of a table, with commas between them; none: all
  std::string missing = "";       // stands for missing numbers of a table; none: they are an error
  std::string na_values = "";     // mean a missing value, with commas between them
  std::string delimiter = "";     // of a table; none: a comma, in .tsv files a tab
  bool no_header = false;         // a table's first line is a row; columns are "0", "1", …
  bool augment = false;

  std::string model = "cnn";  // a name of stoker/applications.h, or a .stoker file
  std::string loss = "sparse_categorical_crossentropy";  // of class ids, by Keras's name
  std::string metrics = "accuracy";                      // names, with commas between them
  std::string optimizer = "adam";
  std::optional<double> learning_rate = {};  // none: the optimiser's
  std::string schedule = "cosine";           // of the rate: to 0 at the last step; or "constant"
  double warmup_epochs = 0;                  // in which it rises from 0
  double momentum = 0.0;                     // sgd, rmsprop
  std::optional<double> weight_decay = {};
  BatchChoice batch = {32};
  std::string on_out_of_memory = "fail";  // "halve": batches run in parts that fit
  int64_t epochs = 10;
  std::optional<int64_t> steps_per_epoch = {};

  std::optional<uint64_t> seed = {};  // none: drawn
  std::string device = "auto";
  int64_t deterministic_shards =
      0;                         // above 0: the same bits on any number of devices that divides it
  bool shard_optimizer = false;  // replicas share its state instead of each keeping all of it
  double timeout = 300;          // seconds that a rank waits for the others
  std::string devices = "";      // of a data-parallel training: strategy_of.h; none: one
  std::string precision = "float32";
  int64_t memory_limit = 0;                   // bytes that may be held; 0: all there are
  int64_t threads = 0, pipeline_threads = 0;  // 0: chosen
  bool as_written = false;                    // the input pipeline without its repairs
  bool unmapped = false;                      // shards are read, not mapped into memory

  std::string out = "";
  std::string resume = "never";               // "auto": go on with the checkpoints that `out` holds
  bool allow_differences = false;             // go on although the run was another; not kept
  int64_t checkpoint_steps = 0;               // between checkpoints; 0: one per epoch
  std::optional<ProfiledSteps> profile = {};  // into out/tensorboard; none: no profile
  int64_t verbose = 1;

  friend bool operator==(const Job&, const Job&) = default;
};

struct JobField {
  std::string_view name;     // "learning_rate"; --learning-rate
  std::string_view value;    // what is written: "N", "DIR"; empty: a flag
  std::string_view meaning;  // a line for people
  std::string_view group;    // of the help
  // ValueError, without the field's name, for a value that cannot be.
  void (*set)(Job&, const nlohmann::json&);
  nlohmann::json (*get)(const Job&);  // null: none
  bool text;                          // whether the value is a string whatever it looks like
};
std::span<const JobField> job_fields();

// `text` as it stands on a command line. ValueError names the field.
void set_field(Job& job, std::string_view name, const std::string& text);

// ValueError for an unknown key, which lists the known ones, and for a value that cannot be.
void update_job(Job& job, const nlohmann::json& keys);
nlohmann::json to_json(const Job& job);

// A .json or .toml file, over the defaults. Errors begin with the path; those of the format have
// line and column.
Job read_job(const std::string& path);
// The same from text.
Job parse_job_json(std::string_view text);
Job parse_job_toml(std::string_view text);  // Error where Stoker was built without TOML

// Values that are wrong by themselves or together: OptionError.
void check_job(const Job& job);

}  // namespace stoker::jobs
