// The Java frame of stubs and native functions, on stacks and code that are made here; for both machines on either.
#include "agent/hotspot/stub_frames.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "testing/check.h"

using namespace headway::agent;

namespace {

constexpr uintptr_t kWord = sizeof(uintptr_t);

// A code cache of one page: compiled code A and B, two stubs in one blob, the interpreter.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): nobody destroys it by its base
class Code final : public CodeMap {
 public:
  static constexpr size_t kA = 0, kB = 256, kStubs = 512, kStubTwo = 640, kInterpreter = 768, kEnd = 1024;

  Code() { bytes_.fill(0x90); }
  uintptr_t at(size_t offset) const { return reinterpret_cast<uintptr_t>(bytes_.data()) + offset; }
  void put(size_t offset, std::span<const uint8_t> bytes) { std::ranges::copy(bytes, bytes_.begin() + offset); }
  void word(size_t offset, uint32_t instruction) { std::memcpy(&bytes_[offset], &instruction, 4); }

  bool contains(uintptr_t pc) const noexcept override { return pc >= at(0) && pc < at(kEnd); }
  Blob find(uintptr_t pc) const noexcept override {
    const auto blob = [this](BlobKind kind, size_t begin, size_t end, int32_t words) {
      return Blob{kind, at(begin), at(end), "", words, 1, kind == BlobKind::kCompiled ? at(begin) + 16 : 0};
    };
    if (!contains(pc)) return {};
    if (pc < at(kB)) return blob(BlobKind::kCompiled, kA, kB, 4);
    if (pc < at(kStubs)) return blob(BlobKind::kCompiled, kB, kStubs, 6);
    if (pc < at(kInterpreter)) return blob(BlobKind::kStub, kStubs, kInterpreter, stub_words);
    return blob(BlobKind::kInterpreter, kInterpreter, kEnd, 0);
  }
  CodeRange piece_of(uintptr_t pc) const noexcept override {
    if (pc >= library.begin && pc < library.end) return library;
    if (pc < at(kStubs) || pc >= at(kInterpreter)) return {};
    return pc < at(kStubTwo) ? CodeRange{at(kStubs), at(kStubTwo)} : CodeRange{at(kStubTwo), at(kInterpreter)};
  }

  CodeRange library{0x1000, 0x2000};
  int32_t stub_words = 0;  // of a stub's frame; 0: it has none of one size

  // movabs $target,%r10; call *%r10: what C2 makes of a leaf call. Returns where it goes on.
  uintptr_t leaf_call(size_t offset, uintptr_t target) {
    std::array<uint8_t, 13> bytes{0x49, 0xba, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xd2};
    std::memcpy(&bytes[2], &target, kWord);
    put(offset, bytes);
    return at(offset + bytes.size());
  }
  // call rel32
  uintptr_t direct_call(size_t offset, uintptr_t target) {
    std::array<uint8_t, 5> bytes{0xe8};
    const auto distance = static_cast<int32_t>(target - at(offset + bytes.size()));
    std::memcpy(&bytes[1], &distance, 4);
    put(offset, bytes);
    return at(offset + bytes.size());
  }
  // bl
  uintptr_t branch_with_link(size_t offset, uintptr_t target) {
    const auto distance = static_cast<int64_t>(target) - static_cast<int64_t>(at(offset));
    word(offset, 0x94000000U | (static_cast<uint32_t>(distance / 4) & 0x03ffffffU));
    return at(offset + 4);
  }
  // movz, movk, movk x8; blr x8
  uintptr_t far_branch(size_t offset, uintptr_t target) {
    for (uint32_t part = 0; part < 3; ++part) {
      const auto half = static_cast<uint32_t>(target >> (16 * part)) & 0xffffU;
      word(offset + 4 * part, (part == 0 ? 0xd2800000U : 0xf2800000U) | part << 21 | half << 5 | 8);
    }
    word(offset + 12, 0xd63f0100);
    return at(offset + 16);
  }

