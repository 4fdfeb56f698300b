// The cells of the library: products with x and with the state, and gates.
#pragma once

#include <optional>

#include <stoker/layers.h>

#include "nn/layers/configured_layer.h"

namespace stoker {

// What ops::recurrent needs of a cell.
struct FusedCell {
  std::string cell;  // ops::Recurrent::cell
  Value kernel, recurrent_kernel, bias;
};

// A cell whose products with x can be done for all steps at once.
class SequenceCell : public RNNCell {
 public:
  // A call over a sequence: what dropout drops is drawn once, for all steps.
  virtual void begin_sequence(int64_t batch, CallContext& context) = 0;
  virtual void end_sequence() = 0;
  // x: [.., B, features], dropped, times the kernel, with the bias → [.., B, gates · units]
  virtual Value project(const Value& x) const = 0;
  // One step from what project() gave for it: the new states, of which the first is the output.
  virtual Values advance(const Value& projected, const Values& states) const = 0;
};

// One whose products are those of matrices.
class GatedCell : public SequenceCell {
 public:
  std::vector<Shape> state_size() const override;
  void build(const std::vector<Shape>& inputs) override;
  Values call(const Values& inputs, CallContext& context) override;

  void begin_sequence(int64_t batch, CallContext& context) override;
  void end_sequence() override;
  Value project(const Value& x) const override;
  // x: [B, T, features] as dropout leaves it, for the product that a fused kernel does.
  Value dropped(const Value& x) const;
  // Undefined where no fused kernel computes what this cell does.
  virtual std::optional<FusedCell> fused() const = 0;
  bool drops_states() const { return !state_masks_.empty(); }
  int64_t units() const { return units_; }

 protected:
  struct Options {
    int64_t gates;
    bool use_bias;
    Shape bias;  // its shape
    Initializer kernel_initializer, recurrent_initializer, bias_initializer;
    Regularizer kernel_regularizer, recurrent_regularizer, bias_regularizer;
    Constraint kernel_constraint, recurrent_constraint, bias_constraint;
    double dropout, recurrent_dropout;
  };
  template <class Config>
  GatedCell(const Config& config, int64_t gates, const Shape& bias)
      : units_(config.units),
        options_{gates,
                 config.use_bias,
                 bias,
                 config.kernel_initializer,
                 config.recurrent_initializer,
                 config.bias_initializer,
                 config.kernel_regularizer,
                 config.recurrent_regularizer,
                 config.bias_regularizer,
                 {},
                 {},
                 {},
                 config.dropout,
                 config.recurrent_dropout} {
    LayerBase::set_name(config.name);
    if constexpr (requires { config.kernel_constraint; }) {
      options_.kernel_constraint = config.kernel_constraint;
      options_.recurrent_constraint = config.recurrent_constraint;
      options_.bias_constraint = config.bias_constraint;
    }
  }

  // h · recurrent_kernel, [B, gates · units], of the gates [first, last).
  Value recur(const Value& h, int64_t first, int64_t last) const;
  Value recur(const Value& h) const { return recur(h, 0, options_.gates); }
  FusedCell as_fused(const std::string& cell) const;
  bool uses_bias() const { return options_.use_bias; }

  Variable kernel_, recurrent_kernel_, bias_;

 private:
  virtual void start_bias() {}
  virtual Value input_bias() const { return bias_; }
  Values masks(double rate, const Shape& shape, CallContext& context) const;
  // x · matrix, each gate's part of x masked by its own.
  Value product(const Value& x, const Variable& matrix, const Values& masks, int64_t first,
                int64_t last) const;

  int64_t units_;
  Options options_;
  bool in_sequence_ = false;
  Values input_masks_, state_masks_;  // [B, extent]: one, or one per gate; empty: none
};

struct SimpleRNNCellConfig : SimpleRNNCellOptions {
  int64_t units = 0;
  static constexpr const char* kKind = "SimpleRNNCell";
  static Fields<SimpleRNNCellConfig> fields();
};
struct LSTMCellConfig : LSTMCellOptions {
  int64_t units = 0;
  static constexpr const char* kKind = "LSTMCell";
  static Fields<LSTMCellConfig> fields();
};
struct GRUCellConfig : GRUCellOptions {
  int64_t units = 0;
  static constexpr const char* kKind = "GRUCell";
  static Fields<GRUCellConfig> fields();
};

// The rows that cells and their layers share.
template <class Config>
Fields<Config> gated_fields() {
  Check rate = between(0, 1);
  return {{"use_bias", &Config::use_bias},
          {"kernel_initializer", &Config::kernel_initializer},
          {"recurrent_initializer", &Config::recurrent_initializer},
          {"bias_initializer", &Config::bias_initializer},
          {"kernel_regularizer", &Config::kernel_regularizer},
          {"recurrent_regularizer", &Config::recurrent_regularizer},
          {"bias_regularizer", &Config::bias_regularizer},
          {"dropout", &Config::dropout, rate},
          {"recurrent_dropout", &Config::recurrent_dropout, rate},
          {"kernel_constraint", &Config::kernel_constraint},
          {"recurrent_constraint", &Config::recurrent_constraint},
          {"bias_constraint", &Config::bias_constraint}};
}

std::shared_ptr<GatedCell> make_cell(const SimpleRNNCellConfig& config);
std::shared_ptr<GatedCell> make_cell(const LSTMCellConfig& config);
std::shared_ptr<GatedCell> make_cell(const GRUCellConfig& config);

// Cells on top of each other.
class StackedCells : public RNNCell {
 public:
  StackedCells(const std::vector<Layer>& cells, const std::string& name);
  std::string kind() const override { return "StackedRNNCells"; }
  Attrs config() const override;
  std::vector<Shape> state_size() const override;
  void build(const std::vector<Shape>& inputs) override;
  Values call(const Values& inputs, CallContext& context) override;
  const std::vector<Layer>& cells() const { return cells_; }

 private:
  std::vector<Layer> cells_;
};

// The cell in a layer; ValueError, in the name of `owner`, for anything else.
std::shared_ptr<RNNCell> cell_of(const Layer& layer, const std::string& owner);

}  // namespace stoker
