// The agent's records of threads, phases, methods and stacks (native/wire/records.h), written into the spool file. Each
// may be called on any thread, and does nothing when no records are wanted.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/records.h"

namespace headway::agent {

// Who a thread is, as HW_THREAD_START tells it.
struct ThreadFacts {
  uint32_t tid;  // OS thread
  uint64_t java_id;
  uint32_t flags;         // hw_thread_flags
  std::string_view name;  // modified UTF-8
  std::string_view group;
};
void write_thread_start(const ThreadFacts& facts, uint16_t type = HW_THREAD_START) noexcept;
void write_thread_end(uint64_t java_id, uint64_t cpu_ns, uint16_t type = HW_THREAD_END) noexcept;
void write_mount(uint64_t java_id, uint16_t type) noexcept;  // of the calling carrier: HW_VTHREAD_MOUNT or _UNMOUNT
void write_phase(hw_phase_kind kind, int64_t start_ns, std::string_view cause) noexcept;
void write_method(uint32_t method_id, std::string_view class_name, std::string_view name) noexcept;  // UTF-8
void write_stack(uint32_t stack_id, const hw_stack_frame* frames, uint16_t count, bool is_cut) noexcept;
void write_waiting_stack(uint32_t stack_id, uint32_t java_id, hw_standing_in state) noexcept;
// These four also when the recorder has asked for the end, until the file is released: the last sums are known only then.
void write_java_class(uint32_t class_id, std::string_view name) noexcept;  // UTF-8
void write_allocation(hw_allocation record) noexcept;
void write_access(hw_access record) noexcept;
void write_access_owners(hw_access_owners record) noexcept;
void write_access_pair(hw_access_pair record) noexcept;
void write_access_window(hw_access_window record) noexcept;
void write_access_nodes(hw_access_nodes record) noexcept;
void write_line_place(hw_line_place record) noexcept;
void write_line_writes(hw_line_writes record) noexcept;
void write_line_share(hw_line_share record) noexcept;
void write_last_info(std::string_view key, std::string_view value) noexcept;  // a short value
void write_info(std::string_view key, std::string_view value) noexcept;

}  // namespace headway::agent
