// Finds the Java frame to walk a stack from where HotSpot's own walk gives up: in a stub (System.arraycopy, CRC32, SHA, AES,
// Math.sin), in a native function that compiled code calls without a transition (sorting), in compiled code that has
// moved the stack pointer for a while (searches in strings), and in the JVM, called by a stub that left no pc behind.
//
// Stubs and native functions have frames of any form, or none. So the stack is searched from its top for a return
// address into compiled code, right behind a call whose target is what runs now. That leaves nothing to chance: a word
// that an earlier call left behind lies behind a call of something else, and compiled code that called has the frame
// size that its blob tells, with a return address of its own at the end of it.
//
// Compiled code that is being entered or left is given the frame that it would have.
//
// Compiled code that has pushed something is met with its whole frame below that: the return address at the frame's end
// tells how much it pushed.
//
// On aarch64 a return address does not show where its caller's frame begins. Stubs return by the link register or save
// it with x29 at their begin; where compiled code calls a native function it puts (0, return address) on the stack.
#pragma once

#include <cstdint>

#include "agent/hotspot/code_cache.h"

namespace headway::agent {

enum class Machine : uint8_t { kUnknown, kX86_64, kAarch64 };

struct Registers {
  uintptr_t pc = 0;
  uintptr_t sp = 0;
  uintptr_t fp = 0;    // rbp, x29
  uintptr_t link = 0;  // x30; nothing on x86_64
};

struct StackBounds {
  uintptr_t low = 0;  // nothing below the stack pointer is read in any case
  uintptr_t high = 0;
};

struct CodeRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool contains(uintptr_t pc) const noexcept { return pc >= begin && pc < end; }
};

// What is known of the code in a process.
class CodeMap {
 public:
  virtual bool contains(uintptr_t pc) const noexcept = 0;  // [signal] the code cache
  virtual Blob find(uintptr_t pc) const noexcept = 0;      // [signal]
  // [signal] The single stub, or the library, that the address lies in; empty: neither is known.
  virtual CodeRange piece_of(uintptr_t pc) const noexcept = 0;

 protected:
  ~CodeMap() = default;
};

// What a walk begins with instead of the registers.
struct JavaFrame {
  uintptr_t pc = 0;  // of a caller: within its call, for the line is that of the call, not of what follows it
  uintptr_t sp = 0;
};

// [signal] Of a thread in Java code. False: not found. Reads code and [registers.sp, bounds.high) alone.
bool find_java_frame(Machine machine, const Registers& registers, StackBounds bounds, const CodeMap& code,
                     JavaFrame& frame) noexcept;

// Where a thread left Java code for the JVM, as its JavaFrameAnchor has it.
struct LeftFrame {
  uintptr_t sp = 0;  // 0: nowhere
  uintptr_t pc = 0;  // 0: not known; only x86_64 leaves it out
};

// [signal] Of a thread in the JVM: where HotSpot's walk may begin instead of at `last`. Compiled code calls the JVM by
// runtime stubs (slow allocations, monitors), and HotSpot walks from none of them: it says of their frames that they are
// never complete (CodeOffsets::frame_never_safe). Behind one whose size its blob tells lies the call in compiled code. Else
// a pc that was left out is what the call pushed, as HotSpot itself takes it later. sp 0: nothing better is found.
LeftFrame find_left_frame(Machine machine, LeftFrame last, StackBounds bounds, const CodeMap& code) noexcept;

}  // namespace headway::agent
