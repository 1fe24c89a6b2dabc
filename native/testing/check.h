// The native tests' own frame: a test is a function named as a sentence; CHECK says where it failed and with what.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <iostream>

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      std::cerr << __FILE__ << ':' << __LINE__ << ": not true: " #condition "\n"; \
      std::exit(1);                                                               \
    }                                                                             \
  } while (false)

#define CHECK_EQUAL(left, right)                                                                                      \
  do {                                                                                                                \
    const auto& left_value = (left);                                                                                  \
    const auto& right_value = (right);                                                                                \
    if (!(left_value == right_value)) {                                                                               \
      std::cerr << __FILE__ << ':' << __LINE__ << ": " #left " is " << left_value << ", not " << right_value << '\n'; \
      std::exit(1);                                                                                                   \
    }                                                                                                                 \
  } while (false)
