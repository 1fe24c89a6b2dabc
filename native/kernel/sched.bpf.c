// The kernel side of the collector: one record per context switch and waking that touches a recorded thread group, and
// per birth, exec, rename and exit of its threads. A waking of others costs an array look-up, a switch between others
// also a look at the CPU's ring, one to or from the idle task at the clock, and a record each ten milliseconds.
//
// Each tracepoint has two programs with one body: tp_btf, whose loads through typed pointers cost nothing, and raw_tp,
// which reads through bpf_probe_read_kernel and takes over where the kernel refuses tp_btf. The structs below are the
// few fields we use; libbpf relocates them to the running kernel (CO-RE).
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel/sched_shared.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CORE __attribute__((preserve_access_index))

struct rq {
  hw_u64 clock;
} CORE;
struct cfs_rq {
  struct rq *rq;
} CORE;
struct sched_entity {
  struct cfs_rq *cfs_rq;
  hw_u64 sum_exec_runtime;
  unsigned char sched_delayed;  // since 6.12
} CORE;
struct sched_info {  // CONFIG_SCHED_INFO
  unsigned long long last_arrival;
} CORE;
struct upid {  // whole: it is an array's element, whose size is not relocated
  int nr;
  void *ns;
} CORE;
struct pid {
  unsigned int level;
  struct upid numbers[1];
} CORE;
struct thread_info {
  hw_u32 preempt_count;  // not on x86, which has it per CPU; 64 bits wide on arm64, where the low half is the count
} CORE;
struct task_struct {
  struct thread_info thread_info;
  unsigned int __state;  // since 5.14
  unsigned int flags;
  int on_rq;
  int pid;
  int tgid;
  int exit_code;
  hw_u64 start_time;
  struct pid *thread_pid;
  struct sched_entity se;
  struct sched_info sched_info;
  char comm[HW_COMM_BYTES];
} CORE;
struct task_struct___before_5_14 {
  volatile long state;
} CORE;
struct pt_regs {
  unsigned long r10;  // x86: orig_ax is the system call's number, -1 in interrupts and faults
  unsigned long orig_ax;
  unsigned long cs;
  hw_u64 regs[31];  // arm64
  hw_i32 syscallno;
} CORE;

// Makes plain loads through a pointer of our own arithmetic possible (since 6.2): a few nanoseconds instead of thirty
// for bpf_probe_read_kernel. upid stands for any struct that begins with an int.
extern void *bpf_rdonly_cast(void *pointer, hw_u32 type) __ksym __weak;

// Set before loading; the verifier then removes the branches not taken.
const volatile hw_u64 ring_words = 512;        // per CPU, a power of two
const volatile hw_u64 wake_words = 64;         // a lagging consumer is woken once per so many words, from half full on
const volatile hw_u64 lifecycle_half = 2048;   // bytes
const volatile bool switch_has_state = false;  // sched_switch passes prev_state (since 5.18)
const volatile bool has_rdonly_cast = false;
const volatile hw_u32 preempt_count_at = HW_PREEMPT_COUNT_UNKNOWN;
const volatile long preempt_count_from_rq = 0;  // bytes
const volatile bool reads_registers = false;
const volatile hw_u8 syscall_class[HW_SYSCALLS] = {};
// Counters to read at each switch; 0 leaves out all that is about them.
const volatile hw_u32 counters = 0;
const volatile hw_u32 counter_groups = 0;
const volatile hw_u32 counter_cpus = 1;  // places per counter in counter_events
const volatile hw_u8 counter_begins_group[HW_COUNTERS] = {};

struct cpu_ring {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, hw_u32);
  __uint(value_size, HW_RING_DATA + 4096);
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, hw_u32);
  __array(values, struct cpu_ring);
} rings SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} lifecycle SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, HW_TGID_BLOCKS);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, hw_u32);
  __type(value, struct hw_tgid_block);
} tgids SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 2);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, hw_u32);
  __type(value, struct hw_shared_loss);
} losses SEC(".maps");

