#include <fmt/format.h>
#include <stoker/more_callbacks.h>

namespace stoker {

namespace {

// Entries of the callback at this place: "2/best".
std::string place_of(size_t index) { return fmt::format("{}/", index); }

}  // namespace

template <class... Types, class... Args>
void CallbackList::each(void (Callback::*method)(Types...), const Args&... args) {
  for (const CallbackRef& callback : callbacks_) {
    if (has_model()) callback->set_model(&model());
    callback->set_params(params());
    ((*callback).*method)(args...);
  }
}

void CallbackList::on_train_begin() { each(&Callback::on_train_begin); }
void CallbackList::on_train_end(const Logs& logs) { each(&Callback::on_train_end, logs); }
void CallbackList::on_epoch_begin(int64_t epoch) { each(&Callback::on_epoch_begin, epoch); }
void CallbackList::on_epoch_end(int64_t epoch, const Logs& logs) {
  each(&Callback::on_epoch_end, epoch, logs);
}
void CallbackList::on_train_batch_begin(int64_t batch) {
  each(&Callback::on_train_batch_begin, batch);
}
void CallbackList::on_train_batch_end(int64_t batch, const Logs& logs) {
  each(&Callback::on_train_batch_end, batch, logs);
}
void CallbackList::on_test_begin() { each(&Callback::on_test_begin); }
void CallbackList::on_test_end(const Logs& logs) { each(&Callback::on_test_end, logs); }
void CallbackList::on_test_batch_begin(int64_t batch) {
  each(&Callback::on_test_batch_begin, batch);
}
void CallbackList::on_test_batch_end(int64_t batch, const Logs& logs) {
  each(&Callback::on_test_batch_end, batch, logs);
}
void CallbackList::on_predict_begin() { each(&Callback::on_predict_begin); }
void CallbackList::on_predict_end() { each(&Callback::on_predict_end); }
void CallbackList::on_predict_batch_begin(int64_t batch) {
  each(&Callback::on_predict_batch_begin, batch);
}
void CallbackList::on_predict_batch_end(int64_t batch) {
  each(&Callback::on_predict_batch_end, batch);
}

std::vector<std::pair<std::string, double>> CallbackList::epoch_logs() {
  std::vector<std::pair<std::string, double>> all;
  for (const CallbackRef& callback : callbacks_)
    for (auto& entry : callback->epoch_logs()) all.push_back(std::move(entry));
  return all;
}

bool CallbackList::on_non_finite(const NonFiniteError& error) {
  bool accepted = false;
  for (const CallbackRef& callback : callbacks_)
    accepted = callback->on_non_finite(error) || accepted;
  return accepted;
}

CallbackState CallbackList::state() const {
  CallbackState all;
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    CallbackState one = callbacks_[i]->state();
    for (const auto& [name, value] : one.values.entries())
      all.values.set(place_of(i) + name, value);
    for (const auto& [name, tensor] : one.tensors)
      all.tensors.emplace_back(place_of(i) + name, tensor);
  }
  return all;
}

void CallbackList::restore(const CallbackState& state) {
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    CallbackState one;
    std::string place = place_of(i);
    for (const auto& [name, value] : state.values.entries())
      if (name.starts_with(place)) one.values.set(name.substr(place.size()), value);
    for (const auto& [name, tensor] : state.tensors)
      if (name.starts_with(place)) one.tensors.emplace_back(name.substr(place.size()), tensor);
    if (has_model()) callbacks_[i]->set_model(&model());
    if (!one.values.entries().empty() || !one.tensors.empty()) callbacks_[i]->restore(one);
  }
}

}  // namespace stoker
