// Bidirectional and TimeDistributed.
#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/layers/families.h"
#include "nn/layers/recurrent.h"

namespace stoker {

namespace {

// A wrapped layer in a configuration: its kind under `entry`, its options behind "entry.".
void put_layer(Attrs& attrs, const std::string& entry, const LayerBase& layer) {
  attrs.set(entry, layer.kind());
  fields::put_nested(attrs, entry, full_config(layer));
  attrs.set(entry + ".name", layer.name());
}

Layer take_layer(const Attrs& attrs, const std::string& entry, const LayerFactories& custom) {
  Attrs inner = fields::nested(attrs, entry);
  return layer_from_config(attrs.get<std::string>(entry), inner.get_or("name", std::string()),
                           inner, custom);
}

std::string described(const Layer& layer) {
  return layer.shared() == nullptr ? "an empty Layer" : layer.base().title();
}

// --- Bidirectional -------------------------------------------------------------------------------

std::shared_ptr<RecurrentLayer> recurrent_of(const Layer& layer) {
  return std::dynamic_pointer_cast<RecurrentLayer>(layer.shared());
}

class BidirectionalLayer : public LayerBase {
 public:
  BidirectionalLayer(const Layer& layer, const BidirectionalOptions& options)
      : merge_mode_(options.merge_mode), own_backward_(options.backward_layer.shared() != nullptr) {
    LayerBase::set_name(options.name);
    static const Check modes = one_of({"concat", "sum", "mul", "ave", "none"});
    if (!modes.word(merge_mode_))
      fail_option(fmt::format("expected merge_mode {}, got \"{}\"", modes.expected(), merge_mode_));
    expect_recurrent(layer);
    forward_ = made_like(layer, "forward_", recurrent_of(layer)->sequence().go_backwards);
    if (own_backward_) {
      expect_recurrent(options.backward_layer);
      backward_ = options.backward_layer;
    } else {
      backward_ = made_like(layer, "backward_", true);
    }
    check_directions();
    for (const Layer& each : {forward_, backward_}) {
      RecurrentLayer& recurrent = *recurrent_of(each);
      recurrent.zero_masked_outputs(recurrent.sequence().return_sequences);
    }
    recurrent_of(backward_)->keep_time_order();
  }

  std::string kind() const override { return "Bidirectional"; }

  Attrs config() const override {
    Attrs attrs = {{"merge_mode", merge_mode_}};
    put_layer(attrs, "layer", forward_.base());
    if (own_backward_) put_layer(attrs, "backward_layer", backward_.base());
    return attrs;
  }

  void build(const std::vector<Shape>&) override {
    adopt(forward_.shared());
    adopt(backward_.shared());
  }

  bool supports_masking() const override { return true; }

  Values compute_mask(const Values&, const Values& masks) const override {
    bool carries = recurrent_of(forward_)->sequence().return_sequences && !masks.empty();
    return Values(merge_mode_ == "none" ? 2 : 1, carries ? masks[0] : Value());
  }

  Values call(const Values& inputs, CallContext& context) override {
    size_t states = inputs.size() - 1;
    if (states % 2 != 0)
      fail_input(
          fmt::format("expected as many initial states forwards as backwards, got {}", states));
    auto middle = inputs.begin() + 1 + long(states / 2);
    Values there = {inputs[0]}, back = {inputs[0]};
    there.insert(there.end(), inputs.begin() + 1, middle);
    back.insert(back.end(), middle, inputs.end());
    CallOptions options;
    if (Value mask = context.mask(); mask.defined()) options.mask = {mask};
    Values a = forward_.call_all(there, options), b = backward_.call_all(back, options);
    Values outputs = merged(a[0], b[0]);
    outputs.insert(outputs.end(), a.begin() + 1, a.end());
    outputs.insert(outputs.end(), b.begin() + 1, b.end());
    return outputs;
  }

 private:
  void expect_recurrent(const Layer& layer) const {
    if (recurrent_of(layer) == nullptr)
      fail_option(fmt::format("expected a SimpleRNN, LSTM, GRU or RNN, got {}", described(layer)));
  }

