// What training reports: Logs, the numbers of one moment, and History, their course over the
// epochs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker {

// Where live Logs come from. read() may wait for the device.
class LogSource {
 public:
  virtual ~LogSource() = default;
  virtual const std::vector<std::string>& names() const = 0;
  virtual double read(size_t index) const = 0;
};

// Loss and metrics by name, in the order loss, losses of single outputs, metrics. Live ones are
// read from the device on access and show its current value: the mean since the epoch began (or
// since reset_metrics()). Cheap to copy.
class Logs {
 public:
  Logs() = default;  // empty
  explicit Logs(std::shared_ptr<const LogSource> source) : source_(std::move(source)) {}
  explicit Logs(std::vector<std::pair<std::string, double>> values);

  double operator[](std::string_view name) const;  // ValueError lists the names
  bool has(std::string_view name) const;
  size_t size() const { return names().size(); }
  const std::vector<std::string>& names() const;
  double value(size_t index) const { return source_->read(index); }
  // All values, read now and fixed.
  Logs snapshot() const;

 private:
  std::shared_ptr<const LogSource> source_;
};

std::string to_string(const Logs& logs);  // "loss 0.1432  accuracy 0.9561"

// One value per epoch for every name: history["val_accuracy"].
class History {
 public:
  struct Params {
    int64_t epochs = 0;      // requested
    int64_t steps = -1;      // per epoch; -1: not known
    int64_t batch_size = 0;  // 0: the batches decide
  };
  // An epoch in which the device waited, rather than computed, for more than 10 % of the time.
  struct Waited {
    int64_t epoch = 0;
    std::string limit = {};  // what for: "input", "copy", "launch", "sync", …
    double share = 0;        // of the epoch's steps
  };

  const std::vector<double>& operator[](std::string_view name) const;  // ValueError lists the names
  bool has(std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<int64_t>& epochs() const { return epochs_; }  // that were finished, from 0
  const Params& params() const { return params_; }
  // Epochs of this fit that waited, as the doctor saw them; times are no part of a checkpoint.
  const std::vector<Waited>& waited() const { return waited_; }

  // For training loops.
  void begin(const Params& params) { params_ = params; }
  void append(int64_t epoch, const Logs& logs);
  void append(Waited waited) { waited_.push_back(std::move(waited)); }
  // What epochs(), names() and their lists were; ValueError when they do not fit together.
  void restore(std::vector<int64_t> epochs, std::vector<std::string> names,
               std::vector<std::vector<double>> values);

 private:
  Params params_;
  std::vector<int64_t> epochs_;
  std::vector<std::string> names_;
  std::vector<std::vector<double>> values_;  // one list per name
  std::vector<Waited> waited_;
};

}  // namespace stoker
