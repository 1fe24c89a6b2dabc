// Spools of random records that contradict each other, then with random bytes changed and ends cut off: the decoder
// must not crash, and what it gives must still add up. Seeds are fixed, so a failure comes again.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>

#include "decode/tests/decode_all.h"
#include "decode/tests/lock_table_bytes.h"

namespace {

using Bytes = std::vector<char>;
using Random = std::mt19937_64;

struct Maker {
  Random random;
  int64_t now = 1000;
  Random of_counts{random};  // apart from `random`, so that each seed has the same records as before there were counts
  hw_u16 counters = static_cast<hw_u16>(count_below(4) == 0 ? count_below(HW_COUNTERS + 2) : 2);
  hw_u16 counter_groups = static_cast<hw_u16>(count_below(4) == 0 ? count_below(HW_COUNTER_GROUPS + 2) : 1);

  uint64_t below(uint64_t limit) { return random() % limit; }
  uint64_t count_below(uint64_t limit) { return of_counts() % limit; }
  uint32_t tid() { return static_cast<uint32_t>(below(7)); }

  template <typename T>
  void put(Bytes* out, T record, hw_type type) {
    now += static_cast<int64_t>(below(50));
    record.head.ts_ns = now - static_cast<int64_t>(below(20) == 0 ? below(200) : 0);
    record.head.type = static_cast<hw_u16>(type);
    record.head.size = sizeof record;
    const char* bytes = reinterpret_cast<const char*>(&record);
    out->insert(out->end(), bytes, bytes + sizeof record);
  }

  void sched(Bytes* out) {
    if (below(3) == 0) {
      hw_waking waking{};
      waking.head.tid = tid();
      waking.waker_tid = tid();
      waking.flags = static_cast<hw_u16>(below(8));
      return put(out, waking, HW_WAKING);
    }
    hw_switch s{};
    s.head.tid = tid();
    s.next_tid = tid();
    constexpr hw_u16 kStates[] = {0, 1, 1, 1, 2, 4, 0x10, 0x80};
    s.prev_state = static_cast<hw_u16>(kStates[below(std::size(kStates))] | below(12) << 8);
    s.flags = static_cast<hw_u16>(below(64) | (count_below(2) == 0 ? 0 : HW_SW_COUNTED));
    s.prev_exec_ns = below(5) == 0 ? random() : below(4000);
    const size_t at = out->size();
    put(out, s, HW_SWITCH);
    if ((s.flags & HW_SW_COUNTED) != 0) add_counts(out, at);
    if (count_below(12) != 0) return;
    hw_counts reading{};
    reading.head = {now, HW_COUNTS, sizeof reading, static_cast<hw_u32>(count_below(7))};
    const char* bytes = reinterpret_cast<const char*>(&reading);
    out->insert(out->end(), bytes, bytes + sizeof reading);
    add_counts(out, out->size() - sizeof reading);
  }

  // What the counters stand at, behind the record that begins there: as many as the headers say, but for a few.
  void add_counts(Bytes* out, size_t at) {
    const bool is_odd = count_below(30) == 0;
    for (uint64_t words = is_odd ? count_below(HW_COUNTS_WORDS + 2) : counters + counter_groups; words > 0; --words) {
      const uint64_t word = count_below(40) == 0 ? of_counts() : static_cast<uint64_t>(now) * count_below(3);
      const char* bytes = reinterpret_cast<const char*>(&word);
      out->insert(out->end(), bytes, bytes + sizeof word);
    }
    const auto size = static_cast<hw_u16>(out->size() - at);
    std::memcpy(out->data() + at + offsetof(hw_record, size), &size, sizeof size);
  }

