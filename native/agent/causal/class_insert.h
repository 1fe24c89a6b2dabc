// Inserts calls into the methods of a class file: visits of progress points, and "settle what you owe" before a thread
// may wake another one. Unlike class_patch.h instructions move, so everything that names their addresses is rewritten:
// jumps, switches, exception tables, stack maps, line numbers, local variables, type annotations.
//
// What is inserted is a multiple of four bytes long, so that the padding of switches stays as it is. A method in which
// it does not fit (code of 64 KiB, a jump of 32 KiB) is left alone and counted as refused.
//
// Knows nothing of the JVM, throws nothing, reads nothing out of bounds, whatever the bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway::agent::causal {

// Static methods of the hook class.
enum class Call : uint8_t {
  kHit,     // hit(I)V: a visit of point `point`
  kTimed,   // timed(I)V: the same, and the clock is read: one end of a latency
  kSettle,  // leaving()V
  kOwner    // ownerChanges(AbstractOwnableSynchronizer, Thread)V, with the method's receiver and argument
};

// Where calls go.
//   kEntry    the beginning of a method, once for each call (not when a loop jumps back to its first instruction)
//   kLine     where the code of a line begins. A line may have several stretches of code in a method (a `finally` is
//             compiled once for each way out; the head of a `for` has its increment behind the body): a second stretch
//             counts only if it can be reached without coming by the first. So a line counts once however its calls are
//             spread over several lines, a loop's body each time round, and the head of a `for` once for each loop.
//   kStretch  every stretch of every line (for tests of the insertion itself)
//   kRelease  before each monitorexit, and before each return of a synchronized method
enum class Where : uint8_t { kEntry, kLine, kStretch, kRelease };

struct Insert {
  Where where = Where::kEntry;
  Call call = Call::kHit;
  uint16_t point = 0;           // below 32,768
  std::string_view method;      // kEntry: its name; empty: each
  std::string_view descriptor;  // kEntry: begins so, e.g. "(II)"; empty: any
  uint16_t line = 0;            // kLine
  bool guarded = false;         // kEntry: the end of the stack or of the heap in the call goes no further
  bool inlined = false;         // kEntry: compilers always put the method into its callers (a class of the JDK's)
};

enum class InsertOutcome {
  kInserted,
  kAlready,   // it has calls of the hook class
  kNothing,   // no method that any of them fits, or only such that refuse
  kMalformed  // no class file, a damaged one, or no room in its constant pool
};

struct Insertion {
  InsertOutcome outcome = InsertOutcome::kMalformed;
  std::vector<uint8_t> bytes;    // the new class file, when kInserted
  std::vector<uint32_t> places;  // for each Insert: in how many methods it is now
  uint32_t refused = 0;          // methods in which something fits, but not the room for it
};

Insertion insert_calls(std::span<const uint8_t> class_file, std::span<const Insert> inserts,
                       std::string_view hook_class) noexcept;

// What a class has, for choosing methods and for saying what is near to a name that nothing fits.
struct MethodFacts {
  std::string_view name;
  std::string_view descriptor;
  uint16_t access = 0;
  uint32_t code_bytes = 0;        // 0: no code
  std::vector<uint16_t> lines{};  // sorted, each once; empty: compiled without line numbers
  bool has_loop = false;          // a jump backwards
  bool locks = false;             // synchronized, or has a monitorexit
  std::string_view forwards{};    // begins by loading this class's only instance (Scala's object, Kotlin's companion)
};
struct ClassFacts {
  bool ok = false;  // false: malformed
  std::string_view name;
  std::string_view source_file;
  std::string_view source_map;  // as in source_map.h; empty: none
  std::vector<std::string_view> interfaces;
  std::vector<MethodFacts> methods;
};
// Views into `class_file`.
ClassFacts class_facts(std::span<const uint8_t> class_file) noexcept;
// Whether some method `locks`: all that is to be known of most classes, in a small part of the time.
bool releases_locks(std::span<const uint8_t> class_file) noexcept;

}  // namespace headway::agent::causal