// The open event of counter i on CPU c at i * counter_cpus + c.
struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(max_entries, 1);
  __type(key, hw_u32);
  __type(value, hw_u32);
} counter_events SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, hw_u32);
  __type(value, struct hw_flush);
} flushed SEC(".maps");

#define READ(typed, pointer, field) ((typed) ? (pointer)->field : BPF_CORE_READ(pointer, field))
#define ALWAYS_INLINE static __always_inline

ALWAYS_INLINE bool is_recorded(hw_u32 tgid) {
  hw_u32 block = tgid / HW_TGID_BLOCK;
  struct hw_tgid_block *found = bpf_map_lookup_elem(&tgids, &block);
  return found && found->recorded[tgid % HW_TGID_BLOCK];
}

ALWAYS_INLINE void set_recorded(hw_u32 tgid, bool yes) {
  hw_u32 block = tgid / HW_TGID_BLOCK;
  struct hw_tgid_block *found = bpf_map_lookup_elem(&tgids, &block);
  if (found) found->recorded[tgid % HW_TGID_BLOCK] = yes;
}

ALWAYS_INLINE void count_loss(struct hw_loss_count *count, hw_u64 reported, hw_u64 now) {
  if (count->events == reported) count->first_ns = now;
  count->last_ns = now;
  count->events++;
}

static __noinline int count_shared_loss(hw_u32 index, hw_u64 now) {
  struct hw_shared_loss *loss = bpf_map_lookup_elem(&losses, &index);
  if (loss) count_loss(&loss->count, loss->reported, now);
  return 0;
}

// Consumers sleep on the lifecycle ring, whichever ring they drain. Nothing else wakes them but their timer: woken per
// record, they would cause the very switches that are recorded.
static __noinline int wake_consumers(void) {
  void *nothing = bpf_ringbuf_reserve(&lifecycle, 8, 0);
  if (nothing) bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
  return 0;
}

// Makes what was written before visible no later than `head`. x86 keeps stores in order; elsewhere an atomic is a
// barrier.
ALWAYS_INLINE void publish(struct hw_ring *ring, hw_u64 words) {
#ifdef HW_ORDERED_STORES
  __asm__ volatile("" ::: "memory");
  *(volatile hw_u64 *)&ring->head += words;
#else
  __sync_fetch_and_add(&ring->head, words);
#endif
}

ALWAYS_INLINE struct hw_ring *ring_of(hw_u32 cpu) {
  void *map = bpf_map_lookup_elem(&rings, &cpu);
  hw_u32 first = 0;
  return map ? bpf_map_lookup_elem(map, &first) : 0;
}

#define SET_HEAD(record, now, kind, thread) \
  (record)->head.ts_ns = (hw_i64)(now);     \
  (record)->head.type = kind;               \
  (record)->head.size = sizeof(*(record));  \
  (record)->head.tid = thread

// Reads every counter of this CPU; false if one can't be read, as on a CPU that came online later. Of a group all members
// are on the CPU's counters at the same times, so only the first is asked for them: that costs twice as much. `enabled_ns`:
// of the first group at the reading before, and then at this one. Where it stands still the counters do as well, for good,
// since their CPU was offline in between: what they read is no count.
ALWAYS_INLINE bool read_counters(hw_u64 *words, hw_u64 *enabled_ns) {
  hw_u32 cpu = bpf_get_smp_processor_id(), group = 0;
#pragma unroll
  for (hw_u32 i = 0; i < HW_COUNTERS; ++i) {
    if (i >= counters) break;
    if (counter_begins_group[i]) {
      struct bpf_perf_event_value value;
      if (bpf_perf_event_read_value(&counter_events, i * counter_cpus + cpu, &value, sizeof(value))) return false;
      if (i == 0) {
        if (value.enabled == *enabled_ns) return false;
        *enabled_ns = value.enabled;
      }
      words[i] = value.counter;
      hw_u32 at = counters + group++;  // known to the verifier, as all of .rodata is
      if (at < HW_COUNTS_WORDS) words[at] = value.enabled - value.running;
    } else {
      hw_u64 value = bpf_perf_event_read(&counter_events, i * counter_cpus + cpu);
      if (value > -4096ull) return false;  // an errno
      words[i] = value;
    }
  }
  return true;
}

