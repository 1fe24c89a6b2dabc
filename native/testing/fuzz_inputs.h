// What a fuzz.cpp defines: a libFuzzer target, and inputs from which fuzz_inputs.cpp makes others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

std::vector<std::string> fuzz_seeds();
