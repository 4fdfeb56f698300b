// One OpenMP runtime in the process: two would each keep a team on the same cores.
#include <link.h>

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace stoker::test {

namespace {

std::set<std::string> openmp_runtimes() {
  std::set<std::string> found;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* names) {
        std::string path = object->dlpi_name, name = path.substr(path.rfind('/') + 1);
        for (const char* runtime : {"libgomp", "libomp", "libiomp"})
          if (name.starts_with(runtime)) static_cast<std::set<std::string>*>(names)->insert(name);
        return 0;
      },
      &found);
  return found;
}

TEST(OpenMp, IsLibgompAlone) {
  EXPECT_EQ(openmp_runtimes(), std::set<std::string>{"libgomp.so.1"});
}

}  // namespace

}  // namespace stoker::test
