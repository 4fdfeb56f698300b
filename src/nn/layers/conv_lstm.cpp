// ConvLSTM1D, ConvLSTM2D, ConvLSTM3D: a cell whose products are convolutions, over a sequence. The
// inputs of all steps are convolved at once, before the loop.
#include <fmt/format.h>

#include "nn/layers/families.h"
#include "nn/layers/recurrent.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

template <class Size>
struct ConvLSTMConfig : ConvLSTMOptions<Size> {
  int64_t filters = 0;
  Size kernel_size = 0;
  static constexpr size_t kAxes = kSpatialRank<Size>;
  static constexpr const char* kKind = kAxes == 1   ? "ConvLSTM1D"
                                       : kAxes == 2 ? "ConvLSTM2D"
                                                    : "ConvLSTM3D";
  static Fields<ConvLSTMConfig> fields() {
    using C = ConvLSTMConfig;
    return Fields<C>{{"filters", &C::filters, {.check = at_least(1), .required = true}},
                     {"kernel_size", &C::kernel_size, {.check = at_least(1), .required = true}},
                     {"strides", &C::strides, at_least(1)},
                     {"padding", &C::padding, one_of({"valid", "same"})},
                     {"dilation_rate", &C::dilation_rate, at_least(1)},
                     {"activation", &C::activation},
                     {"recurrent_activation", &C::recurrent_activation},
                     {"unit_forget_bias", &C::unit_forget_bias}}
        .then(gated_fields<C>())
        .then({{"activity_regularizer", &C::activity_regularizer},
               {"return_sequences", &C::return_sequences},
               {"return_state", &C::return_state},
               {"go_backwards", &C::go_backwards},
               {"stateful", &C::stateful}});
  }
  SequenceOptions sequence() const {
    return {
        this->return_sequences,    this->return_state, this->go_backwards, this->stateful, false,
        this->activity_regularizer};
  }
};

template <class Size>
class ConvLSTMCell : public SequenceCell {
  static constexpr int64_t kGates = 4;  // i, f, c, o
  static constexpr size_t kAxes = kSpatialRank<Size>;

 public:
  explicit ConvLSTMCell(const ConvLSTMConfig<Size>& config) : options_(config) {
    LayerBase::set_name("conv_lstm_cell");
  }
  std::string kind() const override { return "ConvLSTMCell"; }
  std::vector<Shape> state_size() const override { return {state_, state_}; }

  void build(const std::vector<Shape>& inputs) override {
    const Shape& x = inputs[0];
    if (x.rank() != int(kAxes) + 2)
      fail_input(fmt::format("{}-D steps {}", kAxes + 2, input_dims(kAxes)), x);
    for (int axis = 1; axis < x.rank(); ++axis)
      if (x[axis] < 0) fail_input("steps whose extents are all known", x);
    auto size = extents(options_.kernel_size);
    int64_t filters = options_.filters;
    input_ = x.drop_front();
    kernel_ = add_weight(
        "kernel", kernel_shape(size, x[-1], kGates * filters),
        {options_.kernel_initializer, options_.kernel_regularizer, options_.kernel_constraint});
    recurrent_kernel_ =
        add_weight("recurrent_kernel", kernel_shape(size, filters, kGates * filters),
                   {options_.recurrent_initializer, options_.recurrent_regularizer,
                    options_.recurrent_constraint});
    if (options_.use_bias) add_bias();
    state_ = x.drop_front().with(-1, filters);
    for (size_t axis = 0; axis < kAxes; ++axis) state_.set(int(axis), steps(x, axis));
  }

  Values call(const Values& inputs, CallContext& context) override {
    begin_sequence(inputs[0].shape()[0], context);
    Values states = advance(project(inputs[0]), Values(inputs.begin() + 1, inputs.end()));
    end_sequence();
    states.insert(states.begin(), states[0]);
    return states;
  }

  void begin_sequence(int64_t batch, CallContext& context) override {
    input_masks_ = masks(options_.dropout, input_.prepend(batch), context);
    state_masks_ = masks(options_.recurrent_dropout, state_.prepend(batch), context);
  }
  void end_sequence() override {
    input_masks_.clear();
    state_masks_.clear();
  }

  // x: [B, …, C] or [T, B, …, C]
  Value project(const Value& x) const override {
    if (x.shape().drop_front(x.shape().rank() - int(kAxes) - 1) != input_)
      fail_input(fmt::format("steps [B, {}, which it was built for", to_string(input_).substr(1)),
                 x.shape());
    SpatialWindow<kAxes> window{.size = extents(options_.kernel_size),
                                .strides = extents(options_.strides),
                                .dilation = extents(options_.dilation_rate),
                                .same = options_.padding == "same"};
    Value y = product(x, kernel_, input_masks_, window);
    return options_.use_bias ? y + bias_ : y;
  }

