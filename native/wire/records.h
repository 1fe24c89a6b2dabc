// The wire format of the spool: what producers (kernel collector, perf collector, agent) append and the decoder reads.
//
// A spool is a directory `NAME.headway/spool/` with one append-only file per source:
//   sched-cpu<N>.spool   Switch, Waking, Loss          (time-ordered up to a small reorder window)
//   lifecycle.spool      Fork, Exit, Rename, Exec, Snapshot, Schedstat, Loss
//   agent-<pid>.spool    chunks written by the JVMTI agent of one JVM (see AgentChunk)
// Every file starts with one SpoolHeader (kHeaderBytes). All integers are little-endian, all records 8-byte aligned,
// every time is CLOCK_MONOTONIC nanoseconds (BPF ktime_get_ns is the same clock). A reader skips a record type it does
// not know by its `size`; it stops at the first record with size 0 (never written) and at a cut-off last record.
//
// This header is compiled as C for BPF (no libc there), and as C++ for user space.
#ifndef HEADWAY_WIRE_RECORDS_H
#define HEADWAY_WIRE_RECORDS_H

#ifdef __bpf__
typedef unsigned char hw_u8;
typedef unsigned short hw_u16;
typedef unsigned int hw_u32;
typedef unsigned long long hw_u64;
typedef long long hw_i64;
#else
#include <stdint.h>
typedef uint8_t hw_u8;
typedef uint16_t hw_u16;
typedef uint32_t hw_u32;
typedef uint64_t hw_u64;
typedef int64_t hw_i64;
#endif

#define HW_SPOOL_MAGIC "HWSPOOL\0"
#define HW_SPOOL_VERSION 1
#define HW_HEADER_BYTES 4096
#define HW_COMM_BYTES 16

enum hw_source { HW_SOURCE_SCHED = 1, HW_SOURCE_LIFECYCLE = 2, HW_SOURCE_AGENT = 3 };

// Who produced the scheduling records: decides which columns can be known.
enum hw_producer { HW_PRODUCER_EBPF = 1, HW_PRODUCER_PERF_SWITCH = 2, HW_PRODUCER_AGENT = 3 };

struct hw_spool_header {  // the rest of HW_HEADER_BYTES is zero
  char magic[8];
  hw_u32 version;
  hw_u32 source;    // hw_source
  hw_u32 producer;  // hw_producer
  hw_u32 cpu;       // SCHED: the CPU; else 0
  hw_u32 pid;       // AGENT: the JVM (its own pid namespace); else 0
  hw_u32
      host_pid;  // AGENT: the same JVM as its recorder sees it, written by the recorder when it attached; 0: not known
  hw_i64 created_ns;   // CLOCK_MONOTONIC
  hw_i64 realtime_ns;  // CLOCK_REALTIME at created_ns: for people only, never for arithmetic
  // AGENT only: written by the recorder, read by the agent; non-zero asks the agent to fall silent.
  hw_u32 stop;
  hw_u32 chunk_bytes;
  hw_u64 next_chunk;   // AGENT: offset of the next free chunk, taken with one fetch_add
  hw_u64 limit_bytes;  // AGENT: chunks at or past this offset are not backed by disk space: do not write
  hw_u64 lost;         // AGENT: records dropped because no chunk could be had
};

enum hw_type {
  HW_SWITCH = 1,
  HW_WAKING = 2,
  HW_LOSS = 3,
  HW_FORK = 16,
  HW_EXIT = 17,
  HW_RENAME = 18,
  HW_EXEC = 19,
  HW_SNAPSHOT = 20,
  HW_SCHEDSTAT = 21,
  HW_AGENT_CHUNK = 32,
  HW_JVM_INFO = 33,      // key/value text
  HW_THREAD_START = 34,  // a Java thread begins (or is found at attach)
  HW_THREAD_END = 35,
  HW_PHASE = 36,  // GC pause, start-up, ... an interval
  HW_VTHREAD_START = 37,
  HW_VTHREAD_END = 38,
  HW_THREAD_NAME = 39,  // hw_thread_start once more: the thread was renamed, this is its last name
};

struct hw_record {
  hw_i64 ts_ns;
  hw_u16 type;  // hw_type
  hw_u16 size;  // bytes of the whole record, a multiple of 8, this head included
  hw_u32 tid;   // in the initial pid namespace for kernel records
};

// prev_state uses the kernel's bits: 0 running/runnable, 1 S, 2 D, 4 T, 8 t, 0x10/0x20 exit (X, Z), 0x40 P, 0x80 dead.
// Only the low 8 bits are kept; HW_SW_PREEMPT wins over any state (still runnable).
enum hw_switch_flags {
  HW_SW_PREEMPT = 1,
  HW_SW_PREV_OURS = 2,  // prev_tid belongs to the recorded tree (else prev_tid is 0)
  HW_SW_NEXT_OURS = 4,  // next_tid belongs to the recorded tree (else next_tid is 0)
  HW_SW_NO_EXEC = 8,    // prev_exec_ns is not known (perf collector)
  HW_SW_UNREPORTED =
      16,  // the kernel did not report this switch-in: ts_ns is from the scheduler's account of the thread
};

