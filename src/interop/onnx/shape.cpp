// reshape, transpose, concat, slice, pad, broadcast_to, identity.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

constexpr const char* kUseFixed = "export with a fixed .batch";

// A list with an entry an axis, in the order of a form.
Ints in_form(const Ints& list, const Form& form) {
  Ints moved;
  for (int64_t axis : form) moved.push_back(list[size_t(axis)]);
  return moved;
}

// --- reshape -------------------------------------------------------------------------------------

// Whether a form has the elements in plain order: only axes of extent 1 have moved.
bool keeps_order(const OnnxBuilder& builder, int value, const Form& form) {
  int64_t last = -1;
  for (int64_t axis : form) {
    if (builder.shape(value)[int(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// ONNX's 0 copies the extent of the input at the same place, its -1 is what remains: so far of every
// extent that is open.
Ints reshape_target(const OnnxBuilder& builder, const Node& node) {
  int x = node.inputs[0], y = node.outputs[0];
  Ints target;
  for (int axis = 0; axis < builder.shape(y).rank(); ++axis) {
    bool copied = axis < builder.shape(x).rank() && builder.equal_extents(x, axis, y, axis);
    target.push_back(!builder.varies(y, axis) ? builder.shape(y)[axis] : copied ? 0 : -1);
  }
  return target;
}

// An extent of a reshape's result that is a multiple or a part of one of its operand `x`, whose ONNX
// value is `held`, as int64 [1]; empty: it is none.
std::string computed_extent(OnnxBuilder& builder, const std::string& held, int x, int y, int axis) {
  for (int at = 0; at < builder.shape(x).rank(); ++at) {
    if (!builder.varies(x, at)) continue;
    auto times = builder.multiple(y, axis, x, at), parts = builder.multiple(x, at, y, axis);
    if (!times && !parts) continue;
    std::string extent =
        builder.add("Shape", {held}, {{"start", int64_t(at)}, {"end", int64_t(at + 1)}});
    return builder.add(times ? "Mul" : "Div",
                       {extent, builder.integers({times ? *times : *parts})});
  }
  return "";
}

// The target of a reshape as an ONNX value. One open extent is what remains; of several (depth_to_space
// of pictures of any size) all but one have to follow from the operand's.
std::string reshape_shape(OnnxBuilder& builder, const Node& node, const std::string& held) {
  Ints target = reshape_target(builder, node);
  if (std::ranges::count(target, -1) <= 1) return builder.integers(target);
  std::vector<std::string> extents;
  int unknown = 0;
  for (int axis = 0; axis < int(target.size()); ++axis) {
    std::string extent = target[size_t(axis)] != -1 ? ""
                                                    : computed_extent(builder, held, node.inputs[0],
                                                                      node.outputs[0], axis);
    unknown += target[size_t(axis)] == -1 && extent.empty() ? 1 : 0;
    extents.push_back(extent.empty() ? builder.integers({target[size_t(axis)]}) : extent);
  }
  if (unknown > 1)
    builder.refuse(node,
                   "several of its extents depend on sizes that Input leaves open; give Input its "
                   "sizes, as in Input({64, 64, 3})");
  return builder.add("Concat", extents, {{"axis", int64_t(0)}});
}

// [B, H, W, C] → [B, H, 1, W, 1, C] → [B, H, h, W, w, C] → [B, H · h, W · w, C]: UpSampling2D.
// Gives {h, w}, or nothing.
Ints upsampling(const OnnxBuilder& builder, const Node& last) {
  const Node* repeat = builder.graph().producer(last.inputs[0]);
  if (repeat == nullptr || repeat->op->name != "broadcast_to") return {};
  const Node* first = builder.graph().producer(repeat->inputs[0]);
  if (first == nullptr || first->op->name != "reshape") return {};
  const Shape& x = builder.shape(first->inputs[0]);
  const Shape& wide = builder.shape(repeat->outputs[0]);
  if (x.rank() != 4 || wide.rank() != 6) return {};
  bool fits = builder.shape(first->outputs[0]) == Shape{x[0], x[1], 1, x[2], 1, x[3]} &&
              builder.shape(last.outputs[0]) == Shape{x[0], x[1] * wide[2], x[2] * wide[4], x[3]};
  return fits ? Ints{wide[2], wide[4]} : Ints{};
}

void export_reshape(OnnxBuilder& builder, const Node& node) {
  if (Ints factors = upsampling(builder, node); !factors.empty()) {
    int x =
        builder.graph().producer(builder.graph().producer(node.inputs[0])->inputs[0])->inputs[0];
    std::string scales =
        builder.constant(Tensor::from<float>({1, 1, float(factors[0]), float(factors[1])}, {4}));
    std::string y = builder.add("Resize", {builder.get(x, channels_first(4)), "", scales},
                                {{"mode", std::string("nearest")},
                                 {"coordinate_transformation_mode", std::string("asymmetric")},
                                 {"nearest_mode", std::string("floor")}});
    builder.set(node.outputs[0], y, channels_first(4));
    return;
  }
  int x = node.inputs[0];
  Form form = builder.form(x);
  bool usable = !form.empty() && form[0] == 0 && keeps_order(builder, x, form);
  for (int axis = 1; axis < int(form.size()); ++axis) usable = usable && !builder.varies(x, axis);
  std::string value = usable ? builder.get(x, form) : builder.get(x);
  std::string target = reshape_shape(builder, node, value);
  builder.set(node.outputs[0], builder.add("Reshape", {value, target}));
}

// --- transpose: the same tensor in another form --------------------------------------------------

void export_transpose(OnnxBuilder& builder, const Node& node) {
  int x = node.inputs[0];
  const auto& perm = node.attrs.get<Ints>("perm");
  Form held = builder.form(x), form;
  for (int64_t axis : held) form.push_back(place_of(perm, axis));
  builder.set(node.outputs[0], builder.get(x, held), form);
}

void export_identity(OnnxBuilder& builder, const Node& node) {
  Form form = builder.form(node.inputs[0]);
  builder.set(node.outputs[0], builder.get(node.inputs[0], form), form);
}

// --- concat, slice, pad, broadcast_to
// -------------------------------------------------------------

void export_concat(OnnxBuilder& builder, const Node& node) {
  Form form = builder.form(node.inputs[0]);
  for (int id : node.inputs)
    if (!builder.known(id) && builder.form(id) != plain_form(int(form.size())))
      form = builder.form(id);
  std::vector<std::string> parts;
  for (int id : node.inputs) parts.push_back(builder.get(id, form));
  int64_t axis = place_of(form, node.attrs.get<int64_t>("axis"));
  builder.set(node.outputs[0], builder.add("Concat", parts, {{"axis", axis}}), form);
}

void export_slice(OnnxBuilder& builder, const Node& node) {
  int x = node.inputs[0], y = node.outputs[0];
  const auto& begin = node.attrs.get<Ints>("begin");
  Form form = builder.form(x);
  Ints axes, starts, ends;
  for (int axis = 0; axis < builder.shape(x).rank(); ++axis) {
    int64_t from = begin[size_t(axis)];
    if (from == 0 && builder.equal_extents(x, axis, y, axis)) continue;
    axes.push_back(place_of(form, axis));
    starts.push_back(from);
    bool to_the_end = from + builder.shape(y)[axis] == builder.shape(x)[axis];
    if (builder.varies(y, axis) && !to_the_end)
      builder.refuse(node, fmt::format("what it cuts out of axis {} depends on the batch; {}", axis,
                                       kUseFixed));
    ends.push_back(builder.varies(y, axis) ? std::numeric_limits<int64_t>::max()
                                           : from + builder.shape(y)[axis]);
  }
  std::string value = builder.get(x, form);
  if (!axes.empty())
    value = builder.add(
        "Slice", {value, builder.integers(starts), builder.integers(ends), builder.integers(axes)});
  builder.set(y, value, form);
}

// ONNX Runtime 1.31 joins a Pad of zeros to the MaxPool behind it, whose padding is -infinity. It
// leaves any other number alone; this one is 0 to all others.
double fill_of(const OnnxBuilder& builder, const Node& node) {
  double fill = node.attrs.get_or("value", 0.0);
  auto pools = [&](const Node& reader) {
    return reader.is("max_pool2d") && reader.inputs[0] == node.outputs[0];
  };
  bool pooled = std::ranges::any_of(builder.graph().nodes(), pools);
  return fill == 0 && pooled ? std::numeric_limits<float>::denorm_min() : fill;
}

// Nor has it a Pad of int16.
void export_pad(OnnxBuilder& builder, const Node& node) {
  int x = node.inputs[0];
  Form form = builder.form(x);
  Ints pads = in_form(node.attrs.get<Ints>("before"), form);
  Ints after = in_form(node.attrs.get<Ints>("after"), form);
  pads.insert(pads.end(), after.begin(), after.end());
  std::string value = builder.get(x, form);
  DType dtype = builder.spec(x).dtype, padded = dtype == DType::int16 ? DType::int32 : dtype;
  if (padded != dtype) value = builder.add("Cast", {value}, {{"to", onnx_dtype(padded)}});
  value = builder.add(
      "Pad", {value, builder.integers(pads), builder.scalar(fill_of(builder, node), padded)});
  if (padded != dtype) value = builder.add("Cast", {value}, {{"to", onnx_dtype(dtype)}});
  builder.set(node.outputs[0], value, form);
}

// An extent that follows an input's, as int64 [1]; empty: no input has it.
std::string varying_extent(OnnxBuilder& builder, int value, int axis) {
  for (const GraphInput& input : builder.graph().inputs())
    for (int at = 0; at < builder.shape(input.value).rank(); ++at)
      if (builder.equal_extents(value, axis, input.value, at))
        return builder.add("Shape", {builder.get(input.value)},
                           {{"start", int64_t(at)}, {"end", int64_t(at + 1)}});
  return "";
}

// ONNX's Expand leaves an axis alone where the target says 1.
void export_broadcast_to(OnnxBuilder& builder, const Node& node) {
  int x = node.inputs[0], y = node.outputs[0];
  int rank = builder.shape(y).rank(), missing = rank - builder.shape(x).rank();
  Ints target;
  std::vector<int> varying;  // axes
  for (int axis = 0; axis < rank; ++axis) {
    bool kept = axis >= missing && builder.equal_extents(x, axis - missing, y, axis);
    if (!kept && builder.varies(y, axis)) varying.push_back(axis);
    target.push_back(kept ? 1 : builder.shape(y)[axis]);
  }
  if (!varying.empty()) {
    std::vector<std::string> extents;
    for (int64_t extent : target) extents.push_back(builder.integers({extent}));
    for (int axis : varying) {
      extents[size_t(axis)] = varying_extent(builder, y, axis);
      if (extents[size_t(axis)].empty())
        builder.refuse(
            node, fmt::format("it repeats a value as often as the batch is large; {}", kUseFixed));
    }
    std::string wanted = builder.add("Concat", extents, {{"axis", int64_t(0)}});
    return builder.set(y, builder.add("Expand", {builder.get(x), wanted}));
  }
  Form form = missing == 0 ? builder.form(x) : plain_form(rank);
  std::string value = missing == 0 ? builder.get(x, form) : builder.get(x);
  builder.set(y, builder.add("Expand", {value, builder.integers(in_form(target, form))}), form);
}

}  // namespace

void add_shape_exporters(OnnxExporters& exporters) {
  exporters["reshape"] = export_reshape;
  exporters["transpose"] = export_transpose;
  exporters["identity"] = export_identity;
  exporters["concat"] = export_concat;
  exporters["slice"] = export_slice;
  exporters["pad"] = export_pad;
  exporters["broadcast_to"] = export_broadcast_to;
}

}  // namespace stoker
