// The notes of a causal recording: causal-NAME.jsonl beside the agent's spool agent-NAME.spool, an object a line, each
// written whole by one write(2), so that a JVM that is killed loses only what has not happened yet. On a full disk
// notes are counted and lost, and the next one begins on a new line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headway::agent::causal {

// False: there is no spool, or no room. Notes that are written before begin_notes wait for it.
bool open_notes(const std::string& spool) noexcept;
// The first note; then those that waited.
void begin_notes(std::string_view fields) noexcept;
// The last one; what comes later goes nowhere.
void close_notes() noexcept;
uint64_t lost_notes() noexcept;
// How often the program had closed their file, which was then opened again.
uint32_t reopened_notes() noexcept;
// The recorder has ended, or somebody removed the file: nobody is to be delayed any longer.
bool notes_are_given_up() noexcept;

// One line of NDJSON; any thread but never in a signal handler. `fields` without braces.
void note(std::string_view type, std::string_view fields) noexcept;
void problem(std::string_view id, std::string_view text) noexcept;  // id: of src/headway/errors, "HW6.."
// JSON: a string in quotation marks, escaped, out of modified UTF-8.
std::string json_text(std::string_view text) noexcept;

}  // namespace headway::agent::causal
