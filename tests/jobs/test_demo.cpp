#include <gtest/gtest.h>
#include <stoker/context.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "base/file.h"
#include "jobs/demo.h"
#include "support/temp_dir.h"

namespace stoker::jobs {
namespace {

TEST(Demo, EndsWithWhatTheDoctorSaysOfTheSlowForm) {
  test::TempDir folder;
  std::ostringstream out;
  nlohmann::json result = run_demo({.folder = folder / "demo",
                                    .pictures = {.train = 40, .val = 10, .height = 64, .width = 64},
                                    .epochs = 35,
                                    .batch = 20},
                                   out);
  default_context().out = nullptr;
  EXPECT_TRUE(result["same_weights"].get<bool>());
  nlohmann::json doctor = nlohmann::json::parse(read_text(folder / "demo/doctor.json"));
  EXPECT_EQ(result["diagnosis"], doctor["verdict"]["sentence"]);
  EXPECT_EQ(doctor["steps"], 60);  // the first ten of seventy do not count
  EXPECT_NE(out.str().find(result["diagnosis"].get<std::string>()), std::string::npos);
  EXPECT_NE(out.str().find(folder / "demo/doctor.html"), std::string::npos);
  EXPECT_TRUE(local_files().exists(folder / "demo/doctor.html"));
}

}  // namespace
}  // namespace stoker::jobs
