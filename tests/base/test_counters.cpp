#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <stoker/error.h>

#include "base/counters.h"

namespace stoker {
namespace {

TEST(Counters, OfOneNameAreOneCounter) {
  Recorder recorder;
  Counter& images = recorder.counter("images");
  for (int i = 0; i < 100; ++i) recorder.counter("other " + std::to_string(i));
  images.add(3);
  recorder.counter("images").add();
  EXPECT_EQ(images.value(), 4);
  EXPECT_EQ(recorder.snapshot().counters.at("images"), 4);
}

TEST(Counters, LoseNothingUnderManyThreads) {
  Recorder recorder;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        Counter& counter = recorder.counter("steps");
        for (int step = 0; step < 10'000; ++step) counter.add();
      });
  }
  EXPECT_EQ(recorder.counter("steps").value(), 40'000);
}

TEST(Counters, ShareNoCacheLine) {
  static_assert(sizeof(Counter) == kCacheLine && alignof(Counter) == kCacheLine);
  static_assert(sizeof(Gauge) == kCacheLine && alignof(Gauge) == kCacheLine);
}

TEST(Gauges, HoldTheLastValue) {
  Recorder recorder;
  recorder.gauge("queue").set(3);
  recorder.gauge("queue").set(1.5);
  EXPECT_EQ(recorder.snapshot().gauges.at("queue"), 1.5);
}

TEST(Spans, RecordWhatRanWhenOnWhichThread) {
  FakeClock clock;
  Recorder recorder({.clock = &clock});
  clock.advance(100);
  {
    Span outer(&recorder, "step");
    clock.advance(10);
    std::jthread([&] { Span inner(&recorder, "decode"); }).join();
    clock.advance(5);
  }
  auto spans = recorder.snapshot().spans;
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_STREQ(spans[0].name, "decode");
  EXPECT_EQ(spans[0].begin, 110);
  EXPECT_EQ(spans[0].end, 110);
  EXPECT_STREQ(spans[1].name, "step");
  EXPECT_EQ(spans[1].begin, 100);
  EXPECT_EQ(spans[1].end, 115);
  EXPECT_EQ(spans[1].thread, this_thread_number());
  EXPECT_NE(spans[0].thread, spans[1].thread);
}

TEST(Spans, WithoutARecorderDoNothing) { Span span(nullptr, "step"); }

TEST(Spans, TakeNamesMadeAtRunTime) {
  Recorder recorder;
  const char* name = recorder.intern(std::string("layer ") + "7");
  EXPECT_EQ(recorder.intern("layer 7"), name);
  recorder.record_span(name, 1, 2);
  EXPECT_STREQ(recorder.snapshot().spans[0].name, "layer 7");
}

TEST(Spans, KeepTheNewestAndCountTheLost) {
  Recorder recorder({.span_capacity = 4});
  EXPECT_EQ(recorder.snapshot().spans_lost, 0);
  for (int i = 0; i < 10; ++i) recorder.record_span("step", i, i + 1);
  Measurements measured = recorder.snapshot();
  ASSERT_EQ(measured.spans.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(measured.spans[i].begin, int64_t(6 + i));
  EXPECT_EQ(measured.spans_lost, 6);
  EXPECT_THROW(Recorder({.span_capacity = 0}), ValueError);
}

// Each thread records spans whose three fields agree with each other; a reader that mixed two spans
// would see them disagree.
TEST(Spans, AreNeverMixedUnderManyThreads) {
  Recorder recorder({.span_capacity = 8});
  static constexpr const char* kNames[] = {"zero", "one", "two"};
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (int64_t writer = 0; writer < 3; ++writer)
    threads.emplace_back([&, writer] {
      for (int64_t i = 0; !stop; ++i)
        recorder.record_span(kNames[writer], 3 * i + writer, -(3 * i + writer));
    });
  for (int round = 0; round < 2'000; ++round)
    for (const SpanRecord& span : recorder.snapshot().spans) {
      ASSERT_EQ(span.end, -span.begin);
      ASSERT_EQ(span.name, kNames[span.begin % 3]);
    }
  stop = true;
}

TEST(Spans, EverySpanIsEitherHeldOrCountedAsLost) {
  Recorder recorder({.span_capacity = 16});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int step = 0; step < 1'000; ++step) Span span(&recorder, "step");
      });
  }
  Measurements measured = recorder.snapshot();
  EXPECT_EQ(measured.spans_lost + int64_t(measured.spans.size()), 4'000);
}

}  // namespace
}  // namespace stoker
