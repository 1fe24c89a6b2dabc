// What stands for libFuzzer where it is not linked: the same targets over the same few hundred inputs each time, made
// of the target's seeds and at random.
#include "testing/fuzz_inputs.h"

#include <cstdlib>
#include <random>

namespace {

constexpr int kRounds = 100;
constexpr size_t kMostRandomBytes = 5000;

void take(const std::string& bytes) {
  if (LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) != 0) std::abort();
}

std::string random_bytes(std::mt19937* random) {
  std::string bytes((*random)() % kMostRandomBytes, '\0');
  const unsigned below = (*random)() % 2 == 0 ? 256 : 8;  // small numbers are types and lengths that there are
  for (char& byte : bytes) byte = static_cast<char>((*random)() % below);
  return bytes;
}

std::string changed(std::string bytes, std::mt19937* random) {
  for (unsigned i = 0, n = 1 + (*random)() % 8; i < n; ++i) {
    bytes[(*random)() % bytes.size()] = static_cast<char>((*random)());
  }
  if ((*random)() % 4 == 0) bytes.resize((*random)() % bytes.size());
  return bytes;
}

}  // namespace

int main() {
  std::mt19937 random(7);
  take("");
  for (const std::string& seed : fuzz_seeds()) {
    take(seed);
    for (int round = 0; round < kRounds; ++round) take(changed(seed, &random));
  }
  for (int round = 0; round < kRounds; ++round) take(random_bytes(&random));
}
