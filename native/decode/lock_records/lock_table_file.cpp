#include "decode/lock_records/lock_table_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace headway {
namespace {

constexpr uint64_t kClassesAt = 4096;
constexpr uint64_t kSlotsAt = kClassesAt + uint64_t{HW_LOCK_CLASSES} * HW_LOCK_CLASS_BYTES;
constexpr uint32_t kMaxSlotBytes = 4096;
constexpr uint32_t kMostSlots = uint32_t{1} << 18;  // agent/locks/lock_table.h
constexpr uint64_t kRowBytes = 850;  // what a slot takes until it is a row, in C++ and in Python, as measured
constexpr char kNoMagic[sizeof(hw_lock_header::magic)] = {};

// Reads up to `bytes` bytes; fewer only where the file ends.
size_t read_at(int fd, void* into, size_t bytes, uint64_t offset) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(fd, static_cast<char*>(into) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

// The agent's sums stand still from then on: those of single blocks are better than these.
void cut_off(LockTableFile* out, const char* problem) {
  out->problem = problem;
  out->is_cut = true;
  out->found = false;
  out->slots.clear();
}

void read_classes(int fd, LockTableFile* out) {
  std::vector<char> names(std::min<size_t>(out->header.classes, HW_LOCK_CLASSES) * HW_LOCK_CLASS_BYTES);
  const size_t got = read_at(fd, names.data(), names.size(), kClassesAt);
  for (size_t at = 0; at + HW_LOCK_CLASS_BYTES <= got; at += HW_LOCK_CLASS_BYTES) {
    out->classes.emplace_back(names.data() + at, strnlen(names.data() + at, HW_LOCK_CLASS_BYTES));
  }
}

void read_slots(int fd, LockTableFile* out) {
  constexpr size_t kAtOnce = 4096;
  const size_t width = out->header.slot_bytes;
  const uint64_t count = out->header.slots;
  std::vector<char> buffer(kAtOnce * width);
  for (uint64_t first = 0; first < count; first += kAtOnce) {
    const size_t wanted = std::min<uint64_t>(kAtOnce, count - first) * width;
    const size_t got = read_at(fd, buffer.data(), wanted, kSlotsAt + first * width);
    for (size_t at = 0; at + width <= got; at += width) {
      hw_lock_slot slot;
      std::memcpy(&slot, buffer.data() + at, sizeof slot);
      const bool is_used = slot.kind >= HW_BK_PARK && slot.kind <= HW_BK_WAIT;
      if (is_used && first + at > 0) out->slots.push_back(slot);  // slot 0 is never used
    }
    if (got < wanted) {
      cut_off(out, "it is cut off");
      return;
    }
  }
}

}  // namespace

const std::string& LockTableFile::class_of(const hw_lock_slot& slot) const {
  static const std::string kNone;
  return slot.class_index < classes.size() ? classes[slot.class_index] : kNone;
}

LockTableFile read_lock_table(const std::string& path, RecordRoom* room) {
  LockTableFile table;
  table.path = path;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0) {
    if (errno != ENOENT) table.problem = std::strerror(errno);
    return table;
  }
  hw_lock_header& header = table.header;
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    table.problem = "it is no ordinary file";
  } else if (read_at(fd, &header, sizeof header, 0) < sizeof header) {
    cut_off(&table, "its header is cut off");
  } else if (std::memcmp(header.magic, kNoMagic, sizeof header.magic) == 0) {
    cut_off(&table, "it was cut off");  // the agent says so by that (native/agent/locks/lock_table.cpp)
  } else if (std::memcmp(header.magic, HW_LOCK_MAGIC, sizeof header.magic) != 0) {
    table.problem = "it is no table of locks";
  } else if (header.version != HW_LOCK_VERSION) {
    table.problem =
        header.version > HW_LOCK_VERSION ? "it was written by a newer headway" : "it was written by an older headway";
  } else if (header.slot_bytes < sizeof(hw_lock_slot) || header.slot_bytes > kMaxSlotBytes) {
    table.problem = "its slot size is impossible";
  } else if (header.slots > kMostSlots) {
    table.problem = "it says that it has more rows than any table";
  } else {
    table.found = true;
    read_classes(fd, &table);
    read_slots(fd, &table);
    if (!room->take(table.slots.size() * kRowBytes)) {
      table.problem = "the memory does not hold its rows beside those of the other JVMs";
      table.found = false;
      table.slots = {};
    }
  }
  close(fd);
  return table;
}

}  // namespace headway
