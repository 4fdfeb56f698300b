// The kinds of devices that there are. A kind is one folder under engine/ and one line in
// registry.cpp; everything else asks for its BackendTraits. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/devices.h>

#include "engine/backend.h"

namespace stoker {

inline constexpr std::string_view kAutomatic = "auto";

// Why no device of a kind can be used, and what to do about it.
struct Absence {
  bool idle = false;  // the machine has such a device
  std::string why = {}, advice = {};
};

// Versions of the libraries behind an engine, as their vendor numbers them (12040: CUDA 12.4). 0
// and empty: unknown, or there is none.
struct EngineVersions {
  int driver = 0;                  // the newest runtime that the installed driver supports
  int runtime = 0;                 // of this build
  int dnn = 0;                     // cuDNN, as loaded
  int dnn_built = 0;               // cuDNN, of this build
  int dnn_runtime = 0;             // the runtime that the loaded cuDNN was built for
  std::string architectures = {};  // that this build has kernels for: "80-real,90"
};

enum class Visible : uint8_t { all, chosen };

class DeviceFamily {
 public:
  virtual ~DeviceFamily() = default;
  virtual const BackendTraits& traits() const = 0;
  // Usable ones in the order of their numbers; `chosen`: those that choose() left. Their names are
  // left to list_devices().
  virtual std::vector<DeviceDescription> devices(Visible which) const = 0;
  virtual int count() const { return 1; }  // of chosen devices; cheap
  // The engine of chosen device `index`, made at the first call.
  virtual Backend& open(int index) = 0;
  // Where count() is 0.
  virtual Absence absence() const { return {}; }
  virtual bool in_use() const { return false; }                // open() was called
  virtual void choose(const std::vector<int>& /*indices*/) {}  // among all
  virtual EngineVersions versions() const { return {}; }

  // True at the first call: whether a device stands idle is looked at and said once per process.
  bool first_look() { return !looked_.exchange(true); }

 private:
  std::atomic<bool> looked_ = false;
};

// The CPU first.
std::vector<DeviceFamily*> device_families();

// Adds a kind while it lives, behind the others. `family` outlives it.
class RegisteredFamily {
 public:
  explicit RegisteredFamily(DeviceFamily& family);
  ~RegisteredFamily();
  RegisteredFamily(const RegisteredFamily&) = delete;
  RegisteredFamily& operator=(const RegisteredFamily&) = delete;

 private:
  DeviceFamily& family_;
};

// One device, found by its name without being opened.
struct FoundDevice {
  DeviceFamily* family = nullptr;
  int index = 0;
  const BackendTraits& traits() const { return family->traits(); }
  std::string name() const;  // "cpu", "cuda:0"
  // "cuda:0: NVIDIA H200, compute capability 9.0, 139.8 GiB"
  std::string described() const;
};

// "auto" is the first device of the first preferred kind that has one, else the CPU; "cuda" is
// "cuda:0". ValueError for any other name, and for a device that is not usable: why, and what to do.
FoundDevice find_device(std::string_view device);

// Whether find_device() finds it; `why` is filled where not.
bool is_usable(std::string_view device, std::string* why = nullptr);

// The kinds that "auto" takes before the CPU.
std::vector<DeviceFamily*> preferred_families();

}  // namespace stoker
