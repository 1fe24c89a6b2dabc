#include "agent/hotspot/stub_frames.h"

#include <algorithm>
#include <cstring>

namespace headway::agent {
namespace {

constexpr uintptr_t kWord = sizeof(uintptr_t);
// Stubs keep a few kilobytes at most (AES-GCM by AVX-512 the most); native functions may be deep (sorting).
constexpr uintptr_t kMostStubWords = 1024;
constexpr uintptr_t kMostNativeWords = 16 * 1024;
constexpr uintptr_t kMostPushedWords = 64;  // by compiled code for the length of an intrinsic

template <typename T>
T load_at(uintptr_t address) noexcept {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
  return value;
}

struct CallTarget {
  bool is_call = false;   // there is a call right before
  uintptr_t address = 0;  // 0: not known
};

// --- calls, by the address behind them ------------------------------------------------------------------------------

CallTarget target_x86_64(uintptr_t behind, const Blob& blob) noexcept {
  constexpr uintptr_t kDirect = 5;  // call rel32
  const auto byte = [](uintptr_t at) { return load_at<uint8_t>(at); };
  if (behind < blob.begin + 2) return {};
  // movabs $target,%r10; call *%r10, or by another register
  for (uintptr_t wide = 0; wide < 2; ++wide) {  // of the registers from r8 on
    const uintptr_t call = behind - 2 - wide;
    if (call < blob.begin || byte(call + wide) != 0xff || (byte(call + wide + 1) & 0xf8) != 0xd0) continue;
    if (wide == 1 && byte(call) != 0x41) continue;
    const uint8_t number = byte(behind - 1) & 7;
    const uintptr_t load = call - 10;
    const bool is_loaded = load >= blob.begin && byte(load) == (wide == 1 ? 0x49 : 0x48) &&
                           byte(load + 1) == static_cast<uint8_t>(0xb8 + number);
    if (is_loaded) return {true, load_at<uintptr_t>(load + 2)};
    if (wide == 1) return {true, 0};
  }
  if (behind >= blob.begin + kDirect && byte(behind - kDirect) == 0xe8) {
    return {true, behind + static_cast<uintptr_t>(static_cast<intptr_t>(load_at<int32_t>(behind - 4)))};
  }
  return {};
}

// movz, movk, movk of one register right before `at` (48 bits), or ldr of a literal; 0: something else.
uintptr_t loaded_aarch64(uintptr_t at, uint32_t reg, const Blob& blob) noexcept {
  uintptr_t value = 0;
  for (uint32_t back = 1; back <= 6 && at - back * 4 >= blob.begin; ++back) {
    const auto word = load_at<uint32_t>(at - back * 4);
    const uintptr_t part = static_cast<uintptr_t>((word >> 5) & 0xffff) << (16 * ((word >> 21) & 3));
    if ((word & 0x1f) != reg) continue;  // what goes on the stack in between
    if ((word & 0xff800000) == 0xf2800000) {
      value |= part;
    } else if ((word & 0xff800000) == 0xd2800000) {
      return value | part;
    } else {
      return 0;
    }
  }
  return 0;
}

CallTarget target_aarch64(uintptr_t behind, const Blob& blob) noexcept {
  if (behind % 4 != 0 || behind < blob.begin + 4) return {};
  const uintptr_t call = behind - 4;
  const auto word = load_at<uint32_t>(call);
  if ((word & 0xfffffc1f) == 0xd63f0000) return {true, loaded_aarch64(call, (word >> 5) & 0x1f, blob)};  // blr
  if ((word & 0xfc000000) != 0x94000000) return {};                                                      // bl
  const auto offset = static_cast<intptr_t>(static_cast<int32_t>(word << 6) >> 4);
  const uintptr_t target = call + static_cast<uintptr_t>(offset);
  // A trampoline, at the end of the caller's own blob: ldr x8, 8; br x8; the address.
  const bool is_inside = blob.contains(target) && blob.contains(target + 15);
  if (is_inside && load_at<uint32_t>(target) == 0x58000048 && load_at<uint32_t>(target + 4) == 0xd61f0100) {
    return {true, load_at<uintptr_t>(target + 8)};
  }
  return {true, target};
}

CallTarget target_of(Machine machine, uintptr_t behind, const Blob& blob) noexcept {
  return machine == Machine::kX86_64 ? target_x86_64(behind, blob) : target_aarch64(behind, blob);
}

// --- the search -----------------------------------------------------------------------------------------------------

enum class Match : uint8_t {
  kNone,   // no return address
  kOther,  // of a call in compiled code that does not lead here, as far as is known: a Java call
  kOuter,  // of the interpreter
  kLoose,  // of a call of other code that is not Java: a stub may jump to another, or call one
  kExact,  // of a call of the very stub or library that runs
};

class Search {
 public:
  Search(Machine machine, const Registers& registers, StackBounds bounds, const CodeMap& code) noexcept
      : machine_(machine),
        registers_(registers),
        bounds_(bounds),
        code_(code),
        is_native_(!code.contains(registers.pc)),
        piece_(code.piece_of(registers.pc)) {
    if (piece_.end == 0 && !is_native_) {
      const Blob blob = code.find(registers.pc);
      piece_ = {blob.begin, blob.end};
    }
  }

