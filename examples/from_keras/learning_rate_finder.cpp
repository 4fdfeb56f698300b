// The learning-rate finder of many Keras notebooks: the rate grows with every batch, and the best is
// where the loss falls fastest.
#include <cmath>
#include <cstdio>

#include "../digits.h"
#include "../pictures.h"

using namespace stoker;

namespace {

// Idea: 16 lines in Keras.
class LRFinder : public Callback {
 public:
  LRFinder(double min_lr, double max_lr, int64_t steps)
      : lr_(min_lr), factor_(std::pow(max_lr / min_lr, 1.0 / double(steps))) {}
  void on_train_begin() override { model().optimizer().set_learning_rate(lr_); }
  void on_train_batch_end(int64_t, const Logs& logs) override {
    rates.push_back(lr_);
    losses.push_back(logs["loss"]);
    lr_ *= factor_;
    model().optimizer().set_learning_rate(lr_);
    if (losses.back() > 4 * losses.front()) model().stop_training();
  }
  std::vector<double> rates, losses;

 private:
  double lr_, factor_;
};

// Data:
}  // namespace

int main() {
  Digits digits = draw_digits(3200, 1);
  Sequential model = small_classifier({28, 28, 1});
  // Idea:
  LRFinder finder(1e-5, 1.0, 100);
  model.fit(digits.x, digits.y, {.verbose = 0, .callbacks = {finder}});
  // Shown:
  size_t lowest = 0;
  for (size_t i = 0; i < finder.losses.size(); ++i)
    if (finder.losses[i] < finder.losses[lowest]) lowest = i;
  std::printf("lowest loss %.3f at a rate of %.2g\n", finder.losses[lowest], finder.rates[lowest]);
  return finder.rates.size() > 10 ? 0 : 1;
}
