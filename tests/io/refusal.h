#pragma once
// The words of the Error that `act` throws; a test failure when it throws nothing or another kind.
#include <gtest/gtest.h>

#include <string>

#include "conclave/error.h"

namespace conclave {

template <class Act>
std::string refusal(Errc expected, Act&& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), std::string(to_string(expected))) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace conclave