  // [signal] What a return address is whose caller goes on with that stack pointer.
  Match match(uintptr_t address, uintptr_t sp) const noexcept {
    if (!code_.contains(address)) return Match::kNone;
    const Blob blob = code_.find(address);
    if (blob.kind == BlobKind::kNone || blob.kind == BlobKind::kStub) return Match::kNone;
    const CallTarget target = target_of(machine_, address, blob);
    if (!target.is_call) return Match::kNone;
    if (blob.kind == BlobKind::kInterpreter) return Match::kOuter;
    if (!has_whole_frame(blob, sp)) return Match::kNone;
    if (target.address == 0) return Match::kOther;
    if (piece_.contains(target.address)) return Match::kExact;
    // C++ may have jumped to the stub that runs: SharedRuntime::drem (JDK 21 and later) to fmod.
    if (!code_.contains(target.address)) return Match::kLoose;
    return code_.find(target.address).kind == BlobKind::kStub ? Match::kLoose : Match::kOther;
  }

  bool caller(JavaFrame& frame) const noexcept { return machine_ == Machine::kX86_64 ? x86_64(frame) : aarch64(frame); }

  bool x86_64(JavaFrame& caller) const noexcept {
    bool may_be_loose = true;
    JavaFrame loose;
    const uintptr_t end = search_end();
    for (uintptr_t at = aligned(registers_.sp); at + kWord <= end; at += kWord) {
      const auto address = load_at<uintptr_t>(at);
      const Match found = match(address, at + kWord);
      if (found == Match::kNone) continue;
      if (found == Match::kExact) {
        caller = {address - 1, at + kWord};
        return true;
      }
      // An adapter between the interpreter and compiled code, which has not touched the interpreter's frame.
      if (found == Match::kOuter && at == registers_.sp) {
        caller = {address, at + kWord};
        return true;
      }
      // Further out lies the caller's caller; only a word that nobody wrote lately could be this.
      if (found == Match::kLoose && may_be_loose) loose = {address - 1, at + kWord};
      may_be_loose = false;
    }
    caller = loose;
    return loose.pc != 0;
  }

  bool aarch64(JavaFrame& caller) const noexcept {
    if (is_native_) return breadcrumb(caller);
    // Stubs that have put nothing on the stack, or have taken it back.
    constexpr uint32_t kReturn = 0xd65f03c0;
    const uintptr_t sp = registers_.sp;
    const bool is_flat = !saves_link() || load_at<uint32_t>(registers_.pc) == kReturn;
    if (is_flat) return is_from_here(match(registers_.link, sp)) && set(registers_.link, sp, caller);
    // stp x29, x30, [sp, -16]! and then mov x29, sp: before the second, and from then on.
    return saved_at(registers_.pc == piece_.begin + 4 ? sp : registers_.fp, caller);
  }