 private:
  alignas(16) std::array<uint8_t, kEnd> bytes_{};
};

struct Stack {
  alignas(16) std::array<uintptr_t, 96> words{};
  uintptr_t at(size_t index) const { return reinterpret_cast<uintptr_t>(words.data()) + index * kWord; }
  StackBounds bounds() const { return {at(0), at(words.size())}; }
};

void a_stub_without_a_frame_returns_to_the_word_at_the_top() {
  Code code;
  Stack stack;
  const uintptr_t back = code.leaf_call(Code::kA + 16, code.at(Code::kStubs));
  const uintptr_t outer = code.direct_call(Code::kB + 16, code.at(Code::kA));
  stack.words[10] = back;
  stack.words[14] = outer;  // the fourth word of A's frame
  JavaFrame frame;
  CHECK(find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.pc, back - 1);
  CHECK_EQUAL(frame.sp, stack.at(11));
}

void a_stub_with_a_frame_of_its_own_is_looked_through() {
  Code code;
  Stack stack;
  const uintptr_t back = code.direct_call(Code::kA + 16, code.at(Code::kStubs));  // as C1 calls
  stack.words[40] = back;
  stack.words[44] = code.at(Code::kInterpreter + 8);  // A was called by the interpreter
  stack.words[12] = code.at(Code::kStubs + 20);       // of a call within the stubs
  JavaFrame frame;
  CHECK(find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.sp, stack.at(41));
}

void what_an_earlier_call_left_on_the_stack_is_not_taken() {
  Code code;
  Stack stack;
  const uintptr_t java_call = code.direct_call(Code::kA + 16, code.at(Code::kB));
  const uintptr_t other_stub = code.leaf_call(Code::kB + 16, code.at(Code::kStubTwo));
  const uintptr_t back = code.leaf_call(Code::kA + 64, code.at(Code::kStubs));
  stack.words[12] = other_stub;  // stale: of another stub, with a frame that looks whole
  stack.words[18] = java_call;
  stack.words[30] = back;
  stack.words[34] = java_call;
  JavaFrame frame;
  CHECK(find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.pc, back - 1);
  // Without the true one: a stub may have jumped to this one, so the nearest call of a stub is it.
  stack.words[30] = 0;
  CHECK(find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.pc, other_stub - 1);
  // Behind a Java call nothing but the very stub counts.
  stack.words[11] = java_call;
  stack.words[15] = java_call;
  CHECK(!find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, stack.bounds(), code, frame));
}

// The remainder of doubles: compiled code calls SharedRuntime::drem in libjvm, which jumps to the stub fmod (JDK 21 and later).
void a_stub_that_a_native_function_jumped_to_is_of_the_line_that_called_the_function() {
  Code code;
  Stack stack;
  const uintptr_t java_call = code.direct_call(Code::kA + 16, code.at(Code::kB));
  const uintptr_t back = code.leaf_call(Code::kA + 64, code.library.begin + 8);
  stack.words[12] = back;
  stack.words[16] = java_call;
  JavaFrame frame;
  CHECK(find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.pc, back - 1);
  CHECK_EQUAL(frame.sp, stack.at(13));
  // A call of the very stub further out is better, and behind a Java call the function is not what led here.
  const uintptr_t exact = code.leaf_call(Code::kA + 128, code.at(Code::kStubs));
  stack.words[30] = exact;
  stack.words[34] = java_call;
  CHECK(find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.pc, exact - 1);
  stack.words[30] = 0;
  stack.words[11] = java_call;
  stack.words[15] = java_call;
  CHECK(!find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, stack.bounds(), code, frame));
}