// Puts a record of `count` words, and then `more` of those that lie behind it.
ALWAYS_INLINE bool put_with(struct hw_ring *ring, const hw_u64 *words, const hw_u32 count, hw_u32 more, hw_u64 now) {
  hw_u64 head = ring->head, used = head - *(volatile hw_u64 *)&ring->tail + count + more;
  if (used > ring_words) {
    count_loss(&ring->lost, ring->lost_reported, now);
    return false;
  }
  hw_u64 *data = (void *)ring + HW_RING_DATA;
#pragma unroll
  for (hw_u32 i = 0; i < count; ++i) data[(head + i) & (ring_words - 1)] = words[i];
  for (hw_u32 i = 0; i < HW_COUNTS_WORDS; ++i) {
    if (i >= more) break;
    data[(head + count + i) & (ring_words - 1)] = words[count + i];
  }
  publish(ring, count + more);
  if (used >= ring_words / 2 && (used & (wake_words - 1)) < count + more) wake_consumers();
  return true;
}

ALWAYS_INLINE bool put(struct hw_ring *ring, const hw_u64 *words, const hw_u32 count, hw_u64 now) {
  return put_with(ring, words, count, 0, now);
}

// How long others ran here since that was last told, up to `now`; from now on it is counted anew.
ALWAYS_INLINE hw_u64 take_others(struct hw_ring *ring, bool is_other, hw_u64 now) {
  hw_u64 others_ns = ring->others_ns;
  if (is_other && now > ring->others_at_ns) others_ns += now - ring->others_at_ns;
  ring->others_ns = 0;
  ring->others_at_ns = ring->others_since_ns = now;
  return others_ns;
}

// Some kernels don't report every switch: sandboxes hide those that leave their own supervisor's threads. The thread
// that got the CPU is then switched out without ever having come in. When it came is in the scheduler's own account of
// it.
static __noinline int put_unreported_switch_in(struct hw_ring *ring, struct task_struct *task, hw_u64 now) {
  if (!ring || !bpf_core_field_exists(task->sched_info) || !bpf_core_field_exists(task->se.cfs_rq)) return 0;
  hw_u64 clock = BPF_CORE_READ(task, se.cfs_rq, rq, clock), arrived = BPF_CORE_READ(task, sched_info.last_arrival);
  if (!arrived || arrived > clock) return 0;
  union {
    struct hw_switch record;
    hw_u64 words[sizeof(struct hw_switch) / 8];
  } out = {};
  if (ring->head - *(volatile hw_u64 *)&ring->tail + sizeof(out) / 8 > ring_words) return 0;  // not a loss: it is ours
  hw_u64 at = now - (clock - arrived);
  // The first record of a CPU: a thread that ran there before the recording began has not come unreported.
  if (!ring->last_ns && (!ring->since_ns || at < ring->since_ns)) return 0;
  SET_HEAD(&out.record, at > ring->last_ns ? at : ring->last_ns, HW_SWITCH, 0);
  out.record.next_tid = BPF_CORE_READ(task, pid);
  out.record.flags = HW_SW_NEXT_OURS | HW_SW_UNREPORTED | HW_SW_OTHERS;
  out.record.prev_exec_ns = take_others(ring, ring->other_on_cpu, out.record.head.ts_ns);
  return put(ring, out.words, sizeof(out) / 8, now);
}

#define RESERVE_LIFECYCLE(record, now)                          \
  record = bpf_ringbuf_reserve(&lifecycle, sizeof(*record), 0); \
  if (!record) return count_shared_loss(0, now)

#define SUBMIT_LIFECYCLE(record)                                                                                      \
  bpf_ringbuf_submit(record, bpf_ringbuf_query(&lifecycle, BPF_RB_AVAIL_DATA) >= lifecycle_half ? BPF_RB_FORCE_WAKEUP \
                                                                                                : BPF_RB_NO_WAKEUP)