struct hw_switch {  // tid = the thread switched out
  struct hw_record head;
  hw_u32 next_tid;
  hw_u16 prev_state;
  hw_u16 flags;
  hw_u64 prev_exec_ns;  // se.sum_exec_runtime of the thread switched out (0 when it is not ours)
};

enum hw_waking_flags {
  HW_WK_NEW = 1,  // sched_wakeup_new: the first wake-up of a new thread
  HW_WK_IRQ = 2,  // waker ran in hard or soft interrupt context: waker_tid is whom it interrupted
  HW_WK_WAKER_OURS = 4,
};

struct hw_waking {  // tid = the thread woken
  struct hw_record head;
  hw_u32 waker_tid;
  hw_u16 flags;
  hw_u16 cpu;  // where the waking ran
};

struct hw_loss {  // tid = 0; ts_ns = when the loss was noticed
  struct hw_record head;
  hw_u32 cpu;
  hw_u32 reserved;
  hw_i64 first_ns;  // first and last failed reserve since the previous hw_loss of this CPU
  hw_i64 last_ns;
  hw_u64 events;
};

struct hw_fork {  // tid = the new thread
  struct hw_record head;
  hw_u32 pid;  // thread group of the new thread
  hw_u32 parent_tid;
  hw_u32 parent_pid;
  hw_u32 ns_tid;    // the new thread's tid in its own pid namespace
  hw_i64 start_ns;  // task_struct.start_time: with tid, the thread's identity
  char comm[HW_COMM_BYTES];
};

struct hw_exit {
  struct hw_record head;
  hw_u32 pid;
  hw_u32 exit_code;  // task_struct.exit_code
  hw_u64 exec_ns;    // se.sum_exec_runtime at the exit (the last switch-out adds a little)
};

struct hw_rename {
  struct hw_record head;
  hw_u32 pid;
  hw_u32 reserved;
  char comm[HW_COMM_BYTES];  // raw bytes: not necessarily UTF-8
};

struct hw_exec {  // tid = the leader's tid after exec; old_tid = the thread that called execve
  struct hw_record head;
  hw_u32 pid;
  hw_u32 old_tid;
  char comm[HW_COMM_BYTES];
};

struct hw_snapshot {  // a thread that ran already when the recording began, from /proc
  struct hw_record head;
  hw_u32 pid;
  hw_u32 parent_pid;
  hw_u32 ns_tid;
  hw_u32 state;     // a character of /proc/PID/stat: 'R', 'S', 'D', 'T', 't', ...
  hw_i64 start_ns;  // from /proc (clock ticks, so 10 ms coarse)
  hw_u64 exec_ns;   // from /proc/PID/task/TID/schedstat
  char comm[HW_COMM_BYTES];
};

// What the kernel has summed up for a thread until ts_ns, from /proc/PID/task/TID/schedstat: the perf collector reads
// it about once a second, since it can't see wake-ups nor exec times itself. The last one of a thread gives its totals.
struct hw_schedstat {
  struct hw_record head;
  hw_u32 pid;
  hw_u32 reserved;
  hw_u64 exec_ns;       // se.sum_exec_runtime
  hw_u64 run_delay_ns;  // waiting on a run queue
  hw_u64 timeslices;    // times switched in
};

// --- agent ---------------------------------------------------------------------------------------------------------
// The agent file after its header is a sequence of chunks of `chunk_bytes`, each owned by one thread at a time (a
// thread that ends hands the rest of its chunk on: go by the tid of each record). A chunk begins with hw_agent_chunk;
// `used` counts its valid bytes, head included, and is stored after the record it covers. A chunk whose `used` is 0 was
// never filled: skip it. A thread may be announced twice with the same tid and java_id, when it began while the agent
// was listing those that ran.
struct hw_agent_chunk {  // head.tid = first owner, head.size = 0 (too small a field), head.type = HW_AGENT_CHUNK
  struct hw_record head;
  hw_u32 used;
  hw_u32 reserved;
};

enum hw_thread_flags { HW_TH_DAEMON = 1, HW_TH_VIRTUAL = 2, HW_TH_CARRIER = 4, HW_TH_ATTACHED = 8 /* ran before us */ };

struct hw_thread_start {  // followed by name and group as UTF-8 (name_bytes + group_bytes), padded to 8
  struct hw_record head;
  hw_u64 java_id;
  hw_u32 flags;
  hw_u16 name_bytes;
  hw_u16 group_bytes;
};

struct hw_thread_end {
  struct hw_record head;
  hw_u64 java_id;
  hw_u64 cpu_ns;  // CLOCK_THREAD_CPUTIME_ID of the thread: an oracle for exec_ns
};

enum hw_phase_kind { HW_PH_GC_PAUSE = 1, HW_PH_STARTUP = 2, HW_PH_SHUTDOWN = 3 };

struct hw_phase {  // ts_ns = end; followed by the cause as UTF-8 (cause_bytes), padded to 8
  struct hw_record head;
  hw_i64 start_ns;
  hw_u32 kind;
  hw_u32 cause_bytes;
};

struct hw_jvm_info {  // followed by key and value as UTF-8, padded to 8
  struct hw_record head;
  hw_u16 key_bytes;
  hw_u16 part;  // 0, 1, ...: a value too long for one record continues in the next one of the same key
  hw_u32 value_bytes;
};

#endif  // HEADWAY_WIRE_RECORDS_H
