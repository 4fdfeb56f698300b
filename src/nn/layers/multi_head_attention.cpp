// MultiHeadAttention and GroupedQueryAttention: projections around attend().
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <stoker/layers.h>

#include "nn/layers/attention.h"
#include "nn/layers/attention_call.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/masks.h"

namespace stoker {

namespace {

template <class Config>
Fields<Config> projection_fields() {
  return {{"dropout", &Config::dropout, {.check = in_half_open(0, 1)}},
          {"use_bias", &Config::use_bias},
          {"sliding_window", &Config::sliding_window, {.check = at_least(0), .sparse = true}},
          {"kernel_initializer", &Config::kernel_initializer},
          {"bias_initializer", &Config::bias_initializer},
          {"kernel_regularizer", &Config::kernel_regularizer},
          {"bias_regularizer", &Config::bias_regularizer},
          {"activity_regularizer", &Config::activity_regularizer},
          {"kernel_constraint", &Config::kernel_constraint, {.sparse = true}},
          {"bias_constraint", &Config::bias_constraint, {.sparse = true}},
          {"use_gate", &Config::use_gate, {.sparse = true}}};
}

struct MultiHeadAttentionConfig : MultiHeadAttentionOptions {
  int64_t num_heads = 0, key_dim = 0;
  static constexpr const char* kKind = "MultiHeadAttention";
  static Fields<MultiHeadAttentionConfig> fields() {
    using C = MultiHeadAttentionConfig;
    return Fields<C>{{"num_heads", &C::num_heads, {.check = at_least(1), .required = true}},
                     {"key_dim", &C::key_dim, {.check = at_least(1), .required = true}},
                     {"value_dim", &C::value_dim, {.check = at_least(0), .sparse = true}},
                     {"output_shape", &C::output_shape, {.sparse = true}},
                     {"attention_axes", &C::attention_axes}}
        .then(projection_fields<C>());
  }
};

struct GroupedQueryAttentionConfig : GroupedQueryAttentionOptions {
  int64_t head_dim = 0, num_query_heads = 0, num_key_value_heads = 0;
  static constexpr const char* kKind = "GroupedQueryAttention";
  static Fields<GroupedQueryAttentionConfig> fields() {
    using C = GroupedQueryAttentionConfig;
    return Fields<C>{
        {"head_dim", &C::head_dim, {.check = at_least(1), .required = true}},
        {"num_query_heads", &C::num_query_heads, {.check = at_least(1), .required = true}},
        {"num_key_value_heads", &C::num_key_value_heads, {.check = at_least(1), .required = true}}}
        .then(projection_fields<C>());
  }
};

// What both are.
struct HeadSizes {
  int64_t heads, kv_heads, dim, value_dim;
  Shape output_shape;  // empty: the query's features
  std::optional<Axes> attention_axes;
};
HeadSizes sizes_of(const MultiHeadAttentionConfig& c) {
  return {c.num_heads,    c.num_heads,     c.key_dim, c.value_dim > 0 ? c.value_dim : c.key_dim,
          c.output_shape, c.attention_axes};
}
HeadSizes sizes_of(const GroupedQueryAttentionConfig& c) {
  return {c.num_query_heads, c.num_key_value_heads, c.head_dim, c.head_dim, {}, {}};
}

// Inputs [B, axes.., features]: which axes attention is over, and how they get side by side.
struct AttentionAxes {
  Ints over, others;  // of the input, without the batch; ascending

  // [B, axes.., heads, dim] ↔ [B · others, over, heads, dim]
  bool plain() const { return others.empty() && over.size() == 1; }
  Ints perm(bool with_features) const {
    Ints order = {0};
    order.insert(order.end(), others.begin(), others.end());
    order.insert(order.end(), over.begin(), over.end());
    auto rank = int64_t(order.size());
    if (with_features) order.insert(order.end(), {rank, rank + 1});
    return order;
  }
  int64_t extent(const Shape& shape, const Ints& axes) const {
    int64_t all = 1;
    for (int64_t axis : axes) all *= shape[int(axis)];
    return all;
  }
  Value folded(const Value& x) const {
    if (plain()) return x;
    const Shape& s = x.shape();
    return ops::reshape(ops::transpose(x, perm(true)),
                        {s[0] * extent(s, others), extent(s, over), s[-2], s[-1]});
  }
  // `like`: what was folded, before its projection.
  Value unfolded(const Value& y, const Shape& like) const {
    if (plain()) return y;
    Ints order = perm(true), extents, back(order.size());
    for (size_t i = 0; i + 2 < order.size(); ++i) extents.push_back(like[int(order[i])]);
    extents.insert(extents.end(), {y.shape()[-2], y.shape()[-1]});
    for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = int64_t(i);
    return ops::transpose(ops::reshape(y, Shape(std::span<const int64_t>(extents))), back);
  }
};

template <class Config>
class ProjectedAttention : public Configured<AttentionBase, Config> {
 public:
  explicit ProjectedAttention(Config config)
      : Configured<AttentionBase, Config>(std::move(config)), sizes_(sizes_of(this->options())) {
    if (sizes_.heads % sizes_.kv_heads != 0)
      this->fail_option(
          fmt::format("expected num_query_heads to be a multiple of num_key_value_heads, got {} "
                      "and {}",
                      sizes_.heads, sizes_.kv_heads));
  }