  // A new layer with the same options.
  Layer made_like(const Layer& layer, const std::string& prefix, bool backwards) const {
    const LayerBase& base = layer.base();
    std::string name = base.label();
    for (std::string_view other : {"forward_", "backward_"})
      if (name.starts_with(other)) name.erase(0, other.size());
    Attrs config = full_config(base);
    config.set("go_backwards", backwards);
    try {
      return layer_from_config(base.kind(), prefix + name, config);
    } catch (const Error& error) {
      fail_option(
          fmt::format("a {}layer like {} cannot be made ({}); wrap layers of the library, or "
                      "derive a layer that "
                      "calls one RNN per direction",
                      prefix == "forward_" ? "" : "backward ", base.title(), error.what()));
    }
  }

  void check_directions() const {
    const SequenceOptions &a = recurrent_of(forward_)->sequence(),
                          &b = recurrent_of(backward_)->sequence();
    if (a.go_backwards || !b.go_backwards)
      fail_option(
          "expected a layer that goes forwards and a backward_layer with {.go_backwards = true}");
    if (a.return_sequences != b.return_sequences || a.return_state != b.return_state ||
        a.stateful != b.stateful)
      fail_option(
          "expected the same return_sequences, return_state and stateful in both directions");
  }

  Values merged(const Value& a, const Value& b) const {
    if (merge_mode_ == "none") return {a, b};
    if (merge_mode_ == "concat") return {ops::concatenate({a, b}, -1)};
    if (merge_mode_ == "mul") return {a * b};
    return {merge_mode_ == "ave" ? (a + b) * 0.5 : a + b};
  }

  std::string merge_mode_;
  bool own_backward_;
  Layer forward_, backward_;
};

// --- TimeDistributed -----------------------------------------------------------------------------

// [B, T, …] → [B · T, …]
Shape folded(const Shape& shape) { return shape.drop_front(2).prepend(shape[0] * shape[1]); }

class TimeDistributedLayer : public LayerBase {
 public:
  TimeDistributedLayer(const Layer& layer, const LayerOptions& options) : layer_(layer) {
    LayerBase::set_name(options.name);
    if (layer.shared() == nullptr) fail_option("expected a layer, got an empty Layer");
  }

  std::string kind() const override { return "TimeDistributed"; }
  Attrs config() const override {
    Attrs attrs;
    put_layer(attrs, "layer", layer_.base());
    return attrs;
  }
  bool supports_masking() const override { return true; }

  Values call(const Values& inputs, CallContext& context) override {
    const Shape& shape = inputs[0].shape();
    if (inputs.size() != 1) fail_input(fmt::format("expected 1 input, got {}", inputs.size()));
    if (shape.rank() < 3) fail_input("input of 3 or more dimensions, [B, T, …]", shape);
    CallOptions options;
    Value mask = context.mask();
    if (mask.defined() && layer_.base().supports_masking())
      options.mask = {ops::reshape(mask, {shape[0] * shape[1]})};
    Values outputs = layer_.call_all({ops::reshape(inputs[0], folded(shape))}, options);
    for (Value& output : outputs)
      output =
          ops::reshape(output, output.shape().drop_front().prepend(shape[1]).prepend(shape[0]));
    return outputs;
  }

 private:
  Layer layer_;
};

}  // namespace

Bidirectional::Bidirectional(const Layer& layer, const BidirectionalOptions& options)
    : Layer(std::make_shared<BidirectionalLayer>(layer, options), options.dtype) {}

TimeDistributed::TimeDistributed(const Layer& layer, const LayerOptions& options)
    : Layer(std::make_shared<TimeDistributedLayer>(layer, options), options.dtype) {}

void add_recurrent_wrappers(LayerKinds& kinds) {
  auto bidirectional = [](const Attrs& attrs, const LayerFactories& custom) {
    BidirectionalOptions options{.merge_mode = attrs.get<std::string>("merge_mode"),
                                 .name = attrs.get_or("name", std::string())};
    if (attrs.has("backward_layer"))
      options.backward_layer = take_layer(attrs, "backward_layer", custom);
    return Layer(Bidirectional(take_layer(attrs, "layer", custom), options));
  };
  kinds["Bidirectional"] = {.wrap = bidirectional, .is = is_exactly<BidirectionalLayer>};
  auto distributed = [](const Attrs& attrs, const LayerFactories& custom) {
    return Layer(TimeDistributed(take_layer(attrs, "layer", custom),
                                 {.name = attrs.get_or("name", std::string())}));
  };
  kinds["TimeDistributed"] = {.wrap = distributed, .is = is_exactly<TimeDistributedLayer>};
}

}  // namespace stoker
