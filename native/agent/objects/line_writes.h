// Watches which threads write in turn to one cache line: natives of the hook class, which code of the program calls before
// it writes to an object (docs/decisions/0020-cache-lines.md).
//
// Where an object is, is read from the JVM's handle of it, at the moment of the write; nothing of the JVM's is changed.
#pragma once

#include <jni.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/classfile/write_places.h"

namespace headway::agent {

// Takes the memory; not null: what is in the way. Before the hook class is there.
const char* prepare_lines() noexcept;
// Whether the hook class found that handles lead to objects.
bool lines_work() noexcept;
std::vector<JNINativeMethod> line_natives();

// As PlaceTable::add.
std::optional<int32_t> number_places(uint32_t class_id, std::span<const WritePlace> places, bool is_again) noexcept;
// So many writes are in code that has no calls.
void add_unplaced_writes(uint32_t count) noexcept;

// Writes the sums of the calling thread, which ends.
void end_lines_of_thread() noexcept;
// Writes those that have changed; returns how many bytes.
int64_t write_lines() noexcept;
// No more writes are noted.
void silence_lines() noexcept;
// What was not seen, as part of the facts of accesses.
std::string line_coverage();

}  // namespace headway::agent
