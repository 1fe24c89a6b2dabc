// Goes through the tables of locks of a spool and checks what must hold whatever is in it.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/decoder.h"
#include "testing/check.h"

namespace headway {

// Before Decoder::begin(). Threads of every life, a few Java ids.
inline void begin_locks(Decoder* decoder, int64_t start_ns, int64_t end_ns) {
  const auto& lives = decoder->lifecycle().lives;
  std::vector<JvmThreads> jvms;
  for (size_t file = 0; file < decoder->locks().files().size(); ++file) {
    std::vector<JvmThreads::Life> tids;
    std::vector<JvmThreads::Java> java;
    for (size_t i = 0; i < lives.size(); ++i) {
      const auto id = static_cast<int32_t>(i);
      tids.push_back({lives[i].tid, lives[i].start_ns, id});
      java.push_back({static_cast<uint32_t>(i % 5), id});
    }
    jvms.emplace_back(static_cast<int32_t>(file), end_ns, tids, java);
  }
  std::vector<int64_t> java_of_thread(lives.size());
  for (size_t i = 0; i < lives.size(); ++i) java_of_thread[i] = i % 3 == 0 ? -1 : static_cast<int64_t>(i % 5);
  std::vector<uint8_t> own(lives.size() / 2);
  if (!own.empty()) own[0] = 1;
  decoder->locks().begin(jvms, java_of_thread, own, start_ns);
}

inline bool is_id(int32_t id, size_t count) { return id >= -1 && id < static_cast<int64_t>(count); }

inline void check_blocks(Locks* locks, size_t threads, int64_t start_ns, int64_t end_ns) {
  const size_t stacks = locks->stacks();
  int64_t last_start = -1;
  BlockColumns b;
  while (locks->next_blocks(5, &b)) {
    for (size_t i = 0; i < b.size(); ++i) {
      CHECK(b.start_ns[i] >= last_start && b.dur_ns[i] >= 0);
      CHECK(b.start_ns[i] + b.dur_ns[i] >= start_ns && b.start_ns[i] + b.dur_ns[i] <= std::max(start_ns, end_ns));
      last_start = b.start_ns[i];
      CHECK(b.blocker_id[i] >= 0 && is_id(b.blocker_id[i], locks->blockers_so_far()));
      CHECK(is_id(b.thread_id[i], threads) && is_id(b.waker_thread_id[i], threads));
      CHECK(is_id(b.owner_thread_id[i], threads));
      CHECK(is_id(b.stack_id[i], stacks) && is_id(b.waker_stack_id[i], stacks));
      CHECK(b.kind[i] >= HW_BK_PARK && b.kind[i] <= HW_BK_WAIT && b.weight[i] >= 0 && b.waking_ns[i] >= -1);
      CHECK(b.is_kernel_waking[i] <= 1 && (b.is_kernel_waking[i] < 0) == (b.waking_ns[i] < 0));
    }
  }
}

inline void check_locks(Locks* locks, size_t threads, int64_t start_ns, int64_t end_ns) {
  check_blocks(locks, threads, start_ns, end_ns);
  int64_t last_start = -1;
  HoldColumns h;
  while (locks->next_holds(5, &h)) {
    for (size_t i = 0; i < h.size(); ++i) {
      CHECK(h.start_ns[i] >= last_start && h.start_ns[i] >= start_ns && h.dur_ns[i] >= 0);
      last_start = h.start_ns[i];
      CHECK(h.blocker_id[i] >= 0 && is_id(h.blocker_id[i], locks->blockers_so_far()) && is_id(h.thread_id[i], threads));
    }
  }
  for (const BlockerRow& row : locks->blockers().rows()) {
    CHECK(row.times_parked >= 0 && row.thread_time_ns >= 0 && row.real_time_ns >= 0 && row.hold_ns >= 0);
    CHECK(row.first_ns >= 0 && row.kind >= HW_BK_PARK && row.kind <= HW_BK_WAIT);
    CHECK(row.class_name < locks->blockers().texts().texts().size());
    if (!row.has_slot) CHECK(row.real_time_ns <= row.thread_time_ns && row.peak_parked <= row.times_parked);
  }
  StackColumns s;
  int32_t frames = 0;
  while (locks->next_stacks(5, &s)) {
    for (size_t i = 0; i < s.size(); ++i) {
      CHECK(s.depth[i] >= 0 && is_id(s.stack_id[i], locks->stacks()));
      frames = std::max(frames, s.frame_id[i] + 1);
    }
  }
  CHECK(static_cast<size_t>(frames) == locks->frames().size());
}

}  // namespace headway
