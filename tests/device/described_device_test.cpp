#include "device/described_device.h"

#include <gtest/gtest.h>

#include "conclave/error.h"

namespace conclave {
namespace {

TEST(DescribedDevice, HasTheCapsOfItsNameAndNothingElse) {
  EXPECT_EQ(describe_device("avx2")->caps().isa, CpuIsa::avx2);
  EXPECT_EQ(describe_device("sm_103")->caps().compute_capability, 103);
  for (const std::string_view name : describable_devices()) {
    const auto device = describe_device(name);
    EXPECT_EQ(device->caps().name, name);
    EXPECT_EQ(device->caps().cuda, name.starts_with("sm_"));
    EXPECT_THROW(device->allocate(1), Error);
    EXPECT_THROW(device->new_stream(), Error);
  }
}

TEST(DescribedDevice, OthersAreRefusedWithTheNearest) {
  try {
    describe_device("sm_91");
    FAIL() << "it was described";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'sm_90'"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace conclave
