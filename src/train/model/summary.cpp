#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/flops.h>
#include <stoker/model.h>

#include "base/printable.h"
#include "graph/graph.h"
#include "nn/layer_tree.h"
#include "nn/names.h"
#include "train/model/memory_table.h"
#include "train/model/model_base.h"
#include "train/model/settings.h"
#include "train/model/summary.h"
#include "train/model/trainer.h"

namespace stoker {

namespace {

using Row = std::vector<std::string>;

std::string with_thousands(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = int64_t(digits.size()) - 3; at > 0; at -= 3) digits.insert(size_t(at), ",");
  return digits;
}

std::string human_count(double count) {
  if (std::isnan(count)) return "None";
  for (const char* unit : {"", " k", " M", " G", " T"}) {
    if (count < 1000) return fmt::format("{:.{}f}{}", count, unit[0] ? 2 : 0, unit);
    count /= 1000;
  }
  return fmt::format("{:.0f} P", count);
}

// What one node costs: its own part of a forward graph for one sample.
class ForwardCost {
 public:
  // `rows`: the shapes of the inputs, without batch, all known.
  ForwardCost(const Topology& topology, const std::vector<Shape>& rows)
      : batch_(topology.batch_or(1)) {
    graph_.offer_random_state([] {
      return Variable("random_state", Tensor::from<int64_t>({0, 0}, {2}));
    });
    for (size_t i = 0; i < topology.inputs.size(); ++i) {
      known_[place(topology.inputs[i])] = graph_.input(
          topology.input_names[i], {topology.input_row(i).dtype, rows[i].prepend(batch_)});
    }
  }

  double flops(const std::shared_ptr<const SketchNode>& node) {
    size_t first = graph_.nodes().size();
    Graph::Scope scope(graph_, "summary");
    Values operands;
    for (const Value& input : node->inputs)
      operands.push_back(input.sketched() ? known_.at(place(input)) : input);
    Values results;
    if (const auto* op = std::get_if<SketchOp>(&node->what))
      results = stoker::apply(op->op, operands, op->attrs);
    else
      results = stoker::apply(std::get<std::shared_ptr<Callable>>(node->what), operands);
    for (size_t i = 0; i < results.size(); ++i)
      known_.try_emplace({node.get(), int(i)}, results[i]);
    double sum = 0;
    for (size_t i = first; i < graph_.nodes().size(); ++i)
      sum += graph_.cost(graph_.nodes()[i]).flops;
    return sum / double(batch_);
  }

 private:
  using Place = std::pair<const SketchNode*, int>;
  static Place place(const Value& value) {
    return {value.sketched()->node.get(), value.sketched()->output};
  }
  int64_t batch_;
  Graph graph_;
  std::map<Place, Value> known_;
};

// What the rows are called, each otherwise: layers and inputs by their names, ops by what they do.
class Labels {
 public:
  explicit Labels(const Topology& topology)
      : taken_(topology.input_names.begin(), topology.input_names.end()) {
    for (const Layer& layer : topology.layers) taken_.insert(layer.name());
    for (size_t i = 0; i < topology.inputs.size(); ++i)
      labels_[topology.inputs[i].sketched()->node.get()] = topology.input_names[i];
    for (const auto& node : topology.nodes)
      if (const Layer* layer = layer_of(*node))
        labels_[node.get()] = layer->name();
      else
        labels_[node.get()] = numbered(std::get<SketchOp>(node->what));
  }

  const std::string& of(const SketchNode& node) const { return labels_.at(&node); }
  std::string sources(const SketchNode& node) const {
    std::vector<std::string> names;
    for (const Value& input : node.inputs)
      if (input.sketched()) names.push_back(of(*input.sketched()->node));
    return fmt::format("{}", fmt::join(names, ", "));
  }