// --- scheduling ----------------------------------------------------------------------------------------------------

ALWAYS_INLINE hw_u32 task_state(struct task_struct *task) {
  if (bpf_core_field_exists(task->__state)) return BPF_CORE_READ(task, __state);
  struct task_struct___before_5_14 *old = (void *)task;
  return (hw_u32)BPF_CORE_READ(old, state);
}

// The wire keeps 8 bits of the state. States above them (frozen since 6.1, RT lock wait) are blocked without a signal:
// D.
ALWAYS_INLINE hw_u16 wire_state(hw_u32 state) { return state & 0xff ? state & 0xff : state ? 2 : 0; }

// A thread that was about to sleep when a signal came stays on the run queue, yet kernels before 6.14 still report it
// as sleeping. Since 6.12 a thread may also be on the queue although it sleeps: then its dequeuing is only delayed.
ALWAYS_INLINE bool still_queued(struct task_struct *task, const bool typed) {
  if (READ(typed, task, on_rq) != 1) return false;
  if (bpf_core_field_exists(task->se.sched_delayed)) return !READ(typed, task, se.sched_delayed);
  return true;
}

// What a thread is in (hw_blocked_in), from the registers it had in user space: they lie at the top of its kernel
// stack. A fault inside a system call leaves those of the call there. The number and arguments of a 32-bit program's
// calls are others.
ALWAYS_INLINE hw_u16 blocked_in(struct task_struct *prev, const bool typed) {
  if (!reads_registers || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) return 0;
  struct pt_regs *registers = (void *)bpf_task_pt_regs(typed ? prev : bpf_get_current_task_btf());
  hw_i64 number;
  hw_u64 fourth;
  if (bpf_core_field_exists(registers->orig_ax)) {
    if ((registers->cs & 0xffff) == 0x23) return 0;
    number = (hw_i64)registers->orig_ax;
    fourth = registers->r10;
  } else if (bpf_core_field_exists(registers->syscallno)) {
    number = registers->syscallno;
    fourth = registers->regs[3];
  } else {
    return 0;
  }
  if (number < 0) return HW_IN_NO_CALL;
  if (number >= HW_SYSCALLS) return HW_IN_OTHER;
  hw_u8 class = syscall_class[number & (HW_SYSCALLS - 1)];
  if (class & HW_TIMED_BY_4TH) return fourth ? HW_IN_TIMED_FUTEX : HW_IN_FUTEX;
  return class;
}

// A switch that is none of ours, for the account of what others did.
static __noinline int others_switched(hw_u32 prev_tid, hw_u32 next_tid) {
  struct hw_ring *ring = ring_of(bpf_get_smp_processor_id());
  if (!ring) return 0;
  if (prev_tid && next_tid) {  // one goes on where the other was: what is counted from does not change
    ring->other_on_cpu = next_tid;
    return 0;
  }
  hw_u64 now = bpf_ktime_get_ns();
  if (prev_tid && now > ring->others_at_ns) ring->others_ns += now - ring->others_at_ns;
  ring->others_at_ns = now;
  ring->other_on_cpu = next_tid;
  // A full ring is no loss here: the next piece is longer.
  if (now - ring->others_since_ns < HW_OTHERS_PIECE_NS ||
      ring->head - *(volatile hw_u64 *)&ring->tail + sizeof(struct hw_switch) / 8 > ring_words) {
    return 0;
  }
  union {
    struct hw_switch record;
    hw_u64 words[sizeof(struct hw_switch) / 8];
  } out = {};
  SET_HEAD(&out.record, now, HW_SWITCH, 0);
  out.record.flags = HW_SW_OTHERS;
  out.record.prev_exec_ns = take_others(ring, false, now);
  return put(ring, out.words, sizeof(out) / 8, now);  // a result that is always the same clang would leave out
}