  void life(Bytes* out) {
    switch (below(6)) {
      case 0: {
        hw_fork fork{};
        fork.head.tid = tid();
        fork.start_ns = now;
        return put(out, fork, HW_FORK);
      }
      case 1: {
        hw_exit exit{};
        exit.head.tid = tid();
        return put(out, exit, HW_EXIT);
      }
      case 2: {
        hw_exec exec{};
        exec.head.tid = tid();
        exec.old_tid = tid();
        return put(out, exec, HW_EXEC);
      }
      case 3: {
        hw_schedstat totals{};
        totals.head.tid = tid();
        totals.exec_ns = below(5000);
        totals.run_delay_ns = below(5000);
        return put(out, totals, HW_SCHEDSTAT);
      }
      default: {
        hw_snapshot snapshot{};
        snapshot.head.tid = tid();
        constexpr hw_u32 kLetters[] = {'R', 'S', 'D', 'T', 'X', 'Z', '?'};
        snapshot.state = kLetters[below(std::size(kLetters))];
        snapshot.start_ns = below(4) == 0 ? static_cast<hw_i64>(random()) : now;
        snapshot.exec_ns = below(1000);
        return put(out, snapshot, HW_SNAPSHOT);
      }
    }
  }

  // Records of locks, on few blockers and threads, with ids that are now and then beyond anything.
  void locks(Bytes* out) {
    const auto id = [&] { return static_cast<hw_u32>(below(30) == 0 ? random() : below(5)); };
    const auto past = [&] { return now - static_cast<hw_i64>(below(20) == 0 ? random() : below(300)); };
    switch (below(9)) {
      case 0: {
        hw_blocker blocker{};
        blocker.blocker_id = id();
        blocker.kind = static_cast<hw_u32>(below(5));
        blocker.identity_hash = id();
        blocker.first_stack_id = id();
        blocker.class_bytes = static_cast<hw_u16>(below(9));
        return put(out, blocker, HW_BLOCKER);
      }
      case 1: {
        hw_hold hold{};
        hold.start_ns = past();
        hold.blocker_id = id();
        hold.java_id = id();
        return put(out, hold, HW_HOLD);
      }
      case 2: {
        hw_blocker_dead dead{};
        dead.blocker_id = id();
        dead.folded_into = below(2) == 0 ? id() : 0;
        return put(out, dead, HW_BLOCKER_DEAD);
      }
      case 3: {
        struct {
          hw_record head;
          hw_u32 stack_id;
          hw_u16 frames, is_cut;
          hw_stack_frame frame[2];
        } stack{{}, id(), static_cast<hw_u16>(below(4)), 0, {{id(), 7}, {id(), -1}}};
        return put(out, stack, HW_STACK);
      }
      case 4: {
        struct {
          hw_record head;
          hw_u32 method_id;
          hw_u16 class_bytes, name_bytes;
          char text[8];
        } method{{}, id(), 3, 5, "abcdefg"};
        return put(out, method, below(9) == 0 ? HW_LOCKS_CAPPED : HW_METHOD);
      }
      default: {
        hw_block block{};
        block.head.tid = tid();
        block.start_ns = past();
        block.waking_ns = below(2) == 0 ? past() : 0;
        block.blocker_id = id();
        block.stack_id = id();
        block.java_id = id();
        block.waker_java_id = id();
        block.owner_java_id = id();
        block.kind = static_cast<hw_u16>(below(5));
        block.flags = static_cast<hw_u16>(below(1024));
        block.weight = id();
        return put(out, block, HW_BLOCK);
      }
    }
  }

  // An agent's file: full chunks, each of one thread's records.
  Bytes agent() {
    constexpr size_t kChunk = 512;
    Bytes out = header(HW_SOURCE_AGENT, 0, false);
    now = 1000;
    for (uint64_t chunks = below(12); chunks > 0; --chunks) {
      Bytes chunk(sizeof(hw_agent_chunk));
      for (Bytes more; chunk.size() + more.size() <= kChunk; more.clear(), locks(&more)) {
        chunk.insert(chunk.end(), more.begin(), more.end());
      }
      hw_agent_chunk head{};
      head.head.type = HW_AGENT_CHUNK;
      head.used = static_cast<hw_u32>(chunk.size());
      std::memcpy(chunk.data(), &head, sizeof head);
      chunk.resize(kChunk);
      out.insert(out.end(), chunk.begin(), chunk.end());
    }
    return out;
  }