 private:
  std::string numbered(const SketchOp& op) {
    return unique_name(op.attrs.has("fn") ? op.attrs.get<std::string>("fn") : op.op, taken_);
  }
  std::set<std::string> taken_;
  std::map<const SketchNode*, std::string> labels_;
};

// The shapes of the inputs, without batch: as declared or, where dimensions are unknown, as the
// batch before had them. Empty: there was none.
std::vector<Shape> known_rows(const ModelBase& model, const Topology& topology) {
  std::vector<Shape> rows;
  const auto& programs = model.trainer->programs.entries();
  for (size_t i = 0; i < topology.inputs.size(); ++i) {
    rows.push_back(topology.input_row(i).shape);
    if (rows.back().is_known()) continue;
    if (programs.empty()) return {};
    rows.back() = programs[0]->specs[i].shape.drop_front();
  }
  return rows;
}

// " of [17, 64]" where that is not what the inputs declare.
std::string seen_rows(const ModelBase& model, const Topology& topology) {
  std::vector<Shape> rows = known_rows(model, topology);
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i)
    if (!topology.input_row(i).shape.is_known())
      text += (text.empty() ? " of " : " and ") + to_string(rows[i]);
  return text;
}

struct Entry {
  std::string title, shape, params, connected;
  double flops = 0;                // NaN: not known before a batch
  std::vector<std::string> names;  // of the layers that it stands for
};

// The layer's, and those inside of it.
std::vector<std::string> names_in(const Layer& layer) {
  std::vector<std::string> names = {layer.base().path()};
  for (const Descendant& inner : descendants(layer.base()))
    names.push_back(inner.layer.base().path());
  return names;
}

// One row per layer, its calls added up, and one per op.
std::vector<Entry> entries_of(const ModelBase& model, const Topology& topology) {
  std::optional<ForwardCost> cost;
  if (std::vector<Shape> rows = known_rows(model, topology); !rows.empty())
    cost.emplace(topology, rows);
  Labels labels(topology);
  std::vector<Entry> entries;
  std::map<const LayerBase*, size_t> index;
  for (const auto& node : topology.nodes) {
    const Layer* layer = layer_of(*node);
    double flops = cost ? cost->flops(node) : std::nan("");
    if (layer != nullptr) {
      auto [known, is_new] = index.try_emplace(&layer->base(), entries.size());
      if (!is_new) {
        entries[known->second].flops += flops;
        entries[known->second].connected += "; " + labels.sources(*node);
        continue;
      }
    }
    std::string kind = layer ? layer->base().kind() : "op";
    entries.push_back({.title = fmt::format("{} ({})", labels.of(*node), kind),
                       .shape = to_string(node->outputs[0].shape),
                       .params = layer ? with_thousands(layer->base().parameters()) : "0",
                       .connected = labels.sources(*node),
                       .flops = flops,
                       .names = layer ? names_in(*layer) : std::vector<std::string>()});
  }
  return entries;
}

// The columns of times, filled from what was measured; what no row stands for is left.
class TimeColumns {
 public:
  explicit TimeColumns(std::map<std::string, LayerSeconds> measured) : left_(std::move(measured)) {}

  void add(Row& row, const std::vector<std::string>& names) {
    LayerSeconds sum;
    for (const std::string& name : names)
      if (auto found = left_.find(name); found != left_.end()) {
        sum = plus(sum, found->second);
        left_.erase(found);
      }
    put(row, sum);
  }
  LayerSeconds left() const {
    LayerSeconds sum;
    for (const auto& [name, seconds] : left_) sum = plus(sum, seconds);
    return sum;
  }
  const LayerSeconds& total() const { return total_; }
  void put(Row& row, const LayerSeconds& seconds) {
    total_ = plus(total_, seconds);
    for (double each : {seconds.forward, seconds.backward, seconds.update})
      row.push_back(each > 0 ? fmt::format("{:.3f} ms", each * 1e3) : "-");
  }

 private:
  static LayerSeconds plus(const LayerSeconds& a, const LayerSeconds& b) {
    return {a.forward + b.forward, a.backward + b.backward, a.update + b.update};
  }
  std::map<std::string, LayerSeconds> left_;
  LayerSeconds total_;
};