ALWAYS_INLINE int handle_switch(hw_u64 *ctx, const bool typed) {
  struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
  bool prev_ours = is_recorded(READ(typed, prev, tgid));
  bool next_ours = is_recorded(READ(typed, next, tgid));
  if (!prev_ours && !next_ours) return others_switched(READ(typed, prev, pid), READ(typed, next, pid));

  hw_u64 now = bpf_ktime_get_ns();
  struct hw_ring *ring = ring_of(bpf_get_smp_processor_id());
  if (!ring) return count_shared_loss(1, now);
  union {
    struct hw_switch record;
    hw_u64 words[sizeof(struct hw_switch) / 8 + HW_COUNTS_WORDS];
  } out;
  bool is_counted = counters && read_counters(out.words + sizeof(struct hw_switch) / 8, &ring->enabled_ns);
  hw_u16 flags = 0, state = 0;
  hw_u32 prev_tid = 0;
  hw_u64 exec_ns = 0;
  if (prev_ours) {
    flags = HW_SW_PREV_OURS;
    prev_tid = READ(typed, prev, pid);
    // The result is used: else clang leaves a stack address where the verifier wants a result.
    if (ring->on_cpu != (hw_u64)prev && put_unreported_switch_in(ring, prev, now)) ring->last_ns = now;
    exec_ns = READ(typed, prev, se.sum_exec_runtime);
    if (ctx[0] & 1)
      flags |= HW_SW_PREEMPT;
    else if (!still_queued(prev, typed))
      state = wire_state(switch_has_state ? (hw_u32)ctx[3] : task_state(prev));
    if (state & 3) state |= blocked_in(prev, typed) << 8;
  } else {
    flags = HW_SW_OTHERS;
    exec_ns = take_others(ring, READ(typed, prev, pid), now);
  }
  if (next_ours) {
    flags |= HW_SW_NEXT_OURS;
  } else {
    take_others(ring, false, now);
    ring->other_on_cpu = READ(typed, next, pid);
  }
  SET_HEAD(&out.record, now, HW_SWITCH, prev_tid);
  out.record.next_tid = next_ours ? READ(typed, next, pid) : 0;
  out.record.prev_state = state;
  out.record.flags = flags;
  out.record.prev_exec_ns = exec_ns;
  hw_u32 more = 0;
  if (is_counted) {
    more = counters + counter_groups;
    out.record.head.size += (hw_u16)(more * 8);
    out.record.flags |= HW_SW_COUNTED;
  }
  if (put_with(ring, out.words, sizeof(struct hw_switch) / 8, more, now)) ring->switches++;
  // Of a lost record as well: it was reported, and is counted as lost already.
  ring->on_cpu = next_ours ? (hw_u64)next : 0;
  ring->last_ns = now;
  return 0;
}

// Whether this code runs in a hard interrupt, an NMI or a soft interrupt being served (bit 8; the bits above it only
// say that soft interrupts are disabled, which a thread does as well).
ALWAYS_INLINE bool in_interrupt(struct task_struct *current, const bool typed) {
  hw_u32 count = 0;
  if (preempt_count_at == HW_PREEMPT_COUNT_NEAR_RQ) {
    char *at = (char *)(typed ? current->se.cfs_rq->rq : BPF_CORE_READ(current, se.cfs_rq, rq)) + preempt_count_from_rq;
    if (typed && has_rdonly_cast) {
      count = (hw_u32)((struct upid *)bpf_rdonly_cast(at, bpf_core_type_id_kernel(struct upid)))->nr;
    } else {
      bpf_probe_read_kernel(&count, sizeof(count), at);
    }
  } else if (preempt_count_at == HW_PREEMPT_COUNT_IN_TASK) {
    bpf_probe_read_kernel(&count, sizeof(count), &current->thread_info.preempt_count);
  }
  return count & (0x00ff0000 | 0x100);
}

