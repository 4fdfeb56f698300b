// SimpleRNN, LSTM, GRU and RNN: a cell over a sequence.
#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/layers/families.h"
#include "nn/layers/recurrent.h"

namespace stoker {

namespace {

// The rows behind those of the cell.
template <class Config>
Fields<Config> sequence_fields() {
  return {{"return_sequences", &Config::return_sequences},
          {"return_state", &Config::return_state},
          {"go_backwards", &Config::go_backwards},
          {"stateful", &Config::stateful},
          {"unroll", &Config::unroll}};
}

template <class Options>
SequenceOptions sequence_options(const Options& options) {
  SequenceOptions made{options.return_sequences,
                       options.return_state,
                       options.go_backwards,
                       options.stateful,
                       false,
                       {}};
  if constexpr (requires { options.zero_output_for_mask; })
    made.zero_output_for_mask = options.zero_output_for_mask;
  if constexpr (requires { options.activity_regularizer; })
    made.activity_regularizer = options.activity_regularizer;
  return made;
}

template <class Cell, class Options>
Cell shared_options(const Options& options) {
  Cell cell;
  cell.units = options.units;
  cell.activation = options.activation;
  cell.use_bias = options.use_bias;
  cell.kernel_initializer = options.kernel_initializer;
  cell.recurrent_initializer = options.recurrent_initializer;
  cell.bias_initializer = options.bias_initializer;
  cell.kernel_regularizer = options.kernel_regularizer;
  cell.recurrent_regularizer = options.recurrent_regularizer;
  cell.bias_regularizer = options.bias_regularizer;
  cell.kernel_constraint = options.kernel_constraint;
  cell.recurrent_constraint = options.recurrent_constraint;
  cell.bias_constraint = options.bias_constraint;
  cell.dropout = options.dropout;
  cell.recurrent_dropout = options.recurrent_dropout;
  return cell;
}

struct SimpleRNNConfig : SimpleRNNOptions {
  int64_t units = 0;
  static constexpr const char* kKind = "SimpleRNN";
  static Fields<SimpleRNNConfig> fields() {
    using C = SimpleRNNConfig;
    return Fields<C>{{"units", &C::units, {.check = at_least(1), .required = true}},
                     {"activation", &C::activation}}
        .then(gated_fields<C>())
        .then({{"activity_regularizer", &C::activity_regularizer}})
        .then(sequence_fields<C>());
  }
  std::shared_ptr<GatedCell> cell() const {
    return make_cell(shared_options<SimpleRNNCellConfig>(*this));
  }
};

struct LSTMConfig : LSTMOptions {
  int64_t units = 0;
  static constexpr const char* kKind = "LSTM";
  static Fields<LSTMConfig> fields() {
    using C = LSTMConfig;
    return Fields<C>{{"units", &C::units, {.check = at_least(1), .required = true}},
                     {"activation", &C::activation},
                     {"recurrent_activation", &C::recurrent_activation},
                     {"unit_forget_bias", &C::unit_forget_bias}}
        .then(gated_fields<C>())
        .then({{"activity_regularizer", &C::activity_regularizer}})
        .then(sequence_fields<C>());
  }
  std::shared_ptr<GatedCell> cell() const {
    auto made = shared_options<LSTMCellConfig>(*this);
    made.recurrent_activation = recurrent_activation;
    made.unit_forget_bias = unit_forget_bias;
    return make_cell(made);
  }
};

struct GRUConfig : GRUOptions {
  int64_t units = 0;
  static constexpr const char* kKind = "GRU";
  static Fields<GRUConfig> fields() {
    using C = GRUConfig;
    return Fields<C>{{"units", &C::units, {.check = at_least(1), .required = true}},
                     {"activation", &C::activation},
                     {"recurrent_activation", &C::recurrent_activation},
                     {"reset_after", &C::reset_after}}
        .then(gated_fields<C>())
        .then({{"activity_regularizer", &C::activity_regularizer}})
        .then(sequence_fields<C>());
  }
  std::shared_ptr<GatedCell> cell() const {
    auto made = shared_options<GRUCellConfig>(*this);
    made.recurrent_activation = recurrent_activation;
    made.reset_after = reset_after;
    return make_cell(made);
  }
};

// Takes the cell out of the Config.
class CellLayer : public RecurrentLayer {
 public:
  template <class Config>
  explicit CellLayer(const Config& config)
      : RecurrentLayer(config.cell(), sequence_options(config), config.name) {}
};

class SimpleRNNLayer : public Configured<CellLayer, SimpleRNNConfig> {
 public:
  using Configured::Configured;
};
class LSTMLayer : public Configured<CellLayer, LSTMConfig> {
 public:
  using Configured::Configured;
};
class GRULayer : public Configured<CellLayer, GRUConfig> {
 public:
  using Configured::Configured;
};

// --- RNN -----------------------------------------------------------------------------------------

struct RNNConfig : RNNOptions {
  Layer layer = {};
  static constexpr const char* kKind = "RNN";
  static Fields<RNNConfig> fields() {
    using C = RNNConfig;
    return sequence_fields<C>().then({{"zero_output_for_mask", &C::zero_output_for_mask}});
  }
  std::shared_ptr<RNNCell> cell() const { return cell_of(layer, titled(kKind, name)); }
};

class RNNLayer : public Configured<CellLayer, RNNConfig> {
 public:
  using Configured::Configured;
  Attrs config() const override {
    Attrs attrs = Configured::config();
    attrs.set("cell", cell().kind());
    fields::put_nested(attrs, "cell", full_config(cell()));
    attrs.set("cell.name", cell().name());
    return attrs;
  }
};

Layer make_rnn(const Attrs& attrs, const LayerFactories& custom) {
  Attrs own, inner = fields::nested(attrs, "cell");
  for (const auto& [name, value] : attrs.entries())
    if (name != "cell" && !name.starts_with("cell.")) own.set(name, value);
  RNNConfig config = layer_config<RNNConfig>(own);
  config.layer = layer_from_config(attrs.get<std::string>("cell"),
                                   inner.get_or("name", std::string()), inner, custom);
  return configured<RNNLayer>(std::move(config));
}

}  // namespace

SimpleRNN::SimpleRNN(int64_t units, const SimpleRNNOptions& options)
    : Layer(configured<SimpleRNNLayer>({options, units})) {}
LSTM::LSTM(int64_t units, const LSTMOptions& options)
    : Layer(configured<LSTMLayer>({options, units})) {}
GRU::GRU(int64_t units, const GRUOptions& options)
    : Layer(configured<GRULayer>({options, units})) {}
RNN::RNN(const Layer& cell, const RNNOptions& options)
    : Layer(configured<RNNLayer>({options, cell})) {}
RNN::RNN(const std::vector<Layer>& cells, const RNNOptions& options)
    : RNN(StackedRNNCells(cells), options) {}

void add_recurrent_layers(LayerKinds& kinds) {
  add_layer<SimpleRNNLayer>(kinds);
  add_layer<LSTMLayer>(kinds);
  add_layer<GRULayer>(kinds);
  kinds["RNN"] = {.wrap = make_rnn, .is = is_exactly<RNNLayer>, .fields = [] {
                    return fields_of<RNNConfig>().text();
                  }};
}

}  // namespace stoker
