// Bytes changed at random, all over a file and one by one: no crash, no hang, whatever comes out. Meant for the
// sanitizers.
#include <random>
#include <string>

#include "jfr/tests/jfr_bytes.h"

int main() {
  using namespace headway::jfr;
  const std::string whole = usual_chunk(2).bytes() + usual_chunk(1).bytes();
  TestFile file(whole);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    file.write(bytes);
    read_all(file.path());
  }
  std::mt19937 random(7);
  for (int round = 0; round < 600; ++round) {
    std::string bytes = whole;
    for (unsigned i = 0, n = 1 + random() % 8; i < n; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    file.write(bytes);
    read_all(file.path());
  }
}
