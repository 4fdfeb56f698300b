// The report in a real browser: it renders, says nothing on the console, and shows the JSON's
// numbers.
#include <gtest/gtest.h>
#include <stoker/doctor.h>

#include <cstdlib>

#include "support/packages.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace stoker::doctor {
namespace {

Diagnosis sample() {
  Diagnosis diagnosis;
  diagnosis.verdict.sentence = "Input-bound: <b>the</b> device waits.";
  diagnosis.verdict.limit = Limit::input;
  diagnosis.steps = 137;
  diagnosis.step_seconds = 0.0234;
  diagnosis.samples_per_second = 1367;
  diagnosis.shares.share = {0.417, 0, 0.512, 0.011, 0.055, 0.005};
  for (int i = 0; i < 30; ++i)
    diagnosis.course.push_back({i * 0.1, 0.02 + 0.001 * (i % 5), diagnosis.shares});
  diagnosis.pipeline.known = true;
  diagnosis.pipeline.stages = {{"map(\"decode\")", 3.4e-4, 0.99, 2e-3, 150528, 1, true}};
  diagnosis.layers = {
      {"conv2d", "conv2d", "jit", "forward", 2e-3, 1e8, 1e6, 4e5, 0.5, 0.1, Limit::compute}};
  diagnosis.peak_flops = 1e11, diagnosis.peak_bandwidth = 1e10;
  diagnosis.prescriptions = {
      {.action = Action::cache,
       .what = "Keep",
       .why = "it waits",
       .predicted_step_seconds = 0.012,
       .provided = "it is pure"},
      {.what = "Capture", .changes_results = true, .tried = true, .kept = false},
      {.what = "Fuse",
       .why = "it can",
       .tried = true,
       .kept = true,
       .before_seconds = 0.02,
       .after_seconds = 0.01,
       .gain = 0.5,
       .gain_low = 0.4,
       .gain_high = 0.6}};
  diagnosis.device = {{.time = 0, .process_cores = 1}, {.time = 1, .process_cores = 2}};
  diagnosis.predicted_memory = MemoryUse{.weights = 1000, .total = 1000};
  diagnosis.trust = "a test";
  return diagnosis;
}

// The page as a browser has it once its scripts have run, and what it said on its console.
struct Shown {
  std::string page, console;
  bool has(const std::string& text) const { return test::contains(page, text); }
};

Shown shown(const Diagnosis& diagnosis) {
  test::TempDir folder;
  diagnosis.write(folder.path());
  std::string home = folder / "profile", page = folder / "doctor.html";
  test::Ended browser = test::run_program(
      "timeout 100 chromium",
      "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --enable-logging=stderr "
      "--user-data-dir=" +
          home + " --dump-dom file://" + page);
  return {browser.out, browser.err};
}

bool has_browser() { return std::system("command -v chromium > /dev/null 2>&1") == 0; }

TEST(Page, ShowsInABrowserWhatTheJsonSays) {
  if (!has_browser())
    STOKER_SKIP_WITHOUT_PACKAGE("chromium is not installed (scripts/setup.sh browser)");
  Shown page = shown(sample());
  if (page.page.empty()) STOKER_SKIP_WITHOUT_PACKAGE("chromium does not start: " + page.console);
  EXPECT_FALSE(test::contains(page.console, "CONSOLE")) << page.console;
  for (const char* part : {"data-ready=\"yes\"",
                           "Input-bound: &lt;b&gt;the&lt;/b&gt; device waits.",
                           "limit: input",
                           "<b id=\"step_seconds\">23.40 ms</b>",
                           "<b id=\"steps\">137</b>",
                           "<b id=\"limit\">input</b>",
                           "<b data-share=\"compute\">41.7 %</b>",
                           "<b data-share=\"input\">51.2 %</b>",
                           "<b data-share=\"unexplained\">0.5 %</b>",
                           "id=\"course\"",
                           "id=\"stages\"",
                           "id=\"lanes\"",
                           "id=\"memory\"",
                           "id=\"roofline\"",
                           "id=\"layers\"",
                           "20.00 ms → after 10.00 ms",
                           "data-action=\"cache\"",
                           "1.95×",
                           "results stay the same, provided that it is pure",
                           "results change",
                           "<td>random</td>",
                           "class=\"remedy refuted\""})
    EXPECT_TRUE(page.has(part)) << part;
}

TEST(Page, ShowsAModelThatCouldNotRun) {
  if (!has_browser())
    STOKER_SKIP_WITHOUT_PACKAGE("chromium is not installed (scripts/setup.sh browser)");
  Diagnosis nothing;  // as for a model that does not fit: no step, no share, no table
  nothing.verdict.sentence = "The model does not fit.";
  Shown page = shown(nothing);
  if (page.page.empty()) STOKER_SKIP_WITHOUT_PACKAGE("chromium does not start: " + page.console);
  EXPECT_FALSE(test::contains(page.console, "CONSOLE")) << page.console;
  EXPECT_TRUE(page.has("data-ready=\"yes\""));
  EXPECT_FALSE(page.has("NaN")) << "numbers that are not there are not shown";
}

TEST(Page, NeedsNoOtherFile) {
  std::string page = sample().html();
  for (const char* reference : {"src=\"", "href=\"", "@import", "url("})
    EXPECT_FALSE(test::contains(page, reference)) << reference;
}

}  // namespace
}  // namespace stoker::doctor