  void build(const std::vector<Shape>& inputs) override {
    AttentionBase::Shapes shapes = this->operand_shapes(inputs);
    check(shapes);
    const auto& o = this->options();
    query_ = projection("query", sizes_.heads, sizes_.dim);
    key_ = projection("key", sizes_.kv_heads, sizes_.dim);
    if (o.use_gate) gate_ = projection("gate", sizes_.heads, sizes_.value_dim, "sigmoid");
    value_ = projection("value", sizes_.kv_heads, sizes_.value_dim);
    output_ = output(shapes.query);
    this->adopt(query_.shared());
    this->adopt(key_.shared());
    if (o.use_gate) this->adopt(gate_.shared());
    this->adopt(value_.shared());
    this->adopt(output_.shared());
  }

 protected:
  Values attend_to(const AttentionOperands& in, CallContext& context) override {
    AttentionAxes axes = resolved(in.query.shape().rank());
    check({in.query.shape(), in.value.shape(), in.key.shape()});
    if (in.causal && axes.over.size() != 1)
      this->fail_input("use_causal_mask needs attention over one axis; set attention_axes to it");
    Value gate = this->options().use_gate ? gate_(in.query) : Value();
    Attended a{.query = axes.folded(query_(in.query)),
               .key = axes.folded(key_(in.key)),
               .value = axes.folded(value_(in.value)),
               .query_mask = folded_steps(in.query_mask, in.query.shape(), axes),
               .key_mask = key_mask(in, axes),
               .attention_mask = folded_mask(in, axes),
               .causal = in.causal,
               .window = this->options().sliding_window,
               .scale = 1 / std::sqrt(double(sizes_.dim)),
               .rate = this->options().dropout,
               .with_scores = in.with_scores};
    AttendedResult result = attend(a, context);
    Value heads = axes.unfolded(result.output, in.query.shape());
    Value y = output_(gate.defined() ? heads * gate : heads);
    if (!in.with_scores) return {y};
    return {y, unfolded_scores(result.scores, in, axes)};
  }

 private:
  void check(const AttentionBase::Shapes& s) const {
    if (s.query.rank() < 3) this->fail_input("a query [B, Tq, features]", s.query);
    if (s.value.rank() != s.query.rank())
      this->fail_input(fmt::format("query and value of one rank, got {} and {}", to_string(s.query),
                                   to_string(s.value)));
    bool fits = s.key.rank() == s.value.rank();
    for (int axis = 0; fits && axis + 1 < s.key.rank(); ++axis)
      fits = s.key[axis] == s.value[axis] || s.key[axis] < 0 || s.value[axis] < 0;
    if (!fits)
      this->fail_input(fmt::format("key and value that differ in features alone, got {} and {}",
                                   to_string(s.key), to_string(s.value)));
  }

  // What every projection takes over from the layer.
  EinsumDenseOptions projected(const std::string& name, const std::string& bias_axes) const {
    const auto& o = this->options();
    return {.bias_axes = o.use_bias ? bias_axes : "",
            .kernel_initializer = o.kernel_initializer,
            .bias_initializer = o.bias_initializer,
            .kernel_regularizer = o.kernel_regularizer,
            .bias_regularizer = o.bias_regularizer,
            .activity_regularizer = o.activity_regularizer,
            .kernel_constraint = o.kernel_constraint,
            .bias_constraint = o.bias_constraint,
            .name = name};
  }

  Layer projection(const std::string& name, int64_t heads, int64_t dim,
                   const std::string& activation = "linear") const {
    EinsumDenseOptions options = projected(name, "bc");
    options.activation = activation;
    return EinsumDense("...a,abc->...bc", {heads, dim}, options);
  }

  Layer output(const Shape& query) const {
    Shape shape = sizes_.output_shape.rank() > 0 ? sizes_.output_shape : Shape{query[-1]};
    std::string letters;
    for (int i = 0; i < shape.rank(); ++i) letters += char('d' + i);
    return EinsumDense(fmt::format("...bc,bc{0}->...{0}", letters), shape,
                       projected("attention_output", letters));
  }

