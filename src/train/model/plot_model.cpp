#include <stoker/plot_model.h>

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/printable.h"
#include "train/model/model_base.h"
#include "train/model/plot_layout.h"
#include "train/model/topology.h"

namespace stoker::utils {

namespace {

using plot::Drawing;
using plot::Point;

// What stands in a box: the first line is its title.
struct PlotNode {
  std::vector<std::string> lines;
  bool is_input = false, is_frozen = false;
};

struct PlotGraph {
  std::vector<PlotNode> nodes;
  std::vector<plot::Edge> edges;
};

class GraphOfModel {
 public:
  GraphOfModel(const Model& model, const PlotModelOptions& options) : options_(options) {
    const Topology& topology = ModelAccess::base(model).topology("plot_model");
    for (size_t i = 0; i < topology.inputs.size(); ++i) {
      const Value& input = topology.inputs[i];
      add(*input.sketched()->node, "Input", topology.input_names[i]).is_input = true;
    }
    for (const auto& node : topology.nodes) {
      if (const Layer* layer = layer_of(*node))
        add_layer(*node, *layer);
      else
        add(*node, op_name(*node), "");
    }
  }
  PlotGraph graph;

 private:
  static std::string op_name(const SketchNode& node) {
    const auto& op = std::get<SketchOp>(node.what);
    return op.attrs.has("fn") ? op.attrs.get<std::string>("fn") : op.op;
  }

  void add_layer(const SketchNode& node, const Layer& layer) {
    PlotNode& drawn = add(node, layer.base().kind(), layer.name());
    drawn.is_frozen = options_.show_trainable && !layer.trainable();
    if (drawn.is_frozen) drawn.lines.emplace_back("frozen");
    if (!options_.show_layer_activations || ModelAccess::base(layer) != nullptr) return;
    Attrs config = layer.base().config();
    if (config.has("activation"))
      drawn.lines.push_back("activation: " + config.get<std::string>("activation"));
  }

  PlotNode& add(const SketchNode& node, const std::string& kind, const std::string& name) {
    size_t index = graph.nodes.size();
    index_[&node] = index;
    bool named = options_.show_layer_names && !name.empty();
    PlotNode drawn{{printable(named ? name + " (" + kind + ")" : kind)}};
    std::vector<std::string> shapes;
    for (const Value& input : node.inputs) {
      if (!input.sketched()) continue;
      shapes.push_back(to_string(input.shape()));
      auto from = index_.find(input.sketched()->node.get());
      if (from != index_.end()) add_edge(from->second, index);
    }
    if (options_.show_shapes && !shapes.empty())
      drawn.lines.push_back(fmt::format("in: {}", fmt::join(shapes, ", ")));
    for (const TensorSpec& output : node.outputs) {
      if (options_.show_shapes) drawn.lines.push_back("out: " + to_string(output.shape));
      if (options_.show_dtype)
        drawn.lines.push_back(fmt::format("dtype: {}", stoker::name(output.dtype)));
    }
    return graph.nodes.emplace_back(std::move(drawn));
  }

  // One line, however many values go that way.
  void add_edge(size_t from, size_t to) {
    for (const plot::Edge& edge : graph.edges)
      if (edge.from == from && edge.to == to) return;
    graph.edges.push_back({from, to});
  }