  // Compiled code whose frame is not there yet, or no more: the frame that it has once it is, with the return address
  // at its end. HotSpot walks from no instruction before that.
  bool incomplete(JavaFrame& frame) const noexcept {
    const Blob blob = code_.find(registers_.pc);
    if (machine_ != Machine::kX86_64 || blob.frame_words == 0) return false;
    const bool is_entered = registers_.pc < blob.frame_begin;
    if (!is_entered && !is_left(blob)) return false;
    const uintptr_t whole = static_cast<uintptr_t>(blob.frame_words - 1) * kWord;
    const bool is_whole = is_entered && !makes_frame_yet(blob);
    const uintptr_t first = registers_.sp + (is_whole ? whole : 0);
    for (uintptr_t slot = first; slot <= first + (is_whole ? 0 : kWord); slot += kWord) {
      if (!is_readable(slot) || !is_return_address(load_at<uintptr_t>(slot))) continue;
      frame = {is_entered ? blob.frame_begin : registers_.pc, slot - whole};
      return frame.sp >= bounds_.low;
    }
    return false;
  }

  // Compiled code with its own frame, and what it has pushed upon it.
  bool pushed(JavaFrame& frame) const noexcept {
    const Blob blob = code_.find(registers_.pc);
    const uintptr_t sp = aligned(registers_.sp);
    for (uintptr_t words = 0; blob.frame_words > 0 && words <= kMostPushedWords; ++words) {
      const uintptr_t slot = sp + (words + static_cast<uintptr_t>(blob.frame_words) - 1) * kWord;
      if (!is_readable(slot)) return false;
      if (!is_return_address(load_at<uintptr_t>(slot))) continue;
      if (words == 0) return false;  // nothing is pushed: it was refused for something else
      frame = {registers_.pc, sp + words * kWord};
      return true;
    }
    return false;
  }

 private:
  // At pop %rbp, the poll behind that, or ret.
  bool is_left(const Blob& blob) const noexcept {
    const uintptr_t pc = registers_.pc;
    const auto byte = [](uintptr_t at) { return load_at<uint8_t>(at); };
    if (blob.end - pc < 8) return byte(pc) == 0xc3;
    const bool polls = byte(pc) == 0x49 && byte(pc + 1) == 0x3b && pc > blob.begin && byte(pc - 1) == 0x5d;  // cmp
    const bool jumps = byte(pc) == 0x0f && byte(pc + 1) == 0x87 && byte(pc + 6) == 0xc3;                     // ja, ret
    return byte(pc) == 0xc3 || byte(pc) == 0x5d || polls || jumps;
  }

  // Before sub $n,%rsp.
  bool makes_frame_yet(const Blob& blob) const noexcept {
    for (uintptr_t at = registers_.pc; at + 3 <= std::min(blob.frame_begin, blob.end); ++at) {
      const auto byte = [at](uintptr_t next) { return load_at<uint8_t>(at + next); };
      if (byte(0) == 0x48 && (byte(1) & 0xfd) == 0x81 && byte(2) == 0xec) return true;
    }
    return false;
  }

  // The interpreter and stubs put theirs on the stack by other means as well.
  bool is_return_address(uintptr_t address) const noexcept {
    if (!code_.contains(address)) return false;
    const Blob blob = code_.find(address);
    if (blob.kind != BlobKind::kCompiled) return blob.kind != BlobKind::kNone;
    return target_of(machine_, address, blob).is_call;
  }

  static uintptr_t aligned(uintptr_t address) noexcept { return (address + kWord - 1) & ~(kWord - 1); }
  static bool is_from_here(Match match) noexcept { return match == Match::kExact || match == Match::kLoose; }
  static bool set(uintptr_t address, uintptr_t sp, JavaFrame& caller) noexcept {
    caller = {address - 4, sp};
    return true;
  }

  uintptr_t search_end() const noexcept {
    const uintptr_t most = (is_native_ ? kMostNativeWords : kMostStubWords) * kWord;
    return std::min(bounds_.high, registers_.sp + most);
  }