  AttentionAxes resolved(int rank) const {
    AttentionAxes axes;
    if (sizes_.attention_axes)
      for (int64_t axis : sizes_.attention_axes->list) {
        int64_t counted = axis < 0 ? axis + rank : axis;  // features are the last one
        if (counted < 1 || counted >= rank - 1)
          this->fail_input(fmt::format(
              "attention_axes has {}, expected axes between batch and features of {} dimensions",
              axis, rank));
        axes.over.push_back(counted);
      }
    for (int64_t axis = 1; axis < rank - 1; ++axis) {
      bool named = std::ranges::find(axes.over, axis) != axes.over.end();
      if (sizes_.attention_axes && !named) axes.others.push_back(axis);
      if (!sizes_.attention_axes) axes.over.push_back(axis);
    }
    std::ranges::sort(axes.over);
    return axes;
  }

  // Of the value, and of a key of its own.
  static Value key_mask(const AttentionOperands& in, const AttentionAxes& axes) {
    Value mask = in.value_mask;
    if (in.key_mask.defined()) mask = mask.defined() ? both(mask, in.key_mask) : in.key_mask;
    return folded_steps(mask, in.value.shape(), axes);
  }

  // A mask [B, axes..], or its beginning, of x → bool [B · others, T]; undefined stays so.
  static Value folded_steps(const Value& mask, const Shape& x, const AttentionAxes& axes) {
    if (!mask.defined() || axes.plain()) return mask;
    Shape whole(x.dims().first(size_t(x.rank() - 1))), beside = whole;
    for (int axis = 0; axis < whole.rank(); ++axis)
      beside.set(axis, axis < mask.shape().rank() ? mask.shape()[axis] : 1);
    Value all = ops::broadcast_to(ops::reshape(mask, beside), whole);
    return ops::reshape(
        ops::transpose(all, axes.perm(false)),
        {whole[0] * axes.extent(whole, axes.others), axes.extent(whole, axes.over)});
  }

  // [B, Tq.., Tk..] → [B · others, 1, Tq, Tk]: the same for all other axes.
  Value folded_mask(const AttentionOperands& in, const AttentionAxes& axes) const {
    const Value& mask = in.attention_mask;
    if (!mask.defined() || axes.plain()) return mask;
    int64_t batch = in.query.shape()[0], others = axes.extent(in.query.shape(), axes.others);
    int64_t queries = axes.extent(in.query.shape(), axes.over);
    int64_t keys = axes.extent(in.key.shape(), axes.over);
    if (mask.shape().rank() != 1 + 2 * int(axes.over.size()))
      this->fail_input(
          fmt::format("expected an attention_mask [B, Tq.., Tk..] over the attention "
                      "axes, got {}",
                      to_string(mask.shape())));
    Value flat = ops::reshape(mask, {mask.shape()[0], 1, 1, queries, keys});
    return ops::reshape(ops::broadcast_to(flat, {batch, others, 1, queries, keys}),
                        {batch * others, 1, queries, keys});
  }

  // [B · others, heads, Tq, Tk] → [B, others.., heads, Tq.., Tk..]
  Value unfolded_scores(const Value& scores, const AttentionOperands& in,
                        const AttentionAxes& axes) const {
    if (axes.plain()) return scores;
    Ints extents = {in.query.shape()[0]};
    for (int64_t axis : axes.others) extents.push_back(in.query.shape()[int(axis)]);
    extents.push_back(sizes_.heads);
    for (int64_t axis : axes.over) extents.push_back(in.query.shape()[int(axis)]);
    for (int64_t axis : axes.over) extents.push_back(in.key.shape()[int(axis)]);
    return ops::reshape(scores, Shape(std::span<const int64_t>(extents)));
  }

  const HeadSizes sizes_;
  Layer query_, key_, value_, gate_, output_;
};

using MultiHeadAttentionLayer = ProjectedAttention<MultiHeadAttentionConfig>;
using GroupedQueryAttentionLayer = ProjectedAttention<GroupedQueryAttentionConfig>;

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t num_heads, int64_t key_dim,
                                       const MultiHeadAttentionOptions& options)
    : AttentionLayer(configured<MultiHeadAttentionLayer>({options, num_heads, key_dim}).shared(),
                     options.dtype) {}

GroupedQueryAttention::GroupedQueryAttention(int64_t head_dim, int64_t num_query_heads,
                                             int64_t num_key_value_heads,
                                             const GroupedQueryAttentionOptions& options)
    : AttentionLayer(configured<GroupedQueryAttentionLayer>(
                         {options, head_dim, num_query_heads, num_key_value_heads})
                         .shared(),
                     options.dtype) {}

void add_projected_attention_layers(LayerKinds& kinds) {
  add_layer<MultiHeadAttentionLayer>(kinds);
  add_layer<GroupedQueryAttentionLayer>(kinds);
}

}  // namespace stoker