  const PlotModelOptions& options_;
  std::map<const SketchNode*, size_t> index_;
};

PlotGraph graph_of(const Model& model, const PlotModelOptions& options) {
  if (options.rankdir != "TB" && options.rankdir != "LR")
    throw ValueError(
        fmt::format("plot_model: expected rankdir \"TB\" or \"LR\", got \"{}\"", options.rankdir));
  return GraphOfModel(model, options).graph;
}

// --- SVG

constexpr double kLetter = 7.3, kLine = 17, kPad = 9;  // of 12 px, monospaced

std::string xml(const std::string& text) {
  std::string safe;
  for (char c : text) switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  return safe;
}

size_t letters(const std::string& text) {  // of UTF-8
  return size_t(std::ranges::count_if(text, [](char c) { return (uint8_t(c) & 0xC0) != 0x80; }));
}

Drawing drawing_of(const PlotGraph& graph) {
  Drawing drawing;
  for (const PlotNode& node : graph.nodes) {
    size_t widest = 0;
    for (const std::string& line : node.lines) widest = std::max(widest, letters(line));
    drawing.boxes.push_back({std::max(60.0, double(widest) * kLetter + 2 * kPad),
                             double(node.lines.size()) * kLine + kPad});
  }
  drawing.edges = graph.edges;
  return drawing;
}

std::string curve(const std::vector<Point>& points, bool down) {
  std::string path = fmt::format("M{:.1f} {:.1f}", points[0].x, points[0].y);
  for (size_t i = 1; i < points.size(); ++i) {
    Point a = points[i - 1], b = points[i];
    Point first = down ? Point{a.x, (a.y + b.y) / 2} : Point{(a.x + b.x) / 2, a.y};
    Point second = down ? Point{b.x, (a.y + b.y) / 2} : Point{(a.x + b.x) / 2, b.y};
    path += fmt::format(" C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", first.x, first.y, second.x,
                        second.y, b.x, b.y);
  }
  return path;
}

std::string box(const PlotNode& node, const plot::Box& place) {
  double left = place.centre.x - place.width / 2, top = place.centre.y - place.height / 2;
  std::string text = fmt::format(
      "<g class=\"{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "rx=\"4\"/>",
      node.is_input    ? "input"
      : node.is_frozen ? "frozen"
                       : "layer",
      left, top, place.width, place.height);
  for (size_t i = 0; i < node.lines.size(); ++i)
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", place.centre.x,
                        top + kPad / 2 + kLine * (double(i) + 0.72),
                        i == 0 ? " class=\"title\"" : "", xml(node.lines[i]));
  return text + "</g>\n";
}

constexpr const char* kStyle =
    "<style>text{font:12px monospace;text-anchor:middle;fill:#1c2733}"
    ".title{font-weight:bold}rect{fill:#eef3f8;stroke:#5b7083}.input rect{fill:#e7f3e8}"
    ".frozen rect{fill:#f0f0f0;stroke-dasharray:4 3}path.line{fill:none;stroke:#5b7083;"
    "stroke-width:1.3}</style>\n"
    "<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
    "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
    "fill=\"#5b7083\"/></marker></defs>\n";

// --- Graphviz

std::string quoted(const std::string& text) {
  std::string safe;
  for (char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe;
}

}  // namespace

std::string model_to_svg(const Model& model, const PlotModelOptions& options) {
  PlotGraph graph = graph_of(model, options);
  bool down = options.rankdir == "TB";
  Drawing drawing = drawing_of(graph);
  plot::lay_out(drawing, down ? plot::Direction::down : plot::Direction::right);
  std::string title = xml(printable(ModelAccess::base(model).title()));
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n{3}"
      "<rect width=\"100%\" height=\"100%\" style=\"fill:#fff;stroke:none\"/>\n",
      std::ceil(drawing.width), std::ceil(drawing.height), title, kStyle);
  for (const plot::Edge& edge : drawing.edges)
    svg += fmt::format("<path class=\"line\" marker-end=\"url(#end)\" d=\"{}\"/>\n",
                       curve(edge.points, down));
  for (size_t i = 0; i < graph.nodes.size(); ++i) svg += box(graph.nodes[i], drawing.boxes[i]);
  return svg + "</svg>\n";
}

std::string model_to_dot(const Model& model, const PlotModelOptions& options) {
  PlotGraph graph = graph_of(model, options);
  std::string dot =
      fmt::format("digraph model {{\n  rankdir={};\n  node [shape=box];\n", options.rankdir);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    std::string label;
    for (const std::string& line : graph.nodes[i].lines)
      label += (label.empty() ? "" : "\\n") + quoted(line);
    dot += fmt::format("  n{} [label=\"{}\"];\n", i, label);
  }
  for (const plot::Edge& edge : graph.edges)
    dot += fmt::format("  n{} -> n{};\n", edge.from, edge.to);
  return dot + "}\n";
}

void plot_model(const Model& model, const std::string& to_file, const PlotModelOptions& options) {
  if (to_file.ends_with(".svg"))
    return write_file_atomically(to_file, model_to_svg(model, options));
  if (to_file.ends_with(".dot"))
    return write_file_atomically(to_file, model_to_dot(model, options));
  throw ValueError(fmt::format(
      "plot_model: \"{}\": expected a path that ends in .svg or .dot; browsers show and print SVG",
      to_file));
}

}  // namespace stoker::utils