void a_caller_without_a_return_address_of_its_own_is_none() {
  Code code;
  Stack stack;
  stack.words[10] = code.leaf_call(Code::kA + 16, code.at(Code::kStubs));
  stack.words[14] = 0x5000;
  JavaFrame frame;
  CHECK(!find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, stack.bounds(), code, frame));
  // Nor one whose frame would end beyond the stack.
  StackBounds few = stack.bounds();
  few.high = stack.at(13);
  stack.words[14] = code.at(Code::kInterpreter + 8);
  CHECK(!find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, few, code, frame));
  CHECK(!find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(20)}, few, code, frame));
}

void a_native_function_is_found_by_its_library() {
  Code code;
  Stack stack;
  const uintptr_t back = code.leaf_call(Code::kA + 16, code.library.begin + 8);
  stack.words[70] = back;
  stack.words[74] = code.at(Code::kInterpreter + 8);
  JavaFrame frame;
  const Registers inside{code.library.begin + 100, stack.at(10)};
  CHECK(find_java_frame(Machine::kX86_64, inside, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.sp, stack.at(71));
}

void compiled_code_that_is_entered_or_left_gets_the_frame_that_it_would_have() {
  Code code;
  Stack stack;
  const uintptr_t outer = code.direct_call(Code::kB + 16, code.at(Code::kA));
  // mov %eax,-0x14000(%rsp); push %rbp; sub $16,%rsp ... add $16,%rsp; pop %rbp; cmp; ja; ret
  code.put(Code::kA, std::array<uint8_t, 12>{0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x10});
  code.put(Code::kA + 200, std::array<uint8_t, 20>{0x48, 0x83, 0xc4, 0x10, 0x5d, 0x49, 0x3b, 0xa7, 0x48, 3,
                                                   0,    0,    0x0f, 0x87, 1,    0,    0,    0,    0xc3, 0x90});
  const auto found_at = [&](size_t offset, size_t top) {
    JavaFrame frame;
    const Registers inside{code.at(offset), stack.at(top)};
    const bool is_found = find_java_frame(Machine::kX86_64, inside, stack.bounds(), code, frame);
    // HotSpot walks from no instruction before the frame is whole.
    return is_found && frame.pc == std::max(inside.pc, code.at(Code::kA + 16)) ? frame.sp : 0;
  };
  stack.words[40] = outer;
  const uintptr_t whole = stack.at(37);  // of four words, the last one the return address
  CHECK_EQUAL(found_at(Code::kA, 40), whole);
  CHECK_EQUAL(found_at(Code::kA + 7, 40), whole);    // push
  CHECK_EQUAL(found_at(Code::kA + 8, 39), whole);    // sub: rbp lies above
  CHECK_EQUAL(found_at(Code::kA + 12, 37), whole);   // behind sub: it is there, but not by HotSpot's account
  CHECK_EQUAL(found_at(Code::kA + 204, 39), whole);  // pop
  CHECK_EQUAL(found_at(Code::kA + 205, 40), whole);  // cmp
  CHECK_EQUAL(found_at(Code::kA + 212, 40), whole);  // ja
  CHECK_EQUAL(found_at(Code::kA + 218, 40), whole);  // ret
}

void a_stub_that_the_interpreter_called_has_no_compiled_caller() {
  Code code;
  Stack stack;
  const uintptr_t java_call = code.direct_call(Code::kA + 16, code.at(Code::kB));
  const uintptr_t interpreted = code.direct_call(Code::kInterpreter + 16, code.at(Code::kStubs));
  stack.words[9] = interpreted;
  JavaFrame adapted;  // an adapter has nothing on the stack: the interpreter's frame is whole
  CHECK(find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(9)}, stack.bounds(), code, adapted));
  CHECK_EQUAL(adapted.pc, interpreted);
  CHECK_EQUAL(adapted.sp, stack.at(10));
  stack.words[9] = 0;
  stack.words[11] = code.direct_call(Code::kInterpreter + 16, code.at(Code::kStubs));
  stack.words[20] = java_call;
  stack.words[24] = java_call;
  JavaFrame frame;
  CHECK(!find_java_frame(Machine::kX86_64, {code.at(Code::kStubs + 8), stack.at(10)}, stack.bounds(), code, frame));
}

