#include "train/model/plot_layout.h"

#include <algorithm>
#include <numeric>

namespace stoker::plot {

namespace {

constexpr double kBetweenRanks = 36, kBetweenBoxes = 24, kLineWidth = 10, kMargin = 16;
constexpr int kSweeps = 8;

// A box, or a place where a line passes a rank. `main` runs along the direction of the graph,
// `cross` across it.
struct Place {
  size_t rank = 0;
  double main_extent = 0, cross_extent = kLineWidth;
  double main = 0, cross = 0;  // centre
  std::vector<size_t> above, below;
};

class Layout {
 public:
  Layout(Drawing& drawing, Direction direction)
      : drawing_(drawing), down_(direction == Direction::down) {
    add_boxes();
    add_lines();
    for (int sweep = 0; sweep < kSweeps; ++sweep) sort_ranks(sweep % 2 == 0);
    set_main();
    pack_ranks();
    for (int sweep = 0; sweep < 2 * kSweeps; ++sweep) straighten(sweep % 2 == 0);
    finish();
  }

 private:
  void add_boxes() {
    for (const Box& box : drawing_.boxes) {
      Place place;
      place.main_extent = down_ ? box.height : box.width;
      place.cross_extent = down_ ? box.width : box.height;
      places_.push_back(place);
    }
    for (const Edge& edge : drawing_.edges)
      places_[edge.to].rank = std::max(places_[edge.to].rank, places_[edge.from].rank + 1);
    for (size_t i = 0; i < places_.size(); ++i) rank_of(places_[i].rank).push_back(i);
  }

  std::vector<size_t>& rank_of(size_t rank) {
    if (rank >= ranks_.size()) ranks_.resize(rank + 1);
    return ranks_[rank];
  }

  // One place in every rank that an edge passes.
  void add_lines() {
    for (const Edge& edge : drawing_.edges) {
      std::vector<size_t> way = {edge.from};
      for (size_t rank = places_[edge.from].rank + 1; rank < places_[edge.to].rank; ++rank) {
        way.push_back(places_.size());
        rank_of(rank).push_back(places_.size());
        places_.emplace_back().rank = rank;
      }
      way.push_back(edge.to);
      for (size_t i = 1; i < way.size(); ++i) {
        places_[way[i - 1]].below.push_back(way[i]);
        places_[way[i]].above.push_back(way[i - 1]);
      }
      ways_.push_back(std::move(way));
    }
  }

  // By the mean place of the neighbours in the rank before (or behind).
  void sort_ranks(bool from_above) {
    std::vector<double> order(places_.size());
    for (const auto& rank : ranks_)
      for (size_t i = 0; i < rank.size(); ++i) order[rank[i]] = double(i);
    auto sort = [&](std::vector<size_t>& rank) {
      std::vector<double> wish(places_.size());
      for (size_t at : rank) wish[at] = mean_of(neighbours(at, from_above), order, order[at]);
      std::stable_sort(rank.begin(), rank.end(),
                       [&](size_t a, size_t b) { return wish[a] < wish[b]; });
      for (size_t i = 0; i < rank.size(); ++i) order[rank[i]] = double(i);
    };
    if (from_above)
      std::for_each(ranks_.begin(), ranks_.end(), sort);
    else
      std::for_each(ranks_.rbegin(), ranks_.rend(), sort);
  }

  const std::vector<size_t>& neighbours(size_t at, bool above) const {
    return above ? places_[at].above : places_[at].below;
  }
  static double mean_of(const std::vector<size_t>& list, const std::vector<double>& values,
                        double fallback) {
    if (list.empty()) return fallback;
    double sum = 0;
    for (size_t at : list) sum += values[at];
    return sum / double(list.size());
  }

  void set_main() {
    double next = kMargin;
    for (const auto& rank : ranks_) {
      double extent = 0;
      for (size_t at : rank) extent = std::max(extent, places_[at].main_extent);
      for (size_t at : rank) places_[at].main = next + extent / 2;
      for (size_t at : rank)  // a line runs straight past the boxes
        if (at >= drawing_.boxes.size()) places_[at].main_extent = extent;
      next += extent + kBetweenRanks;
    }
    main_end_ = next - kBetweenRanks + kMargin;
  }

  static double distance(const Place& a, const Place& b) {
    return (a.cross_extent + b.cross_extent) / 2 + kBetweenBoxes;
  }

  void pack_ranks() {
    for (const auto& rank : ranks_)
      for (size_t i = 0; i < rank.size(); ++i)
        places_[rank[i]].cross =
            i == 0 ? 0
                   : places_[rank[i - 1]].cross + distance(places_[rank[i - 1]], places_[rank[i]]);
  }

  // Every place goes to the middle of its neighbours as far as those beside it allow: the mean of
  // what a pass from either side gives, which keeps all distances.
  void straighten(bool from_above) {
    std::vector<double> cross(places_.size());
    for (size_t i = 0; i < places_.size(); ++i) cross[i] = places_[i].cross;
    auto settle = [&](const std::vector<size_t>& rank) {
      size_t count = rank.size();
      std::vector<double> left(count), right(count);
      for (size_t i = 0; i < count; ++i)
        left[i] = right[i] =
            mean_of(neighbours(rank[i], from_above), cross, places_[rank[i]].cross);
      for (size_t i = 1; i < count; ++i)
        left[i] = std::max(left[i], left[i - 1] + distance(places_[rank[i - 1]], places_[rank[i]]));
      for (size_t i = count; i-- > 1;)
        right[i - 1] =
            std::min(right[i - 1], right[i] - distance(places_[rank[i - 1]], places_[rank[i]]));
      for (size_t i = 0; i < count; ++i)
        cross[rank[i]] = places_[rank[i]].cross = (left[i] + right[i]) / 2;
    };
    if (from_above)
      std::for_each(ranks_.begin(), ranks_.end(), settle);
    else
      std::for_each(ranks_.rbegin(), ranks_.rend(), settle);
  }

  Point point(double main, double cross) const {
    return down_ ? Point{cross - shift_, main} : Point{main, cross - shift_};
  }

  void finish() {
    double low = 0, high = 0;
    for (const Place& place : places_) {
      low = std::min(low, place.cross - place.cross_extent / 2);
      high = std::max(high, place.cross + place.cross_extent / 2);
    }
    shift_ = low - kMargin;
    double across = high - low + 2 * kMargin;
    drawing_.width = down_ ? across : main_end_;
    drawing_.height = down_ ? main_end_ : across;
    for (size_t i = 0; i < drawing_.boxes.size(); ++i)
      drawing_.boxes[i].centre = point(places_[i].main, places_[i].cross);
    for (size_t i = 0; i < ways_.size(); ++i) drawing_.edges[i].points = points_of(ways_[i]);
  }

  std::vector<Point> points_of(const std::vector<size_t>& way) const {
    std::vector<Point> points;
    for (size_t at : way) {
      const Place& place = places_[at];
      if (at != way.front())
        points.push_back(point(place.main - place.main_extent / 2, place.cross));
      if (at != way.back())
        points.push_back(point(place.main + place.main_extent / 2, place.cross));
    }
    return points;
  }

  Drawing& drawing_;
  bool down_;
  std::vector<Place> places_;
  std::vector<std::vector<size_t>> ranks_, ways_;
  double main_end_ = 0, shift_ = 0;
};

}  // namespace

void lay_out(Drawing& drawing, Direction direction) { Layout(drawing, direction); }

}  // namespace stoker::plot
