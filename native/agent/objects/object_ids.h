// Numbers of objects, each given once, and for each number the thread that wrote to the object last. Java code looks
// there and writes there by itself (hooks/java.base/java/lang/HeadwayCount0.java).
//
// A number is kept in its object's identity hash, so that it stays whatever moves the object. Threads take numbers by
// the chunk; whose chunk it is says who allocated the object. Numbers of dead objects are not given again: who asks for a
// number after the last one gets none, and the objects' owners are unknown.
//
// Knows nothing of the JVM.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace headway::agent {

class ObjectIds {
 public:
  static constexpr uint32_t kIds = 1U << 28;
  static constexpr uint32_t kChunk = 1U << 10;
  // As the owner of a number: a thread without a number as an owner has written to the object last. 0: nobody but who
  // allocated it.
  static constexpr uint8_t kUnknownWriter = 255;

  ObjectIds() = default;
  ~ObjectIds();  // no code looks there any more
  ObjectIds(const ObjectIds&) = delete;
  ObjectIds& operator=(const ObjectIds&) = delete;

  // Takes the memory, once: what is not written to takes none. False: there is none.
  bool start() noexcept;

  // The first of the numbers of a chunk, or of what is left of one, for objects that one thread allocates; they go on to
  // the next multiple of kChunk. 0: there are none left. `owner`: of that thread, 0: it is not known who allocated them.
  uint32_t take_chunk(uint8_t owner) noexcept;
  // Of a thread that ends: what is left of a chunk that it took, from `next` on. Another one with the same owner may have
  // it; threads that have an owner of their own waste it.
  void give_back(uint8_t owner, uint32_t next) noexcept;

  // The address of a byte for each number, the owner that wrote last; then of one for each chunk, the owner that took it;
  // then how many numbers are given, 64 bits: those below; then whether there are unnoted writes.
  uint64_t address() const noexcept { return reinterpret_cast<uint64_t>(writers_); }
  uint32_t given() const noexcept;
  // Code may have run that writes to objects without a note of who: a note may be older than another thread's write.
  void note_unnoted() noexcept;
  bool has_unnoted() const noexcept;

 private:
  uint8_t* allocators() const noexcept { return writers_ + kIds; }
  uint64_t* given_word() const noexcept { return reinterpret_cast<uint64_t*>(allocators() + kIds / kChunk); }
  uint8_t* unnoted() const noexcept { return reinterpret_cast<uint8_t*>(given_word() + 1); }

  mutable std::mutex mutex_;
  uint8_t* writers_ = nullptr;
  uint32_t next_ = kChunk;  // number 0 is no object's
  std::array<std::vector<uint32_t>, 2>
      left_;  // of chunks of owners that several threads have: unknown, virtual threads
};

}  // namespace headway::agent
