// Keras's "Actor critic method": a cart learns to keep its pole up.
#include <array>
#include <cmath>
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

// The cart and pole of Gym, in steps of 0.02 s.
struct CartPole {
  std::array<float, 4> state = {};  // place, speed, angle, its speed
  explicit CartPole(Rng& rng) {
    for (float& each : state) each = rng.uniform(-0.05F, 0.05F);
  }
  bool step(int action) {  // false: it has fallen
    auto& [x, v, angle, turn] = state;
    float force = action == 1 ? 10 : -10, sine = std::sin(angle), cosine = std::cos(angle);
    float push = (force + 0.05F * turn * turn * sine) / 1.1F;
    float bend =
        (9.8F * sine - cosine * push) / (0.5F * (4.0F / 3 - 0.1F * cosine * cosine / 1.1F));
    float speed_up = push - 0.05F * bend * cosine / 1.1F;
    x += 0.02F * v, v += 0.02F * speed_up, angle += 0.02F * turn, turn += 0.02F * bend;
    return std::abs(x) < 2.4F && std::abs(angle) < 0.21F;
  }
};

}  // namespace

int main() {
  set_seed(1);
  Rng rng(1);
  constexpr int kMost = 100;  // steps of an episode

  // Idea: 52 lines in Keras.
  Value inputs = Input({4});
  Value common = Dense(64, {.activation = "relu"})(inputs);
  Value action = Dense(2, {.activation = "softmax"})(common);
  Value critic = Dense(1)(common);
  Model model(Values{inputs}, Values{action, critic});
  Adam optimizer({.learning_rate = 0.01});
  Loss huber = Huber();
  // Episodes are padded to one length, so that one program serves all: padding weighs 0.
  auto train_step = function([&](Value states, Value actions, Value returns, Value weights) {
    Values made = model.call_all({states});
    Value probability = ops::sum(made[0] * ops::one_hot(actions, 2), {.axes = {1}});
    Value value = ops::squeeze(made[1], 1);
    Value gain = ops::stop_gradient(returns - value);
    Value actor = ops::sum(-ops::log(probability) * gain * weights) / ops::sum(weights);
    Value loss = actor + huber(returns, value, weights);
    optimizer.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  });
  double first = 0, running = 0;
  for (int episode = 0; episode < 150; ++episode) {
    CartPole world(rng);
    std::vector<float> states, returns(kMost), weights(kMost);
    std::vector<int32_t> actions(kMost);
    int steps = 0;
    for (bool stands = true; stands && steps < kMost; ++steps) {
      states.insert(states.end(), world.state.begin(), world.state.end());
      std::vector<Tensor> made =
          model.predict_all(Tensor::from(std::vector(states.end() - 4, states.end()), {1, 4}));
      actions[size_t(steps)] = rng.uniform() < made[0].at(0) ? 0 : 1;
      stands = world.step(actions[size_t(steps)]);
    }
    for (int step = steps - 1; step >= 0; --step) {
      returns[size_t(step)] = 0.1F + (step + 1 < steps ? 0.99F * returns[size_t(step) + 1] : 0);
      weights[size_t(step)] = 1;
    }
    states.resize(4 * kMost);
    train_step(Tensor::from(states, {kMost, 4}), Tensor::from(actions, {kMost}),
               Tensor::from(returns, {kMost}), Tensor::from(weights, {kMost}));
    running = episode == 0 ? steps : 0.9 * running + 0.1 * steps;
    if (episode == 20) first = running;
  }

  // Shown:
  std::printf("the pole stood %.0f steps at first, then %.0f\n", first, running);
  return running > 1.5 * first ? 0 : 1;
}