  Values advance(const Value& projected, const Values& states) const override {
    SpatialWindow<kAxes> window{.size = extents(options_.kernel_size),
                                .strides = extents(Size(1)),
                                .dilation = extents(Size(1)),
                                .same = true};
    Value sums = projected + product(states[0], recurrent_kernel_, state_masks_, window);
    Values gates = ops::split(sums, kGates, -1);
    const auto& recurrent = options_.recurrent_activation;
    Value in = recurrent(gates[0]), forget = recurrent(gates[1]), out = recurrent(gates[3]);
    Value c = forget * states[1] + in * options_.activation(gates[2]);
    return {out * options_.activation(c), c};
  }

 private:
  void add_bias() {
    bias_ = add_weight(
        "bias", {kGates * options_.filters},
        {options_.bias_initializer, options_.bias_regularizer, options_.bias_constraint});
    if (!options_.unit_forget_bias) return;
    Tensor bias = bias_.read();
    for (int64_t i = options_.filters; i < 2 * options_.filters; ++i) bias.data_mut<float>()[i] = 1;
    bias_.write(bias);
  }

  // What the convolution of the inputs leaves of an axis.
  int64_t steps(const Shape& x, size_t axis) const {
    int64_t stride = extents(options_.strides)[axis], extent = x[int(axis) + 1];
    if (options_.padding == "same") return (extent + stride - 1) / stride;
    int64_t reach =
        extents(options_.dilation_rate)[axis] * (extents(options_.kernel_size)[axis] - 1) + 1;
    if (extent < reach)
      fail_input(fmt::format("steps of at least {} along axis {}, the reach of its window", reach,
                             axis + 1),
                 x);
    return (extent - reach) / stride + 1;
  }

  // As Keras: each gate has masks of its own.
  Values masks(double rate, const Shape& shape, CallContext& context) const {
    if (rate <= 0 || rate >= 1 || !context.training()) return {};
    Value ones = ops::broadcast_to(Value(Tensor::full({}, 1)), shape);
    Values made;
    for (int64_t gate = 0; gate < kGates; ++gate)
      made.push_back(ops::dropout(ones, context.random_state(), rate, context.next_stream()));
    return made;
  }

  static Value product(const Value& x, const Value& kernel, const Values& masks,
                       const SpatialWindow<kAxes>& window) {
    if (masks.empty()) return convolved(x, kernel, window);
    Values kernels = ops::split(kernel, kGates, -1), parts;
    for (size_t gate = 0; gate < masks.size(); ++gate)
      parts.push_back(convolved(x * masks[gate], kernels[gate], window));
    return ops::concatenate(parts, -1);
  }

  // Steps join the batch.
  static Value convolved(const Value& x, const Value& kernel, const SpatialWindow<kAxes>& window) {
    if (x.shape().rank() == int(kAxes) + 2) return convolve(x, kernel, window);
    Value flat = ops::reshape(x, x.shape().drop_front(2).prepend(x.shape()[0] * x.shape()[1]));
    Value y = convolve(flat, kernel, window);
    return ops::reshape(y, y.shape().drop_front().prepend(x.shape()[1]).prepend(x.shape()[0]));
  }

  ConvLSTMConfig<Size> options_;
  Shape input_, state_;  // of a step, without the batch
  Variable kernel_, recurrent_kernel_, bias_;
  Values input_masks_, state_masks_;  // one per gate; empty: none
};

// Takes the cell out of the Config.
template <class Size>
class ConvCellLayer : public RecurrentLayer {
 public:
  explicit ConvCellLayer(const ConvLSTMConfig<Size>& config)
      : RecurrentLayer(std::make_shared<ConvLSTMCell<Size>>(config), config.sequence(),
                       config.name) {}
};

template <class Size>
class ConvLSTMLayer : public Configured<ConvCellLayer<Size>, ConvLSTMConfig<Size>> {
 public:
  explicit ConvLSTMLayer(ConvLSTMConfig<Size> config)
      : Configured<ConvCellLayer<Size>, ConvLSTMConfig<Size>>(std::move(config)) {
    const auto& options = this->options();
    if (std::ranges::max(extents(options.strides)) > 1 &&
        std::ranges::max(extents(options.dilation_rate)) > 1)
      this->fail_option("strides above 1 and a dilation_rate above 1 do not go together");
  }
};

}  // namespace

ConvLSTM1D::ConvLSTM1D(int64_t filters, int64_t kernel_size, const ConvLSTM1DOptions& options)
    : Layer(configured<ConvLSTMLayer<int64_t>>({options, filters, kernel_size})) {}
ConvLSTM2D::ConvLSTM2D(int64_t filters, Size2 kernel_size, const ConvLSTM2DOptions& options)
    : Layer(configured<ConvLSTMLayer<Size2>>({options, filters, kernel_size})) {}
ConvLSTM3D::ConvLSTM3D(int64_t filters, Size3 kernel_size, const ConvLSTM3DOptions& options)
    : Layer(configured<ConvLSTMLayer<Size3>>({options, filters, kernel_size})) {}

void add_conv_lstm_layers(LayerKinds& kinds) {
  add_layer<ConvLSTMLayer<int64_t>>(kinds);
  add_layer<ConvLSTMLayer<Size2>>(kinds);
  add_layer<ConvLSTMLayer<Size3>>(kinds);
}

}  // namespace stoker
