// ProgbarLogger: when to draw, and where the numbers come from.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/printable.h"
#include "train/callbacks/callback_support.h"
#include "train/fit/progress.h"
#include "train/fit/step_observer.h"
#include "train/model/metric_set.h"

namespace stoker {

namespace {

constexpr int64_t kDrawEvery = 100'000'000;  // nanoseconds
constexpr int64_t kReadEvery = 300'000'000;  // the device is waited for no more often than this

std::vector<std::string> numbers_of(const Logs& logs) {
  std::vector<std::string> numbers;
  numbers.reserve(logs.size());
  for (size_t i = 0; i < logs.size(); ++i)
    numbers.push_back(printable(to_string(Logs({{logs.names()[i], logs.value(i)}}))));
  return numbers;
}

// Of the epoch that has just ended; empty where it did not wait.
std::string waited(const History& history) {
  if (history.waited().empty() || history.epochs().empty()) return "";
  const History::Waited& last = history.waited().back();
  if (last.epoch != history.epochs().back()) return "";
  return fmt::format("limit: {} (the device waited {:.0f} %)", last.limit, 100 * last.share);
}

}  // namespace

struct ProgbarLogger::Impl {
  // What is walked over now: an epoch's training, a validation, an evaluation, a prediction.
  struct Walk {
    Progress shown;
    int64_t begin = 0, first_end = 0;  // of the first step, which may compile
    int64_t done = 0;                  // steps seen; a restored training begins inside an epoch
    int64_t drawn = 0, read = 0;
    bool live = false;
  };

  const Clock& clock = steady_clock();
  bool training = false;
  int64_t epoch = 0;
  Walk epoch_walk, test_walk;
  double epoch_seconds = 0;
  std::ostream* open = nullptr;  // holds a line that is not finished

  ~Impl() { close(); }

  Walk begin(const ProgbarLogger& self, std::string title, std::optional<int64_t> total) const {
    Walk walk;
    walk.shown.title = std::move(title);
    walk.shown.total = total;
    walk.begin = walk.drawn = walk.read = clock.now();
    std::ostream* out = trainer_of(self).context->out;
    walk.live = self.params().verbose == 1 && terminal_of(out).live;
    return walk;
  }

  void step(const ProgbarLogger& self, Walk& walk, int64_t batch, const Logs* logs,
            int64_t samples) {
    walk.shown.step = batch + 1;
    ++walk.done;
    if (!walk.live) return;
    int64_t now = clock.now();
    if (walk.done == 1) walk.first_end = now;
    if (now - walk.drawn < kDrawEvery) return;
    walk.drawn = now;
    measure(walk, now, samples);
    if (logs != nullptr && (walk.shown.numbers.empty() || now - walk.read >= kReadEvery)) {
      walk.shown.numbers = numbers_of(*logs);
      walk.read = clock.now();
    }
    const Trainer& trainer = trainer_of(self);
    if (trainer.observer != nullptr) walk.shown.status = trainer.observer->status();
    draw(trainer.context->out, walk.shown);
  }

  // The first step may have compiled a program, and says nothing about the others.
  static void measure(Walk& walk, int64_t now, int64_t samples) {
    int64_t steps = walk.done - 1;
    if (steps < 1) return;
    walk.shown.seconds_per_step = double(now - walk.first_end) * 1e-9 / double(steps);
    walk.shown.samples_per_second =
        double(samples) / double(walk.shown.step) / walk.shown.seconds_per_step;
  }

  void draw(std::ostream* out, const Progress& progress) {
    *out << kClearLine << live_line(progress, terminal_of(out)) << std::flush;
    open = out;
  }

  void close() {
    if (open != nullptr) *open << "\n" << std::flush;
    open = nullptr;
  }

