// Inserts counts of reads and writes of fields and array elements into a class file: behind each straight piece of code
// (access_pieces.h) a call `count(I)V` of the hook class, with the number of a counter. Pieces with as many accesses of
// each kind share a counter, so that accesses are what its count stands for.
//
// Where owners are asked for, accesses of objects have a call `touch(Object, int)` each instead, with the object and the
// number of a row, and what makes new objects is followed by a call `made(Object)` (owner_sites.h).
//
// Where cache lines are asked for, writes to objects have, besides, a call `wroteField(Object, int)` or
// `wroteElement(Object, int, int)` before them, with the object, the index and the number of what they write to
// (write_places.h).
//
// Where memory nodes are asked for, accesses of objects have, besides, a call `sampleField(Object, int)` or
// `sampleElement(Object, int, int)` before them, with the object, the index and the number of a row.
//
// Instructions that nothing is known about, or that leave no room, change nothing: such methods and classes are left
// as they are, and what they do is counted as left out.
//
// Knows nothing of the JVM, throws nothing, reads nothing out of bounds, whatever the bytes are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/classfile/access_pieces.h"
#include "agent/classfile/class_insert.h"
#include "agent/classfile/write_places.h"

namespace headway::agent {

// A class in which accesses are to be counted.
struct AccessClass {
  bool ok = false;  // false: malformed
  std::string_view name;
  std::vector<AccessCounts> counters{};  // what each of the counters it needs stands for, each once
  bool has_owner_sites = false;          // with owners: something of it asks or notes whose objects are
  std::vector<WritePlace> places{};      // with lines: what its code writes to, each once
};
AccessClass accesses_of(std::span<const uint8_t> class_file, bool with_owners = false, bool with_lines = false,
                        bool with_nodes = false) noexcept;

struct CountedClass {
  InsertOutcome outcome = InsertOutcome::kMalformed;
  std::vector<uint8_t> bytes;     // the new class file, when kInserted
  uint32_t instructions = 0;      // accesses that are counted now
  uint32_t left_out = 0;          // accesses that are not, for want of room
  uint32_t methods_left_out = 0;  // methods that have such
  uint32_t without_owner = 0;     // accesses of objects that are counted without asking whose they are
  uint32_t unseen_writes = 0;     // with owners: writes to objects that others may have, after which nobody is noted
  uint32_t unplaced_writes = 0;   // with lines: writes to objects that others may have, without a call
  bool has_unnoted = false;       // some of them are in methods that do not call unnoted() when they begin
};
// Each the number of the first; those after it follow. Numbers are from -32,768 to 32,767.
struct AccessNumbers {
  int32_t first_counter = 0;                // of the counters of accesses_of(class_file)
  std::optional<int32_t> first_row{};       // of its kinds of accesses to objects, with owners
  std::optional<int32_t> first_place{};     // of the places of accesses_of(class_file), with lines
  std::optional<int32_t> first_node_row{};  // of its kinds of accesses to objects, with nodes
};
CountedClass count_accesses(std::span<const uint8_t> class_file, std::string_view hook_class,
                            const AccessNumbers& numbers) noexcept;

}  // namespace headway::agent