void what_compiled_code_pushed_is_taken_off() {
  Code code;
  Stack stack;
  const uintptr_t outer = code.direct_call(Code::kB + 16, code.at(Code::kA));
  stack.words[10 + 3 + 3] = outer;  // three words pushed, then A's frame of four
  JavaFrame frame;
  const Registers inside{code.at(Code::kA + 100), stack.at(10)};
  CHECK(find_java_frame(Machine::kX86_64, inside, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.pc, inside.pc);
  CHECK_EQUAL(frame.sp, stack.at(13));
  stack.words[13] = outer;  // where it is if nothing was pushed
  CHECK(!find_java_frame(Machine::kX86_64, inside, stack.bounds(), code, frame));
}

void a_stub_on_aarch64_returns_by_the_link_register() {
  Code code;
  Stack stack;
  const uintptr_t back = code.branch_with_link(Code::kA + 16, code.at(Code::kStubs));
  stack.words[13] = code.at(Code::kInterpreter + 8);
  JavaFrame frame;
  Registers inside{code.at(Code::kStubs + 8), stack.at(10), 0, back};
  CHECK(find_java_frame(Machine::kAarch64, inside, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.pc, back - 4);
  CHECK_EQUAL(frame.sp, stack.at(10));
  inside.link = code.at(Code::kA + 80);  // behind no call
  CHECK(!find_java_frame(Machine::kAarch64, inside, stack.bounds(), code, frame));
}

void a_stub_on_aarch64_that_saves_the_link_is_left_by_its_frame() {
  Code code;
  Stack stack;
  code.word(Code::kStubs, 0xa9bf7bfd);       // stp x29, x30, [sp, -16]!
  code.word(Code::kStubs + 4, 0x910003fd);   // mov x29, sp
  code.word(Code::kStubs + 64, 0xd65f03c0);  // ret
  const uintptr_t back = code.branch_with_link(Code::kA + 16, code.at(Code::kStubs));
  stack.words[20] = 0;
  stack.words[21] = back;
  stack.words[25] = code.at(Code::kInterpreter + 8);
  JavaFrame frame;
  const Registers within{code.at(Code::kStubs + 32), stack.at(10), stack.at(20), 0};
  CHECK(find_java_frame(Machine::kAarch64, within, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.sp, stack.at(22));
  const Registers before_mov{code.at(Code::kStubs + 4), stack.at(20), 0, back};
  CHECK(find_java_frame(Machine::kAarch64, before_mov, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.sp, stack.at(22));
  const Registers at_return{code.at(Code::kStubs + 64), stack.at(22), 0, back};
  CHECK(find_java_frame(Machine::kAarch64, at_return, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.sp, stack.at(22));
  const Registers astray{code.at(Code::kStubs + 32), stack.at(10), 0x10, 0};
  CHECK(!find_java_frame(Machine::kAarch64, astray, stack.bounds(), code, frame));
}

void a_native_function_on_aarch64_is_found_by_what_its_caller_put_on_the_stack() {
  Code code;
  Stack stack;
  const uintptr_t back = code.far_branch(Code::kA + 16, code.library.begin + 8);
  stack.words[30] = 0;
  stack.words[31] = back;
  stack.words[35] = code.at(Code::kInterpreter + 8);
  JavaFrame frame;
  const Registers inside{code.library.begin + 100, stack.at(10), 0, 0};
  CHECK(find_java_frame(Machine::kAarch64, inside, stack.bounds(), code, frame));
  CHECK_EQUAL(frame.sp, stack.at(32));
}

LeftFrame left(Machine machine, const Stack& stack, const Code& code, uintptr_t sp, uintptr_t pc = 0) {
  return find_left_frame(machine, {sp, pc}, stack.bounds(), code);
}

void a_pc_that_was_left_out_is_the_word_below_the_stack_pointer() {
  Code code;
  Stack stack;
  stack.words[19] = code.at(Code::kInterpreter + 32);
  CHECK_EQUAL(left(Machine::kX86_64, stack, code, stack.at(20)).pc, code.at(Code::kInterpreter + 32));
  CHECK_EQUAL(left(Machine::kX86_64, stack, code, stack.at(20)).sp, stack.at(20));
  CHECK_EQUAL(left(Machine::kAarch64, stack, code, stack.at(20)).sp, 0U);
  CHECK_EQUAL(left(Machine::kX86_64, stack, code, stack.at(30)).sp, 0U);
  CHECK_EQUAL(left(Machine::kX86_64, stack, code, 0).sp, 0U);
  // A pc that is there already is nothing new.
  CHECK_EQUAL(left(Machine::kX86_64, stack, code, stack.at(20), code.at(Code::kInterpreter + 32)).sp, 0U);
}

void behind_a_stub_that_called_the_jvm_lies_its_caller_in_compiled_code() {
  for (const Machine machine : {Machine::kX86_64, Machine::kAarch64}) {
    Code code;
    code.stub_words = 3;
    Stack stack;
    const uintptr_t in_stub = code.at(Code::kStubs + 32);
    const bool is_x86 = machine == Machine::kX86_64;
    uintptr_t caller = is_x86 ? code.direct_call(Code::kB + 40, code.at(Code::kStubs)) : code.at(Code::kB + 44);
    if (!is_x86) code.word(Code::kB + 40, 0xd63f0100);  // blr x8
    stack.words[19] = in_stub;                          // right below the stack pointer that was kept
    stack.words[22] = caller;                           // at the end of the stub's three words
    CHECK_EQUAL(left(machine, stack, code, stack.at(20), in_stub).sp, 0U);  // whose frame does not end in code
    stack.words[28] = code.at(Code::kInterpreter + 8);                      // at the end of the caller's six
    for (const uintptr_t pc : {in_stub, is_x86 ? uintptr_t{0} : in_stub}) {
      CHECK_EQUAL(left(machine, stack, code, stack.at(20), pc).sp, stack.at(23));
      CHECK_EQUAL(left(machine, stack, code, stack.at(20), pc).pc, caller);
    }
    stack.words[22] = caller + 8;  // no call is right before that
    CHECK_EQUAL(left(machine, stack, code, stack.at(20), in_stub).sp, 0U);
    stack.words[22] = code.at(Code::kStubs + 64);  // a stub is no Java caller
    CHECK_EQUAL(left(machine, stack, code, stack.at(20), in_stub).sp, 0U);
    CHECK_EQUAL(left(machine, stack, code, stack.bounds().high - kWord, in_stub).sp, 0U);
    CHECK_EQUAL(left(machine, stack, code, stack.bounds().high + kWord, in_stub).sp, 0U);
  }
}

}  // namespace

int main() {
  a_stub_without_a_frame_returns_to_the_word_at_the_top();
  a_stub_with_a_frame_of_its_own_is_looked_through();
  what_an_earlier_call_left_on_the_stack_is_not_taken();
  a_stub_that_a_native_function_jumped_to_is_of_the_line_that_called_the_function();
  a_caller_without_a_return_address_of_its_own_is_none();
  a_native_function_is_found_by_its_library();
  compiled_code_that_is_entered_or_left_gets_the_frame_that_it_would_have();
  a_stub_that_the_interpreter_called_has_no_compiled_caller();
  what_compiled_code_pushed_is_taken_off();
  a_stub_on_aarch64_returns_by_the_link_register();
  a_stub_on_aarch64_that_saves_the_link_is_left_by_its_frame();
  a_native_function_on_aarch64_is_found_by_what_its_caller_put_on_the_stack();
  a_pc_that_was_left_out_is_the_word_below_the_stack_pointer();
  behind_a_stub_that_called_the_jvm_lies_its_caller_in_compiled_code();
}