ALWAYS_INLINE int handle_waking(struct task_struct *task, hw_u16 flags, const bool typed) {
  if (!is_recorded(READ(typed, task, tgid))) return 0;
  hw_u64 now = bpf_ktime_get_ns();
  hw_u32 cpu = bpf_get_smp_processor_id();
  struct hw_ring *ring = ring_of(cpu);
  if (!ring) return count_shared_loss(1, now);
  struct task_struct *waker = typed ? bpf_get_current_task_btf() : (void *)bpf_get_current_task();
  // Whoever wakes itself has not slept. This is also the one case in which interrupts are on, and one of them could
  // bring another waking in the midst of put().
  if (waker == task) return 0;
  if (is_recorded(READ(typed, waker, tgid))) flags |= HW_WK_WAKER_OURS;
  if (in_interrupt(waker, typed)) flags |= HW_WK_IRQ;
  union {
    struct hw_waking record;
    hw_u64 words[sizeof(struct hw_waking) / 8];
  } out;
  SET_HEAD(&out.record, now, HW_WAKING, READ(typed, task, pid));
  out.record.waker_tid = READ(typed, waker, pid);
  out.record.flags = flags;
  out.record.cpu = (hw_u16)cpu;
  if (put(ring, out.words, sizeof(out) / 8, now)) ring->wakings++;
  return 0;
}

// Not attached: user space runs it on each CPU when the recording begins and before it ends, for threads that have the CPU
// then. It does not write the ring, which a waking in an interrupt may be writing.
SEC("raw_tp/sched_switch")
int flush_counters(hw_u64 *ctx) {
  hw_u32 cpu = bpf_get_smp_processor_id();
  struct hw_flush *flush = bpf_map_lookup_elem(&flushed, &cpu);
  if (!flush || !counters) return 0;
  hw_u64 words[HW_COUNTS_WORDS] = {};
  struct task_struct *current = (void *)bpf_get_current_task();
  struct hw_ring *ring = ring_of(cpu);
  hw_u64 enabled_ns = ring ? ring->enabled_ns : 0;
  flush->is_read = read_counters(words, &enabled_ns);
  flush->ts_ns = bpf_ktime_get_ns();
  flush->tid = is_recorded(BPF_CORE_READ(current, tgid)) ? BPF_CORE_READ(current, pid) : 0;
  __builtin_memcpy(flush->words, words, sizeof(words));
  return 0;
}

// --- births, names, deaths -------------------------------------------------------------------------------------------

ALWAYS_INLINE int emit_fork(struct task_struct *child, hw_u32 parent_tid, hw_u32 parent_pid, const bool typed) {
  hw_u64 now = bpf_ktime_get_ns();
  struct hw_fork *record;
  RESERVE_LIFECYCLE(record, now);
  SET_HEAD(record, now, HW_FORK, READ(typed, child, pid));
  record->pid = READ(typed, child, tgid);
  record->parent_tid = parent_tid;
  record->parent_pid = parent_pid;
  record->start_ns = (hw_i64)READ(typed, child, start_time);
  bpf_core_read(record->comm, sizeof(record->comm), &child->comm);
  struct pid *pid = BPF_CORE_READ(child, thread_pid);
  hw_u32 level = BPF_CORE_READ(pid, level), ns_tid = 0;
  bpf_core_read(&ns_tid, sizeof(ns_tid), &pid->numbers[level].nr);
  record->ns_tid = ns_tid;
  SUBMIT_LIFECYCLE(record);
  return 0;
}

ALWAYS_INLINE int handle_fork(struct task_struct *parent, struct task_struct *child, const bool typed) {
  hw_u32 parent_pid = READ(typed, parent, tgid);
  if (!is_recorded(parent_pid)) return 0;
  set_recorded(READ(typed, child, tgid), true);
  return emit_fork(child, READ(typed, parent, pid), parent_pid, typed);
}

// io_uring's workers are threads of the process that no fork tracepoint announces (PF_IO_WORKER, since 5.12).
ALWAYS_INLINE int handle_wakeup_new(struct task_struct *task, const bool typed) {
  hw_u32 pid = READ(typed, task, tgid);
  if ((READ(typed, task, flags) & 0x10) && is_recorded(pid)) {
    emit_fork(task, (hw_u32)bpf_get_current_pid_tgid(), pid, typed);
  }
  return handle_waking(task, HW_WK_NEW, typed);
}

