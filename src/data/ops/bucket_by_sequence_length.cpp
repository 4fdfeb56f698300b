// bucket_by_sequence_length: elements of similar length become one padded batch. What follows is a
// stream: which elements a batch holds depends on the lengths of those before it.
#include <algorithm>

#include <fmt/format.h>

#include "data/node.h"
#include "data/ops/rows_into.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"

namespace stoker::data {

namespace {

struct Buckets {
  std::vector<int64_t> boundaries, batch_sizes;
  BucketOptions options;

  size_t of(const Batch& element) const {
    int64_t length = options.length ? options.length(element) : element[0].shape()[0];
    return size_t(std::ranges::upper_bound(boundaries, length) - boundaries.begin());
  }

  // What an unknown dimension of a batch from this bucket is padded to.
  int64_t extent(size_t bucket, int64_t longest) const {
    if (!options.pad_to_bucket_boundary) return longest;
    if (bucket == boundaries.size())
      throw ShapeError(fmt::format(
          "an element's length is {} or more, the last of bucket_by_sequence_length's boundaries; "
          "with pad_to_bucket_boundary cut it before, or add a boundary",
          boundaries.back()));
    int64_t most = boundaries[bucket] - 1;
    if (longest > most)
      throw ShapeError(fmt::format(
          "a dimension of an element is {}, but its bucket pads to {}; the length that the buckets "
          "go by must be the longest of its unknown dimensions",
          longest, most));
    return most;
  }
};

// Its tickets hold the elements of one batch, and its bucket as their choice.
class BucketTickets final : public RenumberedTickets {
 public:
  BucketTickets(std::unique_ptr<Tickets> input, Buckets buckets, std::string stage)
      : RenumberedTickets(std::move(input)),
        buckets_(std::move(buckets)),
        stage_(std::move(stage)) {}

  void begin(int64_t epoch) override {
    RenumberedTickets::begin(epoch);
    waiting_.assign(buckets_.batch_sizes.size(), {});
    flushed_ = 0;
    ended_ = false;
  }

  bool next(Ticket& ticket) override {
    Ticket part;
    while (!ended_ && input_->next(part)) {
      size_t bucket = 0;
      if (!find_bucket(part, bucket)) return give({std::move(part)}, 0, ticket);
      waiting_[bucket].push_back(std::move(part));
      part = {};
      if (int64_t(waiting_[bucket].size()) == buckets_.batch_sizes[bucket])
        return give(std::exchange(waiting_[bucket], {}), bucket, ticket);
    }
    ended_ = true;
    for (; flushed_ < waiting_.size(); ++flushed_)
      if (!waiting_[flushed_].empty() && !buckets_.options.drop_remainder)
        return give(std::exchange(waiting_[flushed_], {}), flushed_, ticket);
    return false;
  }

 private:
  // False: the element could not be made, or has no length. It is a batch of its own, which fails.
  bool find_bucket(Ticket& part, size_t& bucket) const {
    if (part.held->error) return false;
    try {
      bucket = buckets_.of(part.held->element);
      return true;
    } catch (...) {
      auto failed = std::make_shared<Held>();
      failed->error = addressed_error(stage_, part.epoch, part.index, "");
      part.held = std::move(failed);
      return false;
    }
  }

  bool give(std::vector<Ticket> parts, size_t bucket, Ticket& ticket) {
    auto held = std::make_shared<Held>();
    held->parts = std::move(parts);
    ticket = numbered(std::move(held), int64_t(bucket));
    return true;
  }

