// Inserts calls into the methods of a class file: visits of progress points, and "settle what you owe" before a thread
// may wake another one. Unlike in class_patch.h, instructions move, so everything that names their addresses is
// rewritten: jumps, switches, exception tables, stack maps, line numbers, local variables, type annotations.
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

namespace headway::agent {

// Static methods of the hook class.
enum class Call : uint8_t {
  kHit,      // hit(I)V: a visit of point `point`
  kTimed,    // timed(I)V: the same, and the clock is read: one end of a latency
  kSettle,   // leaving()V
  kOwner,    // ownerChanges(AbstractOwnableSynchronizer, Thread)V, with the method's receiver and argument
  kOwnerSet  // ownerIsSet, as that
};

// Where calls go.
//   kEntry    the beginning of a method, once for each call (not when a loop jumps back to its first instruction)
//   kLine     where the code of a line begins. A line may have several stretches of code in a method (a `finally` is
//             compiled once for each way out; the head of a `for` has its increment behind the body): a second stretch
//             counts only if it can be reached without coming by the first. So a line counts once however its calls are
//             spread over several lines, a loop's body each time round, and the head of a `for` once for each loop.
//   kStretch  every stretch of every line (for tests of the insertion itself)
//   kRelease  before each monitorexit, and before each return of a synchronized method
//   kExit     before each return of a method; guarded only in a method without jumps that leaves its arguments alone
enum class InsertAt : uint8_t { kEntry, kLine, kStretch, kRelease, kExit };

struct Insert {
  InsertAt where = InsertAt::kEntry;
  Call call = Call::kHit;
  uint16_t point = 0;           // below 32,768
  std::string_view method;      // kEntry, kExit: its name; empty: each
  std::string_view descriptor;  // kEntry, kExit: begins so, e.g. "(II)"; empty: any
  uint16_t line = 0;            // kLine
  bool guarded = false;         // kEntry, kExit: the end of the stack or of the heap in the call goes no further
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

}  // namespace headway::agent
