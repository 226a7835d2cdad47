#include "device/cpu_features.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "conclave/error.h"

namespace conclave {
namespace {

class ScopedIsa {
 public:
  explicit ScopedIsa(const char* value) {
    if (const char* old = std::getenv("CONCLAVE_ISA")) old_ = old;
    value != nullptr ? ::setenv("CONCLAVE_ISA", value, 1) : ::unsetenv("CONCLAVE_ISA");
  }
  ~ScopedIsa() { old_.empty() ? ::unsetenv("CONCLAVE_ISA") : ::setenv("CONCLAVE_ISA", old_.c_str(), 1); }

 private:
  std::string old_;
};

// The value of a field of the first processor in /proc/cpuinfo, which the kernel derives on its own.
std::string cpuinfo(const std::string& field) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(field) && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "";
}

bool kernel_reports(const std::string& flag) { return (" " + cpuinfo("flags") + " ").find(" " + flag + " ") != std::string::npos; }

TEST(CpuFeatures, LevelAgreesWithTheKernel) {
  const ScopedIsa unset(nullptr);
  const auto all = [](std::initializer_list<const char*> flags) {
    return std::all_of(flags.begin(), flags.end(), [](const char* f) { return kernel_reports(f); });
  };
  const bool avx2 = all({"avx2", "fma", "f16c", "bmi2"});
  const bool avx512 = avx2 && all({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16"});
  EXPECT_EQ(detect_cpu_isa(), avx512 ? CpuIsa::avx512 : avx2 ? CpuIsa::avx2 : CpuIsa::scalar);
}

TEST(CpuFeatures, NameAgreesWithTheKernel) {
  std::string expected = cpuinfo("model name");
  expected.erase(expected.find_last_not_of(' ') + 1);
  EXPECT_EQ(cpu_model_name(), expected);
}

TEST(CpuFeatures, IsaCanBeLowered) {
  const ScopedIsa scalar("scalar");
  EXPECT_EQ(detect_cpu_isa(), CpuIsa::scalar);
}

TEST(CpuFeatures, UnknownIsaNamesTheNearest) {
  const ScopedIsa wrong("avx22");
  try {
    detect_cpu_isa();
    FAIL() << "accepted avx22";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::bad_input);
    EXPECT_NE(std::string(e.what()).find("did you mean 'avx2'"), std::string::npos) << e.what();
  }
}

TEST(CpuFeatures, IsaAboveTheProcessorIsRefused) {
  CpuIsa best;
  {
    const ScopedIsa unset(nullptr);
    best = detect_cpu_isa();
  }
  const ScopedIsa top("avx512");
  if (best == CpuIsa::avx512) {
    EXPECT_EQ(detect_cpu_isa(), CpuIsa::avx512);
    return;
  }
  try {
    detect_cpu_isa();
    FAIL() << "accepted avx512";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::unsupported);
  }
}

TEST(CpuFeatures, AffinityLowersTheThreads) {
  const std::vector<int> before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  EXPECT_GE(usable_threads(), 1);
  EXPECT_LE(usable_threads(), static_cast<int>(before.size()));
  std::vector<int> inside;
  int threads = 0;
  std::thread([&] {  // on a thread of its own, so that the test's affinity stays
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(before.back()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    inside = allowed_cpus();
    threads = usable_threads();
  })
      .join();
  EXPECT_EQ(inside, std::vector<int>{before.back()});
  EXPECT_EQ(threads, 1);
}

}  // namespace
}  // namespace conclave
