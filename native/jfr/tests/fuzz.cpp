// libFuzzer entry: the input is a JFR file. Seeds: any small file, or none (the magic is put before it).
#include <string>

#include "jfr/tests/jfr_bytes.h"
#include "testing/fuzz_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static headway::jfr::TestFile file("");
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.size() >= 4) bytes.replace(0, 4, "FLR\0", 4);
  file.write(bytes);
  headway::jfr::read_all(file.path());
  return 0;
}

std::vector<std::string> fuzz_seeds() {
  using headway::jfr::usual_chunk;
  return {usual_chunk(2).bytes() + usual_chunk(1).bytes()};
}
