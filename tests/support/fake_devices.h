// A third kind of device: the reference engine under another name, with traits and absences of the
// test's choice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/reference/reference_backend.h"
#include "engine/registry.h"

namespace stoker::test {

class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(const BackendTraits& traits) : traits_(traits) {}
  const BackendTraits& traits() const override { return traits_; }
  bool supports(std::string_view op, DType dtype) const override {
    return reference_backend().supports(op, dtype);
  }
  std::unique_ptr<Program> compile(const Graph& graph, const CompileOptions& options) override {
    ++compiled;
    return reference_backend().compile(graph, options);
  }
  std::shared_ptr<Arena> make_arena() override { return reference_backend().make_arena(); }
  std::string fingerprint() const override { return "fake"; }

  int compiled = 0;

 private:
  BackendTraits traits_;
};

// Registered while it lives. Without devices it is absent for `missing`.
class FakeFamily final : public DeviceFamily {
 public:
  FakeFamily(const BackendTraits& traits, int count, Absence missing = {})
      : traits_(traits), missing_(std::move(missing)) {
    for (int i = 0; i < count; ++i) backends.push_back(std::make_unique<FakeBackend>(traits));
  }

  const BackendTraits& traits() const override { return traits_; }
  std::vector<DeviceDescription> devices(Visible) const override {
    return std::vector<DeviceDescription>(backends.size(), {"", "Fake device", size_t(8) << 30});
  }
  int count() const override { return int(backends.size()); }
  Backend& open(int index) override { return *backends.at(size_t(index)); }
  Absence absence() const override {
    ++looks;
    return missing_;
  }

  std::vector<std::unique_ptr<FakeBackend>> backends;
  mutable int looks = 0;

 private:
  BackendTraits traits_;
  Absence missing_;
  RegisteredFamily registered_{*this};
};

}  // namespace stoker::test