  Buckets buckets_;
  std::string stage_;
  std::vector<std::vector<Ticket>> waiting_;  // by bucket
  size_t flushed_ = 0;
  bool ended_ = false;
};

std::vector<double> padding_values(const BucketOptions& options, size_t components) {
  const std::vector<double>& given = options.padding_values;
  if (given.size() > 1) return given;
  return std::vector<double>(components, given.empty() ? 0 : given[0]);
}

class BucketNode final : public Node {
 public:
  BucketNode(const NodeRef& input, Buckets buckets)
      : Node("bucket_by_sequence_length", {input},
             padded_spec("bucket_by_sequence_length", input->spec(), buckets.options.mask),
             input->cardinality().infinite() ? input->cardinality() : Cardinality{}, false),
        buckets_(std::move(buckets)) {}

  std::string details() const override {
    const BucketOptions& options = buckets_.options;
    std::string text = options.name.empty() ? "" : fmt::format("\"{}\", ", options.name);
    text +=
        fmt::format("boundaries = {{{}}}, batch_sizes = {{{}}}",
                    fmt::join(buckets_.boundaries, ", "), fmt::join(buckets_.batch_sizes, ", "));
    if (options.pad_to_bucket_boundary) text += ", pad_to_bucket_boundary = true";
    if (!options.padding_values.empty())
      text += fmt::format(", padding_values = {{{}}}", fmt::join(options.padding_values, ", "));
    if (options.mask) text += ", mask = true";
    return text + (options.drop_remainder ? ", drop_remainder = true" : "");
  }

  const std::type_info* unknown_code() const override {
    return buckets_.options.length ? &buckets_.options.length.target_type() : nullptr;
  }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.materialised(context.plan_input(*this), *input());
    if (planned.replay.empty())
      planned.replay = title(*this) + " fills its buckets element by element";
    planned.stream =
        std::make_unique<BucketTickets>(std::move(planned.stream), buckets_, title(*this));
    Padding padding{.extent =
                        [buckets = buckets_](const Ticket& ticket, int64_t longest) {
                          return buckets.extent(size_t(ticket.choice), longest);
                        },
                    .values = padding_values(buckets_.options, input()->spec().size()),
                    .mask = buckets_.options.mask};
    planned.maker = padded_maker(group_maker(std::move(planned.maker)), input()->spec(),
                                 std::move(padding), context.new_scratch());
    return planned;
  }

 private:
  Buckets buckets_;
};

void check_buckets(const Buckets& buckets, const ElementSpec& rows) {
  const std::string op = "bucket_by_sequence_length";
  const std::vector<int64_t>&bounds = buckets.boundaries, &sizes = buckets.batch_sizes;
  if (bounds.empty() || !std::is_sorted(bounds.begin(), bounds.end(), std::less_equal<>()))
    throw ValueError(fmt::format("{}: boundaries are {{{}}}, expected one or more, ascending", op,
                                 fmt::join(bounds, ", ")));
  if (sizes.size() != bounds.size() + 1 || std::ranges::min(sizes) < 1)
    throw ValueError(fmt::format(
        "{}: batch_sizes are {{{}}}, expected {} positive numbers, one per bucket: the boundaries "
        "and one for what is longer",
        op, fmt::join(sizes, ", "), bounds.size() + 1));
  size_t values = buckets.options.padding_values.size();
  if (values > 1 && values != rows.size())
    throw ValueError(fmt::format("{}: got {} padding_values, expected 1, or {}, one per component",
                                 op, values, rows.size()));
  if (!buckets.options.length && (rows.empty() || rows[0].shape.rank() == 0))
    throw ShapeError(
        fmt::format("{}: elements are {}, whose first component has no length; give .length", op,
                    to_string(rows)));
  check_padding(op, rows, padding_values(buckets.options, rows.size()));
}

}  // namespace

Dataset Dataset::bucket_by_sequence_length(std::vector<int64_t> boundaries,
                                           std::vector<int64_t> batch_sizes,
                                           const BucketOptions& options) const {
  Buckets buckets{std::move(boundaries), std::move(batch_sizes), options};
  check_buckets(buckets, spec());
  return Dataset(std::make_shared<BucketNode>(node_, std::move(buckets)));
}

}  // namespace stoker::data
