#include <stoker/history.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/error.h>

namespace stoker {

namespace {

class FixedLogs : public LogSource {
 public:
  explicit FixedLogs(const std::vector<std::pair<std::string, double>>& values) {
    for (const auto& [name, value] : values) {
      names_.push_back(name);
      values_.push_back(value);
    }
  }
  const std::vector<std::string>& names() const override { return names_; }
  double read(size_t index) const override { return values_[index]; }

 private:
  std::vector<std::string> names_;
  std::vector<double> values_;
};

size_t index_of(const char* where, const std::vector<std::string>& names, std::string_view name) {
  auto found = std::ranges::find(names, name);
  if (found == names.end())
    throw ValueError(
        fmt::format("{}: there is no \"{}\"; there are: {}", where, name,
                    names.empty() ? "none yet" : fmt::format("{}", fmt::join(names, ", "))));
  return size_t(found - names.begin());
}

}  // namespace

Logs::Logs(std::vector<std::pair<std::string, double>> values)
    : source_(std::make_shared<FixedLogs>(values)) {}

const std::vector<std::string>& Logs::names() const {
  static const std::vector<std::string> none;
  return source_ ? source_->names() : none;
}

double Logs::operator[](std::string_view name) const {
  return source_->read(index_of("logs", names(), name));
}

bool Logs::has(std::string_view name) const {
  return std::ranges::find(names(), name) != names().end();
}

Logs Logs::snapshot() const {
  std::vector<std::pair<std::string, double>> values;
  for (size_t i = 0; i < size(); ++i) values.emplace_back(names()[i], value(i));
  return Logs(std::move(values));
}

std::string to_string(const Logs& logs) {
  std::string text;
  for (size_t i = 0; i < logs.size(); ++i) {
    double value = logs.value(i);
    bool tiny = value != 0 && std::abs(value) < 1e-3;
    text += fmt::format("{}{} {}", i ? "  " : "", logs.names()[i],
                        tiny ? fmt::format("{:.4e}", value) : fmt::format("{:.4f}", value));
  }
  return text;
}

const std::vector<double>& History::operator[](std::string_view name) const {
  return values_[index_of("history", names_, name)];
}

bool History::has(std::string_view name) const {
  return std::ranges::find(names_, name) != names_.end();
}

void History::append(int64_t epoch, const Logs& logs) {
  epochs_.push_back(epoch);
  for (size_t i = 0; i < logs.size(); ++i) {
    auto known = std::ranges::find(names_, logs.names()[i]);
    size_t index = size_t(known - names_.begin());
    if (known == names_.end()) {
      names_.push_back(logs.names()[i]);
      values_.emplace_back();
    }
    values_[index].push_back(logs.value(i));
  }
}

void History::restore(std::vector<int64_t> epochs, std::vector<std::string> names,
                      std::vector<std::vector<double>> values) {
  if (names.size() != values.size())
    throw ValueError(
        fmt::format("history: {} names, but {} lists of values", names.size(), values.size()));
  for (size_t i = 0; i < names.size(); ++i)
    if (values[i].size() > epochs.size())
      throw ValueError(fmt::format("history: \"{}\" has {} values in {} epochs", names[i],
                                   values[i].size(), epochs.size()));
  epochs_ = std::move(epochs);
  names_ = std::move(names);
  values_ = std::move(values);
}

}  // namespace stoker
