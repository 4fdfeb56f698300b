// Elements that a function of the user's hands out, one after the other.
#include <fmt/format.h>

#include "data/node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"
#include "data/runtime/writers.h"

namespace stoker::data {

namespace {

class GeneratorTickets final : public Tickets {
 public:
  GeneratorTickets(std::function<Generator()> make, ElementSpec spec, std::string stage)
      : make_(std::move(make)), spec_(std::move(spec)), stage_(std::move(stage)) {}

  void begin(int64_t epoch) override {
    epoch_ = epoch;
    index_ = 0;
    try {
      generator_ = make_();
      if (!generator_) throw ValueError("the function returned no generator");
    } catch (...) {
      generator_ = nullptr;
      rethrow_addressed(stage_, epoch_, 0, "");
    }
  }
  bool next(Ticket& ticket) override {
    if (!generator_) return false;
    try {
      std::optional<Batch> element = generator_();
      if (!element) {
        generator_ = nullptr;
        return false;
      }
      check_element(spec_, *element);
      auto held = std::make_shared<Held>();
      held->element = std::move(*element);
      ticket = {epoch_, index_++, 0, std::move(held)};
      return true;
    } catch (...) {
      rethrow_addressed(stage_, epoch_, index_, "");
    }
  }

 private:
  std::function<Generator()> make_;
  ElementSpec spec_;
  std::string stage_;
  Generator generator_;
  int64_t epoch_ = 0, index_ = 0;
};

class GeneratorNode final : public Node {
 public:
  GeneratorNode(ElementSpec spec, std::function<Generator()> make, std::string name)
      : Node("from_generator", {}, std::move(spec), {}, false),
        make_(std::move(make)),
        name_(std::move(name)) {}
  std::string details() const override { return name_.empty() ? "" : fmt::format("\"{}\"", name_); }
  const std::type_info* unknown_code() const override { return &make_.target_type(); }
  Planned plan(PlanContext& context) const override {
    context.runs_all = true;
    Planned planned{.maker = held_maker()};
    planned.stream = std::make_unique<GeneratorTickets>(make_, spec(), title(*this));
    planned.replay = title(*this) + " cannot seek: it is called again up to the place";
    return planned;
  }

 private:
  std::function<Generator()> make_;
  std::string name_;
};

}  // namespace

Dataset from_generator(ElementSpec spec, std::function<Generator()> make, const std::string& name) {
  return Dataset(std::make_shared<GeneratorNode>(std::move(spec), std::move(make), name));
}

}  // namespace stoker::data
