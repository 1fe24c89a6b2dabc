// libbpf's own log: kept for error messages, never printed (the terminal belongs to the recorded program).
#pragma once

#include <string>

namespace headway {

// From now on libbpf's lines are kept here instead of going to standard error. Process-wide; safe to call repeatedly.
void capture_libbpf_log();
void clear_libbpf_log();
// The last lines since the log was cleared, oldest first, joined by "; ".
std::string libbpf_log();

}  // namespace headway
