// Keras's guide to the functional API: tickets with a title, a text and tags get a priority and a
// department.
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

Tensor draw(const Shape& shape, int64_t below, uint64_t seed) {
  Tensor out(DType::int32, shape);
  Rng rng(seed);
  for (int64_t i = 0; i < out.elements(); ++i)
    out.data_mut<int32_t>()[i] = int32_t(rng.integer(0, below));
  return out;
}

}  // namespace

int main() {
  set_seed(1);
  constexpr int64_t kTickets = 640;
  Tensor title = draw({kTickets, 10}, 500, 1), body = draw({kTickets, 40}, 500, 2);
  Tensor tags = draw({kTickets, 12}, 2, 3).cast(DType::float32);
  // Urgent where the first tag is set; the department follows from the next two.
  std::vector<float> priority;
  std::vector<int32_t> department;
  for (int64_t i = 0; i < kTickets; ++i) {
    priority.push_back(float(tags[i].at(0)));
    department.push_back(int32_t(tags[i].at(1) + 2 * tags[i].at(2)));
  }

  // Idea: 21 lines in Keras.
  Value title_input = Input({-1}, {.dtype = DType::int32, .name = "title"});
  Value body_input = Input({-1}, {.dtype = DType::int32, .name = "body"});
  Value tags_input = Input({12}, {.name = "tags"});
  Value title_features = Embedding(500, 16)(title_input);
  Value body_features = Embedding(500, 16)(body_input);
  title_features = LSTM(16)(title_features);
  body_features = LSTM(8)(body_features);
  Value x = Concatenate()({title_features, body_features, tags_input});
  Value priority_pred = Dense(1, {.name = "priority"})(x);
  Value department_pred = Dense(4, {.name = "department"})(x);
  Model model(Values{title_input, body_input, tags_input}, Values{priority_pred, department_pred});
  utils::plot_model(model, "multi_input_and_output_model.svg", {.show_shapes = true});
  model.compile({
      .optimizer = RMSprop({.learning_rate = 3e-3}),
      .loss = {BinaryCrossentropy({.from_logits = true}),
               SparseCategoricalCrossentropy({.from_logits = true})},
      .loss_weights = {1.0, 0.5},
  });
  History history =
      model.fit({title, body, tags},
                {Tensor::from(priority, {kTickets, 1}), Tensor::from(department, {kTickets})},
                {.epochs = 6, .batch_size = 32, .verbose = 2});

  // Shown:
  std::printf("loss %.3f, then %.3f\n", history["loss"].front(), history["loss"].back());
  return history["loss"].back() < 0.7 * history["loss"].front() ? 0 : 1;
}
