// Recurrent layers: what Keras's recordings (tests/parity) do not show.
#include <stoker/error.h>

#include "graph/graph.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

// h · 0.5 + x, as an own cell.
class Leaky : public RNNCell {
 public:
  explicit Leaky(int64_t units) : units_(units) {}
  std::string kind() const override { return "Leaky"; }
  std::vector<Shape> state_size() const override { return {{units_}}; }
  void build(const std::vector<Shape>&) override {
    rate_ = add_weight("rate", {units_}, {.initializer = Constant(0.5), .regularizer = L2(1)});
  }
  Values call(const Values& in, CallContext&) override {
    Value h = in[1] * rate_ + in[0];
    return {h, h};
  }

 private:
  int64_t units_;
  Variable rate_;
};

TEST(OwnCell, RunsOverTheSequenceOnEveryDevice) {
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    Layer rnn = RNN(make_layer<Leaky>(1), {.return_sequences = true});
    EXPECT_TRUE(near(run_layer(rnn, floats({1, 1, 1, 8}, {1, 4, 1}), {.device = device}),
                     {1, 1.5, 1.75, 8.875}));
    Layer last = RNN(make_layer<Leaky>(1), {.go_backwards = true});
    EXPECT_TRUE(near(run_layer(last, floats({1, 1, 1, 8}, {1, 4, 1}), {.device = device}), {2.75}));
  }
}

TEST(OwnCell, IsAChildWhoseWeightsLearnAndArePenalizedOnce) {
  Layer rnn = RNN(make_layer<Leaky>(1));
  std::vector<Tensor> results =
      run({floats({1, 1}, {1, 2, 1})}, [&](Graph& graph, const Values& x) {
        Value y = rnn(x[0]);
        EXPECT_EQ(graph.penalties().size(), 1U);
        return Values{gradients(y, rnn.weights())[0], graph.penalties()[0]};
      });
  EXPECT_EQ(rnn.weights()[0].name(), "rnn/leaky/rate");
  EXPECT_TRUE(near(results[0], {1}));
  EXPECT_TRUE(near(results[1], {0.25}));
}

TEST(RecurrentDropout, DropsTheSameUnitsInEveryStep) {
  // A kernel of ones and no recurrence: an output is 0 or the sum of what is kept, scaled by 2.
  SimpleRNNOptions options{.activation = "linear",
                           .use_bias = false,
                           .kernel_initializer = "ones",
                           .recurrent_initializer = "zeros",
                           .dropout = 0.5,
                           .return_sequences = true};
  for (double recurrent : {0.0, 0.25}) {
    options.recurrent_dropout = recurrent;
    Layer rnn = SimpleRNN(1, options);
    Tensor y = run_layer(rnn, Tensor::full({64, 6, 1}, 1), {.training = true});
    int kept = 0;
    for (int64_t row = 0; row < 64; ++row) {
      kept += y.at(row * 6) > 0;
      for (int64_t t = 0; t < 6; ++t) EXPECT_EQ(y.at(row * 6 + t), y.at(row * 6));
    }
    EXPECT_GT(kept, 16);
    EXPECT_LT(kept, 48);
    EXPECT_TRUE(near(run_layer(rnn, Tensor::full({1, 2, 1}, 1)), {1, 1}));
  }
}

TEST(RecurrentDropout, LeavesGradientsThatMatchWhatWasDropped) {
  for (std::string device : {"cpu", "reference"}) {
    Layer lstm = LSTM(3, {.dropout = 0.4, .recurrent_dropout = 0.4, .return_sequences = true});
    auto loss_at = [&](const Tensor& x) {
      return run({x}, [&](Graph&, const Values& in) { return Values{ops::sum(lstm(in[0]))}; },
                 {.training = true, .device = "reference"})[0]
          .item();
    };
    Tensor x = random_tensor({2, 4, 3});
    loss_at(x);
    Tensor slope = run(
        {x}, [&](Graph&, const Values& in) { return gradients(ops::sum(lstm(in[0])), {in[0]}); },
        {.training = true, .device = device})[0];
    for (int64_t i : {0, 5, 23}) {
      Tensor above = Tensor::from(
          std::vector<float>(x.values<float>().begin(), x.values<float>().end()), x.shape());
      Tensor below = Tensor::from(
          std::vector<float>(x.values<float>().begin(), x.values<float>().end()), x.shape());
      above.data_mut<float>()[i] += 0.01F;
      below.data_mut<float>()[i] -= 0.01F;
      EXPECT_NEAR(slope.at(i), (loss_at(above) - loss_at(below)) / 0.02, 2e-3) << device;
    }
  }
}

TEST(Bidirectional, NamesItsDirectionsAsKeras) {
  Layer both = Bidirectional(LSTM(2));
  both(Input({5, 3}));
  std::vector<std::string> names;
  for (const Variable& weight : both.weights()) names.push_back(weight.name());
  EXPECT_EQ(names[0], "bidirectional/forward_lstm/lstm_cell/kernel");
  EXPECT_EQ(names[1], "bidirectional/forward_lstm/lstm_cell/recurrent_kernel");
  EXPECT_EQ(names[5], "bidirectional/backward_lstm/lstm_cell/bias");
}

TEST(Lstm, StartsWithOrthogonalRecurrenceAndAForgetBiasOfOne) {
  Layer lstm = LSTM(3);
  lstm(Input({5, 2}));
  std::vector<Tensor> weights = lstm.get_weights();
  EXPECT_EQ(weights[0].shape(), (Shape{2, 12}));
  EXPECT_EQ(weights[1].shape(), (Shape{3, 12}));
  EXPECT_TRUE(near(weights[2], {0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0}));
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t other = 0; other < 3; ++other) {
      double product = 0;
      for (int64_t i = 0; i < 12; ++i)
        product += weights[1].at(row * 12 + i) * weights[1].at(other * 12 + i);
      EXPECT_NEAR(product, row == other ? 1 : 0, 1e-5);
    }
}

TEST(RecurrentErrors, SayWhatWasExpected) {
  auto of = [](const std::function<void()>& action) { return message_of<Error>(action); };
  EXPECT_EQ(of([] {
              LSTM(4)
              (Input({8}));
            }),
            "LSTM: expected input of 3 or more dimensions, [B, T, features], got [None, 8]; add "
            "Embedding before it if these are ids, or Reshape({T, 1}) if every step is one number");
  EXPECT_NE(of([] {
              LSTM(4, {.stateful = true})(Input({8, 2}));
            }).find("{.batch_size = 32}"),
            std::string::npos);
  EXPECT_NE(of([] { Bidirectional(Dense(3)); }).find("expected a SimpleRNN, LSTM, GRU or RNN"),
            std::string::npos);
  EXPECT_NE(of([] { Bidirectional(LSTM(3), {.merge_mode = "max"}); }).find("concat"),
            std::string::npos);
  EXPECT_NE(of([] { RNN(Dense(3)); }).find("expected a cell"), std::string::npos);
  EXPECT_NE(of([] { reset_states(LSTM(3)); }).find("no stateful layer"), std::string::npos);
  EXPECT_NE(of([] { LSTM(0); }).find("units"), std::string::npos);
  EXPECT_NE(of([] {
              LSTM(4)(Values{Value(Input({5, 2})), Value(Input({4}))});
            }).find("2 initial states"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker::test