ALWAYS_INLINE int handle_exec(struct task_struct *task, hw_u32 old_tid, const bool typed) {
  hw_u32 pid = READ(typed, task, tgid);
  if (!is_recorded(pid)) return 0;
  hw_u64 now = bpf_ktime_get_ns();
  struct hw_exec *record;
  RESERVE_LIFECYCLE(record, now);
  SET_HEAD(record, now, HW_EXEC, READ(typed, task, pid));
  record->pid = pid;
  record->old_tid = old_tid;
  bpf_core_read(record->comm, sizeof(record->comm), &task->comm);
  SUBMIT_LIFECYCLE(record);
  return 0;
}

ALWAYS_INLINE int handle_rename(struct task_struct *task, const char *comm, const bool typed) {
  hw_u32 pid = READ(typed, task, tgid);
  if (!is_recorded(pid)) return 0;
  hw_u64 now = bpf_ktime_get_ns();
  struct hw_rename *record;
  RESERVE_LIFECYCLE(record, now);
  SET_HEAD(record, now, HW_RENAME, READ(typed, task, pid));
  record->pid = pid;
  record->reserved = 0;
  // Zeroed first: the helper leaves the bytes behind the terminator alone.
  __builtin_memset(record->comm, 0, sizeof(record->comm));
  bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), comm);
  SUBMIT_LIFECYCLE(record);
  return 0;
}

ALWAYS_INLINE int handle_exit(struct task_struct *task, const bool typed) {
  hw_u32 pid = READ(typed, task, tgid);
  if (!is_recorded(pid)) return 0;
  hw_u64 now = bpf_ktime_get_ns();
  struct hw_exit *record;
  RESERVE_LIFECYCLE(record, now);
  SET_HEAD(record, now, HW_EXIT, READ(typed, task, pid));
  record->pid = pid;
  record->exit_code = READ(typed, task, exit_code);
  record->exec_ns = READ(typed, task, se.sum_exec_runtime);
  SUBMIT_LIFECYCLE(record);
  return 0;
}

// The group leaves the set when its leader is freed, not when it exits: dead threads are still switched out once more.
// By then its number may be given out again, but numbers are handed out in a circle, so not within the few
// milliseconds.
ALWAYS_INLINE int handle_free(struct task_struct *task, const bool typed) {
  hw_u32 pid = READ(typed, task, tgid);
  if (READ(typed, task, pid) == (int)pid && is_recorded(pid)) set_recorded(pid, false);
  return 0;
}

#define ON(tracepoint, body_typed, body_raw)                                            \
  SEC("tp_btf/" #tracepoint) int typed_##tracepoint(hw_u64 *ctx) { return body_typed; } \
  SEC("raw_tp/" #tracepoint) int raw_##tracepoint(hw_u64 *ctx) { return body_raw; }
#define TASK(n) ((struct task_struct *)ctx[n])

ON(sched_switch, handle_switch(ctx, true), handle_switch(ctx, false))
ON(sched_waking, handle_waking(TASK(0), 0, true), handle_waking(TASK(0), 0, false))
ON(sched_wakeup_new, handle_wakeup_new(TASK(0), true), handle_wakeup_new(TASK(0), false))
ON(sched_process_fork, handle_fork(TASK(0), TASK(1), true), handle_fork(TASK(0), TASK(1), false))
ON(sched_process_exec, handle_exec(TASK(0), (hw_u32)ctx[1], true), handle_exec(TASK(0), (hw_u32)ctx[1], false))
ON(sched_process_exit, handle_exit(TASK(0), true), handle_exit(TASK(0), false))
ON(sched_process_free, handle_free(TASK(0), true), handle_free(TASK(0), false))
ON(task_rename, handle_rename(TASK(0), (const char *)ctx[1], true), handle_rename(TASK(0), (const char *)ctx[1], false))