  void finish(std::ostream* out, Walk& walk, double seconds, int64_t samples, const Logs& logs,
              const std::string& status = "") {
    walk.shown.seconds = seconds;
    walk.shown.seconds_per_step = walk.done > 0 ? seconds / double(walk.done) : 0;
    double seen =
        double(samples) * double(walk.done) / double(std::max<int64_t>(1, walk.shown.step));
    walk.shown.samples_per_second = seconds > 0 ? seen / seconds : 0;
    walk.shown.numbers = numbers_of(logs);
    walk.shown.status = status;
    *out << (open != nullptr ? kClearLine : "") << final_line(walk.shown) << "\n" << std::flush;
    open = nullptr;
  }

  double since(const Walk& walk) const { return double(clock.now() - walk.begin) * 1e-9; }
};

ProgbarLogger::ProgbarLogger() : impl_(std::make_unique<Impl>()) {}
ProgbarLogger::~ProgbarLogger() = default;
ProgbarLogger::ProgbarLogger(ProgbarLogger&&) noexcept = default;
ProgbarLogger& ProgbarLogger::operator=(ProgbarLogger&&) noexcept = default;

void ProgbarLogger::on_train_begin() { impl_->training = true; }
void ProgbarLogger::on_train_end(const Logs&) {
  impl_->training = false;
  impl_->close();
  const Trainer& trainer = trainer_of(*this);
  if (params().verbose <= 0 || trainer.context->out == nullptr || trainer.observer == nullptr)
    return;
  std::string advice = printable(trainer.observer->advice());
  if (!advice.empty()) *trainer.context->out << advice << "\n" << std::flush;
}

void ProgbarLogger::on_epoch_begin(int64_t epoch) {
  impl_->epoch = epoch;
  impl_->epoch_seconds = -1;
  impl_->epoch_walk =
      impl_->begin(*this, fmt::format("Epoch {}/{}", epoch + 1, params().epochs), params().steps);
}

void ProgbarLogger::on_train_batch_end(int64_t batch, const Logs& logs) {
  impl_->step(*this, impl_->epoch_walk, batch, &logs,
              trainer_of(*this).compiled->training->samples());
}

void ProgbarLogger::on_epoch_end(int64_t, const Logs& logs) {
  const Trainer& trainer = trainer_of(*this);
  if (params().verbose <= 0 || trainer.context->out == nullptr) return;
  double seconds =
      impl_->epoch_seconds >= 0 ? impl_->epoch_seconds : impl_->since(impl_->epoch_walk);
  impl_->finish(trainer.context->out, impl_->epoch_walk, seconds,
                trainer.compiled->training->samples(), logs, waited(trainer.history));
}

void ProgbarLogger::on_test_begin() {
  if (impl_->training) impl_->epoch_seconds = impl_->since(impl_->epoch_walk);
  impl_->test_walk = impl_->begin(
      *this,
      impl_->training ? impl_->epoch_walk.shown.title + " validation" : std::string("evaluate"),
      params().validation_steps);
}

void ProgbarLogger::on_test_batch_end(int64_t batch, const Logs& logs) {
  impl_->step(*this, impl_->test_walk, batch, &logs,
              trainer_of(*this).compiled->evaluation->samples());
}

void ProgbarLogger::on_test_end(const Logs& logs) {
  const Trainer& trainer = trainer_of(*this);
  if (impl_->training || params().verbose <= 0 || trainer.context->out == nullptr) return;
  Logs read = logs.snapshot();
  impl_->finish(trainer.context->out, impl_->test_walk, impl_->since(impl_->test_walk),
                trainer.compiled->evaluation->samples(), read);
}

void ProgbarLogger::on_predict_begin() {
  impl_->test_walk = impl_->begin(*this, "predict", params().steps);
}

void ProgbarLogger::on_predict_batch_end(int64_t batch) {
  impl_->step(*this, impl_->test_walk, batch, nullptr, 0);
}

void ProgbarLogger::on_predict_end() {
  const Trainer& trainer = trainer_of(*this);
  if (params().verbose <= 0 || trainer.context->out == nullptr) return;
  impl_->finish(trainer.context->out, impl_->test_walk, impl_->since(impl_->test_walk), 0, Logs());
}

}  // namespace stoker
