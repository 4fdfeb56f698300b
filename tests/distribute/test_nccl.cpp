// NCCL with one replica, inside a captured step. Needs a GPU and a build with NCCL.
#include "distribute/nccl/nccl_group.h"

#include <gtest/gtest.h>

#include "engine/backend.h"
#include "engine/registry.h"
#include "graph/graph.h"

namespace stoker::distribute {
namespace {

TEST(Nccl, SumsOneReplicaInsideACapturedStep) {
  if (preferred_families().empty() || preferred_families()[0]->count() == 0)
    GTEST_SKIP() << "there is no GPU here";
  if (nccl_version().empty()) GTEST_SKIP() << "this build has no NCCL";
  Backend& gpu = backend(std::string(preferred_families()[0]->traits().name));
  auto found = nccl_communicators({gpu.bus_id()}, nullptr);
  ASSERT_EQ(found.size(), 1);
  std::shared_ptr<const HostFunction> group = std::make_shared<CommunicatorLink>(found[0]);
  Graph graph;
  Value x = graph.input("x", {DType::float32, {1000}});
  Value half = graph.input("half", {DType::bfloat16, {64}});
  Attrs attrs = {{"ranks", int64_t(1)},
                 {"wire", std::string("float32")},
                 {"number", int64_t(0)},
                 {"group", group}};
  Values sums = apply("all_reduce", {x * 2.0, half}, attrs);
  graph.output(sums[0] + x, "three times");
  graph.output(sums[1], "half");
  std::unique_ptr<Program> program = gpu.compile(graph, {});
  for (int run = 0; run < 5; ++run) {  // issued, captured, replayed
    Tensor given = Tensor::full({1000}, 1.5 + run);
    program->run(std::vector{given, Tensor::full({64}, 0.5, DType::bfloat16)});
    EXPECT_EQ(program->output(0).to_vector<float>(),
              std::vector<float>(1000, 4.5F + 3.0F * float(run)));
    EXPECT_EQ(program->output(1).cast(DType::float32).to_vector<float>(),
              std::vector<float>(64, 0.5F));
  }
  EXPECT_GT(program->device_counts().launches, 0);
}

}  // namespace
}  // namespace stoker::distribute
