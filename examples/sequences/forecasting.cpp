// How warm will it be in twelve hours? Three days of hourly readings (temperature and pressure) are
// one window, an LSTM reads it, and the forecast is measured beside the usual one: "as a day before".
#include <cmath>
#include <cstdio>
#include <vector>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

// float32[hours, 2]: the day's curve, a season, and fronts that pressure announces a day ahead.
Tensor measure_weather(int64_t hours) {
  Rng rng(3);
  std::vector<float> readings;
  std::vector<float> fronts(size_t(hours) + 24);
  for (size_t hour = 1; hour < fronts.size(); ++hour)
    fronts[hour] = 0.97F * fronts[hour - 1] + 0.25F * rng.normal();
  for (int64_t hour = 0; hour < hours; ++hour) {
    double day = 2 * M_PI * double(hour) / 24, year = day / 365;
    float now = fronts[size_t(hour)], tomorrow = fronts[size_t(hour) + 24];
    readings.push_back(float(0.6 * std::sin(day) + 0.3 * std::sin(year)) + now);
    readings.push_back(tomorrow + 0.05F * rng.normal());
  }
  return Tensor::from(readings, {hours, 2});
}

Tensor temperature(const Tensor& weather) {
  int64_t rows = weather.shape()[0];
  Tensor column(DType::float32, {rows, 1});
  for (int64_t row = 0; row < rows; ++row)
    column.data_mut<float>()[row] = float(weather.at(2 * row));
  return column;
}

}  // namespace

int main() {
  set_seed(1);
  Tensor weather = measure_weather(6000), warmth = temperature(weather);
  constexpr int64_t kHours = 72, kAhead = 12, kSplit = 5000;

  // Idea: 14 lines in Keras.
  Tensor later =
      warmth.slice(kHours + kAhead - 1, 6000);  // the answer to a window, by its first row
  auto train = data::timeseries_windows(weather, later, kHours,
                                        {.batch_size = 64, .shuffle = true, .end_index = kSplit});
  auto test =
      data::timeseries_windows(weather, later, kHours, {.batch_size = 64, .start_index = kSplit});
  Sequential model({
      Input({kHours, 2}),
      LSTM(24),
      Dense(1),
  });
  model.compile({.optimizer = Adam({.learning_rate = 5e-3}), .loss = "mse", .metrics = {"mae"}});
  model.fit(train, {.epochs = 5, .validation_data = test});
  double error = model.evaluate(test)["mae"];

  // Shown:
  double usual = 0;
  int64_t count = 0;
  for (int64_t hour = kSplit + kHours + kAhead; hour < 6000; ++hour, ++count)
    usual += std::abs(warmth.at(hour) - warmth.at(hour - 24));
  usual /= double(count);
  std::printf("mean error of the forecast: %.3f; of \"as a day before\": %.3f\n", error, usual);
  return error < 0.8 * usual ? 0 : 1;
}
