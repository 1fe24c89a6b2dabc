// What the kernel program (sched.bpf.c) and its user side (kernel_collector.cpp) agree on beside the wire format.
#ifndef HEADWAY_KERNEL_SCHED_SHARED_H
#define HEADWAY_KERNEL_SCHED_SHARED_H

#include "wire/records.h"

// The recorded thread groups: one byte per possible tgid (the kernel's own limit is 4 Mi on 64 bit), as an array of
// 64-byte blocks. An array lookup is inlined by the JIT and costs a nanosecond where a hash lookup costs about twenty,
// and every switch of every process on the machine makes two of them. It can neither fill up nor fail to allocate in a
// fork.
#define HW_TGID_BLOCK 64
#define HW_TGID_BLOCKS ((4u << 20) / HW_TGID_BLOCK)

struct hw_tgid_block {
  hw_u8 recorded[HW_TGID_BLOCK];
};

// Records that found no room, counted where they were lost.
struct hw_loss_count {
  hw_u64 events;
  hw_u64 first_ns;  // of the events since the consumer reported last
  hw_u64 last_ns;
};

// The ring of one CPU's scheduling records: the value of an array map that user space maps into memory, of HW_RING_DATA
// bytes and then a power of two of 8-byte words. One producer: the scheduler's tracepoints run with interrupts off (but
// for threads that wake themselves, of which no record is made), so two programs never write the same CPU's ring at
// once. So plain stores do, where BPF's own ring buffer takes three calls and a lock per record: here that was 200 ns
// of the 450 ns that a switch and its waking cost. And the consumer can hand whole stretches of it to write(2).
struct hw_ring {
  // Written by the kernel program.
  hw_u64 head;  // words ever written
  hw_u64 switches;
  hw_u64 wakings;
  hw_u64
      on_cpu;  // the recorded thread that the last switch brought in, by its task_struct (execve changes tids); 0: none
  struct hw_loss_count lost;
  hw_u64 last_ns;  // of the last switch; 0 before the first
  // What others did since the last of ours left the CPU: counted at each switch between two of them or the idle task.
  hw_u64 others_ns;
  hw_u64 others_at_ns;     // counted up to here
  hw_u64 others_since_ns;  // of the last of ours, or of the last record of others
  hw_u64 other_on_cpu;     // not 0: after the last switch one of them has the CPU
  hw_u64 enabled_ns;       // of the first group of counters, when a switch last read them
  hw_u64 pad1[3];
  // Written by the consumer, in a cache line of their own.
  hw_u64 tail;  // words ever consumed
  hw_u64 lost_reported;
  hw_u64 since_ns;  // all that is to be recorded is known since then; 0: not yet
  hw_u64 pad2[5];
};
#define HW_RING_DATA 4096

// Others' time on a CPU that none of ours uses is written in pieces of about this length, so that it is known when.
#define HW_OTHERS_PIECE_NS 10000000

// The class (hw_blocked_in) of each system call by its number. HW_TIMED_BY_4TH: its fourth argument is a timeout.
#define HW_SYSCALLS 512
#define HW_TIMED_BY_4TH 0x80

// What a CPU's counters stand at when user space asks, and which recorded thread has the CPU (0: none).
struct hw_flush {
  hw_u64 ts_ns;
  hw_u32 tid;
  hw_u32 is_read;
  hw_u64 words[HW_COUNTS_WORDS];
};

// Losses of rings that are not a CPU's own: index 0 the lifecycle ring, index 1 CPUs that came online after the start.
struct hw_shared_loss {
  struct hw_loss_count count;
  hw_u64 reported;
  hw_u64 pad[4];
};

// Where the kernel keeps its preemption count, which tells whether an interrupt is being served. On x86 it is per CPU,
// at an address that only some kernels publish (CONFIG_KALLSYMS_ALL), under a name that changed twice (6.2, 6.15). But
// the types of the kernel tell its distance from the CPU's run queue, and the current task leads to that.
enum hw_preempt_count_at {
  HW_PREEMPT_COUNT_UNKNOWN = 0,
  HW_PREEMPT_COUNT_NEAR_RQ = 1,
  HW_PREEMPT_COUNT_IN_TASK = 2,  // arm64 and others: thread_info
};

#endif  // HEADWAY_KERNEL_SCHED_SHARED_H