  Bytes table() {
    headway::LockTableBytes made;
    made.header.slots = static_cast<hw_u32>(below(6));
    made.header.classes = 1;
    made.header.capped_ns = static_cast<hw_i64>(below(3000));
    for (uint64_t i = 0; i < 5; ++i) {
      hw_lock_slot& slot = made.slots.emplace_back();
      slot.blocker_id = static_cast<hw_u32>(below(5));
      slot.kind = static_cast<hw_u16>(below(5));
      slot.class_index = static_cast<hw_u32>(below(2));
      slot.parked_now = static_cast<hw_u32>(below(4) == 0 ? random() : below(3));
      slot.thread_time_ns = below(8) == 0 ? random() : below(2000);
      slot.real_time_ns = below(2000);
      slot.last_ns = static_cast<hw_i64>(below(8) == 0 ? random() : below(4000));
    }
    return made.bytes();
  }

  Bytes header(hw_source source, hw_u32 cpu, bool perf) {
    hw_spool_header header{};
    std::memcpy(header.magic, HW_SPOOL_MAGIC, sizeof header.magic);
    header.version = HW_SPOOL_VERSION;
    header.source = source;
    header.producer = perf ? HW_PRODUCER_PERF_SWITCH : HW_PRODUCER_EBPF;
    header.cpu = cpu;
    header.chunk_bytes = source == HW_SOURCE_AGENT ? 512 : 0;
    header.counters = count_below(20) == 0 ? static_cast<hw_u16>(of_counts()) : counters;
    header.counter_groups = counter_groups;
    Bytes out(HW_HEADER_BYTES);
    std::memcpy(out.data(), &header, sizeof header);
    return out;
  }

  Bytes file(hw_source source, hw_u32 cpu, bool perf) {
    Bytes out = header(source, cpu, perf);
    now = 1000;
    const uint64_t records = below(120);
    for (uint64_t i = 0; i < records; ++i) source == HW_SOURCE_SCHED ? sched(&out) : life(&out);
    return out;
  }
};

void spoil(Bytes* file, Maker* maker) {
  for (uint64_t i = maker->below(5); i > 0; --i)
    (*file)[maker->below(file->size())] = static_cast<char>(maker->random());
  if (maker->below(3) == 0) file->resize(maker->below(file->size() + 1));
}

void write(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t rounds = argc > 1 ? std::stoull(argv[1]) : 1000;
  char directory[] = "/tmp/headway-random-spool-XXXXXX";
  CHECK(mkdtemp(directory) != nullptr);
  for (uint64_t seed = 0; seed < rounds; ++seed) {
    Maker maker{Random(seed)};
    const bool perf = maker.below(4) == 0, spoilt = maker.below(2) == 0;
    const std::string base = directory;
    for (hw_u32 cpu = 0; cpu < 3; ++cpu) {
      Bytes file = maker.file(HW_SOURCE_SCHED, cpu, perf);
      if (spoilt) spoil(&file, &maker);
      write(base + "/sched-cpu" + std::to_string(cpu) + ".spool", file);
    }
    Bytes life = maker.file(HW_SOURCE_LIFECYCLE, 0, perf);
    if (spoilt) spoil(&life, &maker);
    write(base + "/lifecycle.spool", life);
    for (const char* name : {"1", "2"}) {
      Bytes agent = maker.agent(), table = maker.table();
      if (spoilt) {
        spoil(&agent, &maker);
        spoil(&table, &maker);
      }
      write(base + "/agent-" + name + ".spool", agent);
      write(base + "/locks-" + name + ".table", table);
    }
    const auto start = static_cast<int64_t>(maker.below(3000));
    headway::decode_all(base, start, start + static_cast<int64_t>(maker.below(4000)), maker.below(5) == 0 ? 255 : 0);
  }
  std::filesystem::remove_all(directory);
  return 0;
}
