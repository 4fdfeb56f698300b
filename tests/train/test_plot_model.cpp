// plot_model and model_to_dot.
#include <gtest/gtest.h>
#include <stoker/layers.h>
#include <stoker/plot_model.h>

#include "base/file.h"
#include "support/temp_dir.h"
#include "train/model/plot_layout.h"

namespace stoker::test {
namespace {

Model branching(const std::string& name = "first") {
  Value in = Input({8}, {.name = "in"});
  Value a = Dense(4, {.activation = "relu", .name = name})(in);
  Value b = Dense(4)(a);
  return Model(in, Add()({a, Dense(4)(b)}));
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(PlotModel, DrawsABoxPerLayerAndALinePerConnection) {
  std::string svg = utils::model_to_svg(branching());
  EXPECT_EQ(count(svg, "<g class="), 5U);
  EXPECT_EQ(count(svg, "<path class=\"line\""), 5U);
  EXPECT_EQ(count(svg, ">Dense<"), 3U);
}

TEST(PlotModel, ShowsWhatIsAskedFor) {
  std::string svg = utils::model_to_svg(branching(), {.show_shapes = true,
                                                      .show_dtype = true,
                                                      .show_layer_names = true,
                                                      .show_layer_activations = true});
  for (const char* text :
       {"first (Dense)", "in: [None, 8]", "out: [None, 4]", "dtype: float32", "activation: relu"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
}

TEST(PlotModel, EscapesNames) {
  Model model = branching("<script>\"&\x1b");
  std::string svg = utils::model_to_svg(model, {.show_layer_names = true});
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;&quot;&amp;"), std::string::npos);
  EXPECT_EQ(svg.find('\x1b'), std::string::npos);
  std::string dot = utils::model_to_dot(model, {.show_layer_names = true});
  EXPECT_NE(dot.find("<script>\\\"&"), std::string::npos) << dot;
}

TEST(PlotModel, WritesByTheEnding) {
  TempDir dir;
  utils::plot_model(branching(), dir / "a.svg");
  EXPECT_TRUE(read_text(dir / "a.svg").starts_with("<svg"));
  utils::plot_model(branching(), dir / "a.dot", {.rankdir = "LR"});
  EXPECT_NE(read_text(dir / "a.dot").find("rankdir=LR"), std::string::npos);
  EXPECT_THROW(utils::plot_model(branching(), dir / "a.png"), ValueError);
  EXPECT_THROW(utils::model_to_svg(branching(), {.rankdir = "up"}), ValueError);
}

TEST(PlotLayout, KeepsBoxesApart) {
  plot::Drawing drawing;
  for (int i = 0; i < 6; ++i) drawing.boxes.push_back({80, 30});
  drawing.edges = {{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {3, 4}, {0, 4}, {4, 5}, {0, 5}};
  for (plot::Direction direction : {plot::Direction::down, plot::Direction::right}) {
    lay_out(drawing, direction);
    for (size_t a = 0; a < drawing.boxes.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        const plot::Box &one = drawing.boxes[a], &other = drawing.boxes[b];
        EXPECT_TRUE(std::abs(one.centre.x - other.centre.x) >= 80 ||
                    std::abs(one.centre.y - other.centre.y) >= 30)
            << a << " over " << b;
      }
    for (const plot::Box& box : drawing.boxes) {
      EXPECT_GE(box.centre.x, 40);
      EXPECT_LE(box.centre.x, drawing.width - 40);
    }
  }
}

}  // namespace
}  // namespace stoker::test
