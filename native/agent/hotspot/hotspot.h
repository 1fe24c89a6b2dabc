// What HotSpot tells about its own data structures: gHotSpotVMStructs, the table it exports for the serviceability
// agent (src/hotspot/share/runtime/vmStructs.hpp). Everything here answers "unknown" where a JVM lacks an entry.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace headway::agent {

// A function that libjvm.so exports, or null.
void* libjvm_symbol(const char* name) noexcept;

// Reads `bytes` at `from` in this process; false, instead of a fault, where nothing is mapped.
bool safe_read(const void* from, void* to, size_t bytes) noexcept;

// The tables of the libjvm.so in this process: flags, threads' states, performance counters.
class HotSpot {
 public:
  // Looks the tables up in the libjvm.so of this process. Takes a millisecond or two.
  void load() noexcept;

  // The heap exists: the JVM is past start-up, so a library loaded now is loaded dynamically.
  bool heap_exists() const noexcept;

  // The OS thread of the JavaThread that java.lang.Thread.eetop points at, or 0. The JavaThread may be freed at any
  // moment: the caller reads eetop again afterwards and trusts the answer only if it has not changed.
  pid_t os_thread_id(int64_t eetop) const noexcept;

  // Where a thread is, as HotSpot sees it (JavaThreadState); anything else: unknown or on the way between two.
  static constexpr int kInNative = 4;
  static constexpr int kInJava = 8;
  static constexpr int kBlocked = 10;
  int thread_state(const void* java_thread) const noexcept;  // -1: unknown
  // Compiled code, interpreter, stubs: nothing there holds a lock of the JVM's own.
  bool is_in_code_cache(uintptr_t pc) const noexcept;

  // A boolean -XX flag's value now (whoever set it), if there is such a flag.
  std::optional<bool> bool_flag(std::string_view name) const noexcept;
  std::optional<int64_t> int_flag(std::string_view name) const noexcept;  // of an intx

  // Marks a flag as set on the command line, which it was not; returns what restore_flag needs, or nothing when it was
  // already, or can't be.
  struct FlagOrigin {
    int32_t* word;
    int32_t before;
  };
  std::optional<FlagOrigin> pretend_on_command_line(std::string_view name) noexcept;
  static void restore_flag(const FlagOrigin& origin) noexcept { *origin.word = origin.before; }

  // Copies the word for the cause of the collection that ends now ("G1 Evacuation Pause") from the JVM's performance
  // counters into `out`; returns its length, 0 when unknown. Takes no JVM lock and no memory: meant for the VM thread
  // at the end of each pause.
  size_t gc_cause(char* out, size_t capacity) noexcept;

  // Finds the counters; call once the heap exists, on a thread that may take its time.
  void find_counters() noexcept;

 private:
  struct Counter {
    const char* text = nullptr;
    uint32_t capacity = 0;
  };
  char* flag(std::string_view name) const noexcept;
  void note_field(std::string_view type, std::string_view field, uint64_t offset, char* address) noexcept;

  char* flags_ = nullptr;
  size_t flag_count_ = 0;
  size_t flag_size_ = 0;
  int64_t flag_name_ = -1;
  int64_t flag_addr_ = -1;
  int64_t flag_origin_ = -1;
  int64_t osthread_ = -1;
  int64_t thread_id_ = -1;
  int64_t thread_state_ = -1;
  char** code_low_ = nullptr;
  char** code_high_ = nullptr;
  char** heap_ = nullptr;
  char** perf_start_ = nullptr;
  Counter cause_;
  Counter last_cause_;
  // Pauses of a concurrent cycle (remark, cleanup) have no cause of their own in G1: they are recognised by their counter.
  const int64_t* concurrent_pauses_ = nullptr;
  int64_t concurrent_pauses_seen_ = 0;
};

}  // namespace headway::agent
