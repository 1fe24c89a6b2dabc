// What the collector owns of the kernel: descriptors and mapped BPF arrays, given back with their owner.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "spool/collector_error.h"

namespace headway {

struct MappedArray {
  MappedArray(int fd, size_t size) : bytes(size) {
    address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) throw CollectorError("ring", errno, "mapping a BPF array");
  }
  ~MappedArray() { munmap(address, bytes); }
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;
  void* address;
  size_t bytes;
};

// A descriptor, closed when it goes out of scope.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace headway
