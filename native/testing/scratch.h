// A scratch directory for each test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "testing/check.h"

// The directory, made now and removed with all that is in it.
class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "headway-test-XXXXXX";
    CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};