// All rows have as many columns; those from `numbers` on are aligned at the right, but for a last
// column of `words`.
std::string table(const std::vector<Row>& rows, size_t numbers, bool words) {
  size_t columns = rows[0].size();
  std::vector<size_t> widths(columns);
  for (const Row& row : rows)
    for (size_t column = 0; column < columns; ++column)
      widths[column] = std::max(widths[column], row[column].size());
  size_t total = 2 * (columns - 1);
  for (size_t column = 0; column < columns; ++column) total += widths[column];
  std::string rule(total, '-'), text;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string line;
    for (size_t column = 0; column < columns; ++column) {
      const std::string& cell = rows[i][column];
      bool number = column >= numbers && !(words && column + 1 == columns);
      line += number ? fmt::format("{:>{}}  ", cell, widths[column])
                     : fmt::format("{:<{}}  ", cell, widths[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (i == 0 || i + 1 == rows.size()) text += rule + "\n";
  }
  return text;
}

int64_t elements(const std::vector<Variable>& variables) {
  int64_t sum = 0;
  for (const Variable& variable : variables) sum += variable.shape().elements();
  return sum;
}

}  // namespace

double count_flops(const Model& model) {
  double sum = 0;
  const ModelBase& base = ModelAccess::base(model);
  for (const Entry& entry : entries_of(base, base.topology("count_flops()"))) sum += entry.flops;
  if (std::isnan(sum))
    throw Error(base.title() +
                ": count_flops() depends on dimensions that are unknown before the first batch");
  return sum;
}

std::string summary_text(const Model& handle, const SummaryArgs& args,
                         const std::map<std::string, LayerSeconds>* seconds) {
  ModelBase& model = ModelAccess::base(handle);
  const Topology& topology = model.topology("summary()");
  std::optional<TimeColumns> times;
  if (seconds != nullptr) times.emplace(*seconds);
  std::vector<Row> rows = {{"Layer (kind)", "Output shape", "Params", "FLOPs / sample"}};
  if (times) rows[0].insert(rows[0].end(), {"Forward", "Backward", "Update"});
  if (!model.sequential()) rows[0].emplace_back("Connected to");
  auto add = [&](Row row, const std::vector<std::string>& names, const std::string& connected) {
    if (times) times->add(row, names);
    if (!model.sequential()) row.push_back(connected);
    rows.push_back(std::move(row));
  };
  if (!model.sequential())
    for (size_t i = 0; i < topology.inputs.size(); ++i)
      add({topology.input_names[i] + " (Input)", to_string(topology.inputs[i].shape()), "0", "0"},
          {}, "");
  double flops = 0;
  for (const Entry& entry : entries_of(model, topology)) {
    flops += entry.flops;
    add({entry.title, entry.shape, entry.params, human_count(entry.flops)}, entry.names,
        entry.connected);
  }
  if (times) {
    Row rest{"(loss, metrics, optimiser)", "", "", ""};
    times->put(rest, times->left());
    if (!model.sequential()) rest.emplace_back();
    rows.push_back(std::move(rest));
  }
  int64_t trainable = elements(handle.trainable_variables()),
          others = elements(handle.non_trainable_variables());
  std::string text = model.title() + "\n" + table(rows, 2, !model.sequential());
  text +=
      fmt::format("Parameters: {} ({}), trainable {}, non-trainable {}\n",
                  with_thousands(trainable + others), human_bytes(4.0 * double(trainable + others)),
                  with_thousands(trainable), with_thousands(others));
  if (model.trainer->compiled) text += precision_line(*model.trainer->context);
  if (std::isnan(flops))
    text +=
        "Forward FLOPs and memory depend on the None dimensions; known from the first batch on\n";
  else
    text += fmt::format("Forward: {}FLOPs per sample{}\n",
                        human_count(flops) + (flops < 1000 ? " " : ""), seen_rows(model, topology));
  if (times)
    text += fmt::format(
        "A training step at batch {}: {:.3f} ms forward, {:.3f} backward, {:.3f} "
        "update\n",
        args.batch_size, times->total().forward * 1e3, times->total().backward * 1e3,
        times->total().update * 1e3);
  if (std::optional<MemoryReport> memory = training_memory(model, args.batch_size))
    text += fmt::format("Memory of a training step at batch {}{}:\n{}", args.batch_size,
                        seen_rows(model, topology), memory_table(*memory));
  return printable_lines(text);
}

}  // namespace stoker
