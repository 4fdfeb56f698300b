// GPUs as the operating system shows them, and what is said when none of them can be used.
#include <gtest/gtest.h>

#include "engine/nvidia_gpus.h"
#include "support/temp_dir.h"

namespace stoker {

namespace {

using test::TempDir;

void add_pci_device(const TempDir& root, const std::string& address, const char* vendor,
                    const char* kind) {
  std::string folder = "sys/bus/pci/devices/" + address;
  root.write(folder + "/vendor", vendor);
  root.write(folder + "/class", kind);
}

// A machine with a GPU and the sound device that comes with it.
void add_gpu(const TempDir& root) {
  add_pci_device(root, "0000:3b:00.0", "0x10de\n", "0x030200\n");
  add_pci_device(root, "0000:3b:00.1", "0x10de\n", "0x040300\n");
  add_pci_device(root, "0000:00:02.0", "0x8086\n", "0x030000\n");
}

void add_driver(const TempDir& root) {
  root.write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n"
             "GCC version:  gcc version 12.2.0\n");
  root.write("proc/driver/nvidia/gpus/0000:3b:00.0/information",
             "Model: \t\t NVIDIA H200\nIRQ:   \t\t 120\n");
}

TEST(NvidiaGpus, AreFoundOnTheBusWithoutADriver) {
  TempDir root;
  EXPECT_FALSE(find_gpus(root.path()).any());
  add_gpu(root);
  GpuTraces found = find_gpus(root.path());
  EXPECT_EQ(found.on_bus, 1) << "neither its sound device nor another vendor's display counts";
  EXPECT_EQ(found.driver, "");
  EXPECT_EQ(found.nodes, 0);
}

TEST(NvidiaGpus, AreListedByTheDriverAndOpenedThroughNodes) {
  TempDir root;
  add_gpu(root);
  add_driver(root);
  for (const char* node : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"})
    root.write(std::string("dev/") + node, "");
  GpuTraces found = find_gpus(root.path());
  EXPECT_EQ(found.driver, "550.54.15");
  EXPECT_EQ(found.driven, 1);
  EXPECT_EQ(found.models, std::vector<std::string>{"NVIDIA H200"});
  EXPECT_EQ(found.nodes, 2);
}

TEST(NvidiaGpus, OfWindowsHaveNoBus) {
  TempDir root;
  root.write("dev/dxg", "");
  EXPECT_FALSE(find_gpus(root.path()).any()) << "it may be of another vendor";
  root.write("usr/lib/wsl/lib/libcuda.so.1", "");
  EXPECT_TRUE(find_gpus(root.path()).any());
}

const GpuTraces kAllThere{.on_bus = 1, .driven = 1, .nodes = 1, .driver = "550.54.15"};

struct Case {
  GpuSearch search;
  bool idle;
  const char *why, *advice;
};

TEST(NvidiaGpus, ThatAreNotUsedHaveAReasonAndAnAdvice) {
  const Case cases[] = {
      {{.built = true}, false, "this machine has no NVIDIA GPU", ""},
      {{.built = false}, false, "no GPU engine", ""},
      {{.built = false, .traces = kAllThere}, true, "has no GPU engine", "PRESET=cuda"},
      {{.built = false, .traces = {.on_bus = 1}},
       true,
       "no GPU engine",
       "install the NVIDIA driver"},
      {{.built = true, .traces = kAllThere, .hidden = true}, true, "set_visible_devices", "cuda:0"},
      {{.built = true, .traces = kAllThere, .visible = ""},
       true,
       "CUDA_VISIBLE_DEVICES=\"\"",
       "unset it"},
      {{.built = true, .traces = {.on_bus = 2}}, true, "no NVIDIA driver", "--gpus all"},
      {{.built = true,
        .traces = kAllThere,
        .old_driver = true,
        .runtime = 12090,
        .problem = "insufficient"},
       true,
       "550.54.15 is too old for CUDA 12.9",
       "newer driver"},
      {{.built = true, .traces = {.on_bus = 1, .driver = "550.54.15"}},
       true,
       "shows no GPU",
       "--gpus all"},
      {{.built = true, .traces = kAllThere, .visible = "0", .problem = "system not ready"},
       true,
       "system not ready",
       "stoker doctor --env"},
  };
  for (const Case& each : cases) {
    Absence absence = explain_absence(each.search);
    EXPECT_EQ(absence.idle, each.idle) << each.why;
    EXPECT_NE(absence.why.find(each.why), std::string::npos) << absence.why;
    EXPECT_NE(absence.advice.find(each.advice), std::string::npos) << absence.advice;
    EXPECT_EQ(absence.advice.empty(), !each.idle) << absence.advice;
  }
}

TEST(NvidiaGpus, RunKernelsOfTheirOwnGenerationOrCompileOlderOnes) {
  EXPECT_EQ(kernels_for("80-real,86-real,89-real,90", 8, 0), KernelFit::machine_code);
  EXPECT_EQ(kernels_for("80-real,86-real,89-real,90", 8, 7), KernelFit::machine_code)
      << "8.6 runs on 8.7";
  EXPECT_EQ(kernels_for("80-real,86-real,89-real,90", 7, 5), KernelFit::none);
  EXPECT_EQ(kernels_for("80-real,86-real,89-real,90", 10, 0), KernelFit::compiled_at_start);
  EXPECT_EQ(kernels_for("90a-real", 9, 0), KernelFit::machine_code);
  EXPECT_EQ(kernels_for("90a-real", 10, 0), KernelFit::none);
  EXPECT_EQ(kernels_for("90a", 12, 0), KernelFit::none) << "90a is for 9.0 alone";
  EXPECT_EQ(kernels_for("80-virtual", 8, 0), KernelFit::compiled_at_start);
  EXPECT_EQ(kernels_for("native", 8, 0), KernelFit::machine_code);
  EXPECT_EQ(kernels_for("", 8, 0), KernelFit::none);
}

}  // namespace

}  // namespace stoker
