// The machine's CPUs by number, which may have holes, and of which there may be more than 1024 (the C library's cpu_set_t).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace headway {

// The CPUs of a list as the kernel writes it: "0-3,8". A text that is none gives what stands before the mistake.
std::vector<int> parse_cpu_list(std::string_view text);

// The CPUs that have a line of their own in /proc/stat: "cpu8 ...".
std::vector<int> cpus_of_stat(std::string_view text);

// The CPUs that are online, in ascending order; at least one.
std::vector<int> online_cpus();

// So many places has a table in which each CPU that may ever come online has the place of its number.
int cpu_places();

// The same of a list of possible CPUs and of those that are online, in case that the list is empty.
int places_of(std::span<const int> possible, std::span<const int> online);

// The CPUs that the calling thread may run on; empty where the kernel does not say. `first_bytes`: room for the first try, which
// is doubled until the kernel's own set fits.
std::vector<int> allowed_cpus(size_t first_bytes = 128);

// How many those are; where that is not known, how many are online.
int allowed_cpu_count();

// Binds the calling thread to CPUs; false with errno set.
bool bind_to_cpus(std::span<const int> cpus);

}  // namespace headway