  bool is_readable(uintptr_t at) const noexcept {
    return at % kWord == 0 && at >= registers_.sp && at < bounds_.high && bounds_.high - at >= kWord;
  }

  // Compiled code returns to other code in the cache: compiled, interpreted, or the stub by which C++ calls Java.
  bool has_whole_frame(const Blob& blob, uintptr_t sp) const noexcept {
    const uintptr_t slot = sp + static_cast<uintptr_t>(blob.frame_words) * kWord - kWord;
    return blob.frame_words > 0 && is_readable(slot) && code_.contains(load_at<uintptr_t>(slot));
  }

  // The stub that runs begins with: stp x29, x30, [sp, -16]!
  bool saves_link() const noexcept {
    return piece_.begin != 0 && registers_.pc > piece_.begin && load_at<uint32_t>(piece_.begin) == 0xa9bf7bfd;
  }

  bool saved_at(uintptr_t frame, JavaFrame& caller) const noexcept {
    if (!is_readable(frame) || !is_readable(frame + kWord)) return false;
    const auto address = load_at<uintptr_t>(frame + kWord);
    return is_from_here(match(address, frame + 2 * kWord)) && set(address, frame + 2 * kWord, caller);
  }

  bool breadcrumb(JavaFrame& caller) const noexcept {
    const uintptr_t end = search_end();
    for (uintptr_t at = (registers_.sp + 15) & ~uintptr_t{15}; at + 2 * kWord <= end; at += 2 * kWord) {
      if (load_at<uintptr_t>(at) != 0) continue;
      const auto address = load_at<uintptr_t>(at + kWord);
      if (is_from_here(match(address, at + 2 * kWord))) return set(address, at + 2 * kWord, caller);
    }
    return false;
  }

  Machine machine_;
  const Registers& registers_;
  StackBounds bounds_;
  const CodeMap& code_;
  bool is_native_;
  CodeRange piece_;
};

}  // namespace

bool find_java_frame(Machine machine, const Registers& registers, StackBounds bounds, const CodeMap& code,
                     JavaFrame& frame) noexcept {
  const bool is_on_stack = registers.sp >= bounds.low && registers.sp < bounds.high;
  if (!is_on_stack || machine == Machine::kUnknown) return false;
  const Search search(machine, registers, bounds, code);
  if (!code.contains(registers.pc)) return search.caller(frame);
  const BlobKind kind = code.find(registers.pc).kind;
  if (kind == BlobKind::kCompiled) return search.incomplete(frame) || search.pushed(frame);
  return kind == BlobKind::kStub && search.caller(frame);
}

LeftFrame find_left_frame(Machine machine, LeftFrame last, StackBounds bounds, const CodeMap& code) noexcept {
  const auto is_slot = [bounds](uintptr_t at) {
    return at % kWord == 0 && at >= bounds.low + kWord && at < bounds.high && bounds.high - at >= kWord;
  };
  if (machine == Machine::kUnknown || !is_slot(last.sp)) return {};
  LeftFrame left = last;
  if (left.pc == 0 && machine == Machine::kX86_64) left.pc = load_at<uintptr_t>(last.sp - kWord);
  if (!code.contains(left.pc)) return {};
  const Blob stub = code.find(left.pc);
  if (stub.kind == BlobKind::kNone) return {};
  const uintptr_t sp = last.sp + static_cast<uintptr_t>(stub.frame_words) * kWord;
  if (stub.kind == BlobKind::kStub && stub.frame_words > 0 && is_slot(sp)) {
    const auto pc = load_at<uintptr_t>(sp - kWord);
    const Blob caller = code.contains(pc) ? code.find(pc) : Blob{};
    const uintptr_t end = sp + static_cast<uintptr_t>(caller.frame_words) * kWord - kWord;
    const bool is_whole = caller.kind == BlobKind::kCompiled && caller.frame_words > 0 && is_slot(end) &&
                          code.contains(load_at<uintptr_t>(end));
    if (is_whole && target_of(machine, pc, caller).is_call) return {sp, pc};
  }
  return left.pc == last.pc ? LeftFrame{} : left;
}

}  // namespace headway::agent
