#include "agent/state/records.h"

#include <algorithm>
#include <cstring>

#include "agent/core/clock.h"
#include "agent/core/text.h"
#include "agent/state/state.h"
#include "agent/state/thread_slot.h"

namespace headway::agent {
namespace {

constexpr size_t kNameBytes = 2048;  // of a thread's name; Java sets no bound
constexpr size_t kGroupBytes = 512;
constexpr size_t kCauseBytes = 256;
constexpr uint64_t kEighthsForMounts = 5;  // of the longest file: a program may mount a million times a second
constexpr size_t kPieceBytes = 2048;       // of a JVM fact's value; a longer one takes several records

uint32_t padded(size_t bytes) { return static_cast<uint32_t>((bytes + 7) & ~size_t{7}); }

// Fills in the head, copies the fixed part and up to two texts behind it, and commits. No file: nothing is done.
template <typename Record>
void write_to(ChunkFile* file, Record& record, uint16_t type, uint32_t tid, std::string_view first = {},
              std::string_view second = {}) {
  if (file == nullptr) return;
  ThreadSlot& mine = this_thread();
  const uint32_t bytes = padded(sizeof(Record) + first.size() + second.size());
  record.head = {monotonic_ns(), type, static_cast<hw_u16>(bytes), tid == 0 ? mine.tid : tid};
  auto* at = static_cast<char*>(file->begin(mine, bytes));
  if (at == nullptr) return;
  std::memset(at + bytes - 8, 0, 8);  // the padding: the chunk may be one that held something else
  std::memcpy(at, &record, sizeof(Record));
  if (!first.empty()) std::memcpy(at + sizeof(Record), first.data(), first.size());
  if (!second.empty()) std::memcpy(at + sizeof(Record) + first.size(), second.data(), second.size());
  file->commit(mine, bytes);
}

template <typename Record>
void write(Record& record, uint16_t type, uint32_t tid, std::string_view first = {}, std::string_view second = {}) {
  write_to(recording(), record, type, tid, first, second);
}

// The file also while the recorder, which wants no more records, waits for the last ones.
ChunkFile* file_until_released() { return agent().file.load(std::memory_order_acquire); }

}  // namespace

void write_thread_start(const ThreadFacts& facts, uint16_t type) noexcept {
  char name[kNameBytes];
  char group[kGroupBytes];
  const std::string_view name_text(name, to_utf8(facts.name, name, sizeof(name)));
  const std::string_view group_text(group, to_utf8(facts.group, group, sizeof(group)));
  hw_thread_start record{};
  record.java_id = facts.java_id;
  record.flags = facts.flags;
  record.name_bytes = static_cast<hw_u16>(name_text.size());
  record.group_bytes = static_cast<hw_u16>(group_text.size());
  write(record, type, facts.tid, name_text, group_text);
}

void write_thread_end(uint64_t java_id, uint64_t cpu_ns, uint16_t type) noexcept {
  hw_thread_end record{};
  record.java_id = java_id;
  record.cpu_ns = cpu_ns;
  write(record, type, 0);
}

void write_mount(uint64_t java_id, uint16_t type) noexcept {
  ChunkFile* file = recording();
  if (file != nullptr && file->used_past(kEighthsForMounts)) return file->count_lost();
  hw_mount record{};
  record.java_id = java_id;
  write(record, type, 0);
}

void write_phase(hw_phase_kind kind, int64_t start_ns, std::string_view cause) noexcept {
  cause = cause.substr(0, kCauseBytes);
  hw_phase record{};
  record.start_ns = start_ns;
  record.kind = kind;
  record.cause_bytes = static_cast<hw_u32>(cause.size());
  write(record, HW_PHASE, 0, cause);
}

void write_method(uint32_t method_id, std::string_view class_name, std::string_view name) noexcept {
  hw_method record{};
  record.method_id = method_id;
  record.class_bytes = static_cast<hw_u16>(class_name.size());
  record.name_bytes = static_cast<hw_u16>(name.size());
  write(record, HW_METHOD, 0, class_name, name);
}

void write_stack(uint32_t stack_id, const hw_stack_frame* frames, uint16_t count, bool is_cut) noexcept {
  hw_stack record{};
  record.stack_id = stack_id;
  record.frames = count;
  record.is_cut = is_cut ? 1 : 0;
  write(record, HW_STACK, 0, {reinterpret_cast<const char*>(frames), count * sizeof(hw_stack_frame)});
}

void write_waiting_stack(uint32_t stack_id, uint32_t java_id, hw_standing_in state) noexcept {
  hw_waiting_stack record{};
  record.stack_id = stack_id;
  record.java_id = java_id;
  record.state = state;
  write(record, HW_WAITING_STACK, 0);
}

void write_java_class(uint32_t class_id, std::string_view name) noexcept {
  hw_java_class record{};
  record.class_id = class_id;
  record.name_bytes = static_cast<hw_u32>(name.size());
  write_to(file_until_released(), record, HW_JAVA_CLASS, 0, name);
}

void write_allocation(hw_allocation record) noexcept { write_to(file_until_released(), record, HW_ALLOCATION, 0); }

void write_access(hw_access record) noexcept { write_to(file_until_released(), record, HW_ACCESS, 0); }

void write_access_owners(hw_access_owners record) noexcept {
  write_to(file_until_released(), record, record.head.type, 0);
}

void write_access_pair(hw_access_pair record) noexcept { write_to(file_until_released(), record, record.head.type, 0); }

void write_access_window(hw_access_window record) noexcept {
  write_to(file_until_released(), record, HW_ACCESS_WINDOW, 0);
}

void write_access_nodes(hw_access_nodes record) noexcept {
  write_to(file_until_released(), record, record.head.type, 0);
}

void write_line_place(hw_line_place record) noexcept { write_to(file_until_released(), record, HW_LINE_PLACE, 0); }

void write_line_writes(hw_line_writes record) noexcept { write_to(file_until_released(), record, HW_LINE_WRITES, 0); }

void write_line_share(hw_line_share record) noexcept { write_to(file_until_released(), record, HW_LINE_SHARE, 0); }

void write_last_info(std::string_view key, std::string_view value) noexcept {
  hw_jvm_info record{};
  record.key_bytes = static_cast<decltype(record.key_bytes)>(key.size());
  record.value_bytes = static_cast<hw_u32>(value.size());
  write_to(file_until_released(), record, HW_JVM_INFO, 0, key, value);
}

void write_info(std::string_view key, std::string_view value) noexcept {
  // Converted piece by piece; a piece of modified UTF-8 is cut only before the first byte of a character.
  hw_u16 part = 0;
  do {
    size_t cut = std::min(value.size(), kPieceBytes / 2);
    while (cut > 0 && cut < value.size() && (static_cast<unsigned char>(value[cut]) & 0xC0) == 0x80) --cut;
    // nor between the two halves of a character past U+FFFF (ED A0..AF xx, then ED B0..BF xx)
    if (cut >= 3 && cut < value.size() && value[cut] == '\xED' && value[cut - 3] == '\xED') cut -= 3;
    if (cut == 0) cut = value.size();
    char utf8[kPieceBytes];
    const std::string_view text(utf8, to_utf8(value.substr(0, cut), utf8, sizeof(utf8)));
    hw_jvm_info record{};
    record.key_bytes = static_cast<hw_u16>(key.size());
    record.part = part++;
    record.value_bytes = static_cast<hw_u32>(text.size());
    write(record, HW_JVM_INFO, 0, key, text);
    value.remove_prefix(cut);
  } while (!value.empty());
}

}  // namespace headway::agent
