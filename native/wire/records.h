// The wire format of the spool: what producers (kernel collector, perf collector, agent) append and the decoder reads.
//
// A spool is a directory `NAME.headway/spool/` with one append-only file per source:
//   sched-cpu<N>.spool   Switch, Waking, Counts, Loss  (time-ordered up to a small reorder window)
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
typedef int hw_i32;
typedef unsigned long long hw_u64;
typedef long long hw_i64;
#else
#include <stdint.h>
typedef uint8_t hw_u8;
typedef uint16_t hw_u16;
typedef uint32_t hw_u32;
typedef int32_t hw_i32;
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
  hw_u64 next_chunk;      // AGENT: offset of the next free chunk, taken with one fetch_add
  hw_u64 limit_bytes;     // AGENT: chunks at or past this offset are not backed by disk space: do not write
  hw_u64 lost;            // AGENT: records dropped because no chunk could be had
  hw_u32 end;             // AGENT: hw_file_end
  hw_u16 counters;        // SCHED: how many counters each switch was read of; 0: none
  hw_u16 counter_groups;  // SCHED: how many groups they are in
};

enum hw_file_end {
  HW_CLOSE_UNREPORTED = 0,  // nobody will say when the agent has let go of the file
  HW_CLOSE_PENDING = 1,     // the agent will, soon after `stop`
  HW_CLOSE_DONE = 2,        // it has: its last records are in the file
  HW_CLOSE_CUT = 3,         // somebody has cut the file off: the agent wrote nothing from then on
};

enum hw_type {
  HW_SWITCH = 1,
  HW_WAKING = 2,
  HW_LOSS = 3,
  HW_COUNTS = 4,
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
  HW_METHOD = 40,
  HW_STACK = 41,
  HW_BLOCKER = 42,
  HW_BLOCKER_DEAD = 43,
  HW_BLOCK = 44,
  HW_HOLD = 45,
  HW_LOCKS_CAPPED = 46,  // hw_record alone: from ts_ns on single blocks and holds are no longer written, only summed
  HW_WAITING_STACK = 47,
  HW_VTHREAD_MOUNT = 48,    // a carrier has a virtual thread from here on
  HW_VTHREAD_UNMOUNT = 49,  // hw_mount once more: it has no longer
  HW_JAVA_CLASS = 50,
  HW_ALLOCATION = 51,
  HW_ACCESS = 52,
  HW_ACCESS_OWNERS = 53,
  HW_ACCESS_PAIR = 54,
  HW_ACCESS_WRITERS = 55,      // hw_access_owners once more: the owner is the thread that wrote to the object last
  HW_ACCESS_WRITER_PAIR = 56,  // hw_access_pair, likewise
  HW_LINE_PLACE = 57,
  HW_LINE_WRITES = 58,
  HW_LINE_SHARE = 59,
  HW_ACCESS_WINDOW = 63,
  HW_ACCESS_NODES = 64,
  HW_ACCESS_NODE_PAIR = 65,         // hw_access_nodes once more, by the thread that allocated the object
  HW_ACCESS_NODE_WRITER_PAIR = 66,  // by the one that wrote to it last
};

struct hw_record {
  hw_i64 ts_ns;
  hw_u16 type;  // hw_type
  hw_u16 size;  // bytes of the whole record, a multiple of 8, this head included
  hw_u32 tid;   // in the initial pid namespace for kernel records
};

// prev_state uses the kernel's bits: 0 running/runnable, 1 S, 2 D, 4 T, 8 t, 0x10/0x20 exit (X, Z), 0x40 P, 0x80 dead.
// Only the low 8 bits are kept; HW_SW_PREEMPT wins over any state (still runnable). The high byte of prev_state tells
// what a thread that blocks (S or D) was in: hw_blocked_in. It is 0 where the kernel does not let us read a thread's
// registers, in perf's records, and in spools of before.
enum hw_blocked_in {
  HW_IN_UNKNOWN = 0,  // or it has not blocked
  HW_IN_FUTEX = 1,
  HW_IN_TIMED_FUTEX = 2,  // with a timeout
  HW_IN_SLEEP = 3,        // nanosleep, clock_nanosleep
  HW_IN_POLL = 4,         // poll, select, epoll_wait and the like: for one of several descriptors
  HW_IN_FILE = 5,         // read, write and whatever else works on a file or a descriptor
  HW_IN_SOCKET = 6,       // accept, connect, send and receive
  HW_IN_CHILD = 7,        // wait4, waitid, vfork and the like
  HW_IN_OTHER = 8,        // another system call
  HW_IN_NO_CALL = 9,      // none: a page fault
};

// HW_SW_OTHERS: how long threads that are not ours ran on this CPU since the last switch-out of one of ours, or since
// the last record with this flag, stands in prev_exec_ns (which belongs to nobody then: the thread switched out is not
// ours). Long stretches come in pieces: a record with this flag alone. So does the last one of a CPU, when the
// collector stops. No thread is not another one: idle time does not count.
enum hw_switch_flags {
  HW_SW_PREEMPT = 1,
  HW_SW_PREV_OURS = 2,  // prev_tid belongs to the recorded tree (else prev_tid is 0)
  HW_SW_NEXT_OURS = 4,  // next_tid belongs to the recorded tree (else next_tid is 0)
  HW_SW_NO_EXEC = 8,    // prev_exec_ns is not known (perf collector)
  HW_SW_UNREPORTED =
      16,  // the kernel did not report this switch-in: ts_ns is from the scheduler's account of the thread
  HW_SW_OTHERS = 32,
  HW_SW_COUNTED = 64,  // what the CPU's counters stood at follows: hw_counts_words
};

struct hw_switch {  // tid = the thread switched out
  struct hw_record head;
  hw_u32 next_tid;
  hw_u16 prev_state;
  hw_u16 flags;
  hw_u64 prev_exec_ns;  // se.sum_exec_runtime of the thread switched out; when it is not ours 0, or see HW_SW_OTHERS
};

// What the counters of a CPU stood at (headway record --counters): `counters` values, then for each of the
// `counter_groups` how many ns of the time since it was opened the group was not on the CPU's counters, because more
// groups than fit take turns. Both grow; a thread's share is the difference between two switches. It follows a hw_switch
// with HW_SW_COUNTED, within its head.size, and a hw_counts.
#define HW_COUNTERS 16
#define HW_COUNTER_GROUPS 8
#define HW_COUNTS_WORDS (HW_COUNTERS + HW_COUNTER_GROUPS)

struct hw_counts {  // tid = the recorded thread on the CPU, 0 if none; taken when the recording begins and when it ends
  struct hw_record head;
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
  hw_u64 exec_ns;    // se.sum_exec_runtime at the exit: as of the kernel's last update, up to a tick before
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

struct hw_mount {  // tid: the carrier
  struct hw_record head;
  hw_u64 java_id;  // of the virtual thread
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

// --- locks (docs/decisions/0005-locks.md) ---------------------------------------------------------------------------
// Java threads are named by java.lang.Thread's id ("java id", 32 bits of it, 0: unknown), because virtual threads have
// no tid. Ids of methods, stacks and blockers count from 1 within one agent file; 0 means none.

struct hw_method {  // followed by class ("java.util.HashMap") and method name as UTF-8, padded to 8
  struct hw_record head;
  hw_u32 method_id;
  hw_u16 class_bytes;
  hw_u16 name_bytes;
};

struct hw_stack_frame {
  hw_u32 method_id;
  hw_i32 line;  // -1: native method, -2: unknown
};

struct hw_stack {  // followed by `frames` hw_stack_frame, innermost first; headway's own frames are left out
  struct hw_record head;
  hw_u32 stack_id;
  hw_u16 frames;
  hw_u16 is_cut;  // the stack is deeper than what is stored
};

// What a thread waits in: one object can be both a monitor and be waited on, then it has one blocker for each.
enum hw_blocker_kind { HW_BK_PARK = 1, HW_BK_MONITOR = 2, HW_BK_WAIT = 3 };

// identity_hash 0: stands for all of its class and kind that have no slot of their own: dead ones whose slot is used
// again (see hw_blocker_dead), live ones that found none, short-lived ones (HW_BL_TOGETHER). No first thread.
struct hw_blocker {       // followed by class name and the first thread's name as UTF-8, padded to 8
  struct hw_record head;  // ts_ns: the first recorded event; tid: of the first thread
  hw_u32 blocker_id;
  hw_u32 identity_hash;
  hw_u32 kind;  // hw_blocker_kind
  hw_u32 first_java_id;
  hw_u32 first_stack_id;
  hw_u16 class_bytes;
  hw_u16 name_bytes;
};

struct hw_blocker_dead {  // the object was collected between the last look and ts_ns
  struct hw_record head;
  hw_u32 blocker_id;
  // Not 0: its slot of the live table is used again (--forget-dead, or the table is full); its sums went into those of
  // this blocker, which stands for the forgotten ones of one class and kind. May come as a second record, later.
  hw_u32 folded_into;
};

enum hw_block_flags {
  HW_BL_TIMED = 1,
  HW_BL_OPEN = 2,          // still going on when the recording ended
  HW_BL_ATTACHED = 4,      // had begun before the agent came: start_ns is when it was seen
  HW_BL_VIRTUAL = 8,       // a virtual thread
  HW_BL_PINNED = 16,       // a virtual thread that kept its carrier
  HW_BL_END_GUESSED = 32,  // the end was not seen: ts_ns is that of the waking or of the thread's next event
  // The object is one of many of its class that are waited for once or twice: blocker_id is that of all of these
  // together, and owner_java_id is the object's identity hash, which tells it from the others. Nobody owns it.
  HW_BL_TOGETHER = 64,
  // The thread is still queued for what it waited for in its last block, and parks once more: one wait, counted with
  // the block that began it.
  HW_BL_AGAIN = 128,
  HW_BL_SLEEP = 256,  // a virtual thread in Thread.sleep: all of these have one blocker, of no object
  // A virtual thread that leaves its carrier (JDK 24 and later) with the monitor that it last waited for.
  HW_BL_OWNS_MONITOR = 512,
};

struct hw_block {  // ts_ns = end; tid = the OS thread (of a virtual thread: its carrier at the end)
  struct hw_record head;
  hw_i64 start_ns;
  hw_i64 waking_ns;   // the unpark that ended it, a sleep's due time; 0: none seen (timeout, interrupt, monitor)
  hw_u32 blocker_id;  // 0: parked without a blocker
  hw_u32 stack_id;    // 0: not taken this time
  hw_u32 java_id;
  hw_u32 waker_java_id;
  hw_u32 waker_stack_id;
  hw_u32 owner_java_id;  // who owned the exclusive synchroniser at start_ns, a monitor at the end; 0: nobody or unknown
  hw_u16 kind;           // hw_blocker_kind
  hw_u16 flags;          // hw_block_flags
  hw_u32 weight;         // blocks of this thread that the stack stands for (this one, and those since its last stack)
};

struct hw_hold {  // a contended acquisition and its release (ts_ns); others were queued when it was acquired
  struct hw_record head;
  hw_i64 start_ns;
  hw_u32 blocker_id;
  hw_u32 java_id;
};

// What a thread stood in when its stack was taken from outside: hw_waiting_stack.
enum hw_standing_in { HW_ST_NATIVE = 1, HW_ST_SLEEP = 2, HW_ST_WAIT = 3, HW_ST_PARK = 4 };

// The stack of a thread that does not run Java code, and of whose waiting no hw_block tells where: it waits in a native
// method (for the network, a file, a process), sleeps, or has waited since before the agent came. Once per thread and
// what it stands in.
struct hw_waiting_stack {  // tid = the thread that took it
  struct hw_record head;
  hw_u32 stack_id;
  hw_u32 java_id;
  hw_u32 state;  // hw_standing_in
  hw_u32 reserved;
};

// --- allocations (docs/decisions/0013-allocations.md) ----------------------------------------------------------------
// What was really allocated, by thread, class and site. Sums from the beginning of the recording on: of two records with
// the same java_id, class_id and stack_id the one with more objects is the later one.

struct hw_java_class {  // followed by its name as UTF-8 ("java.lang.String", "int[]"), padded to 8
  struct hw_record head;
  hw_u32 class_id;  // from 1 on within one agent file
  hw_u32 name_bytes;
};

// In place of a java_id: all threads that found no row of their own.
#define HW_MANY_THREADS 0x7FFFFFFFFFFFFFFF

struct hw_allocation {  // tid = the thread that wrote it
  struct hw_record head;
  hw_u64 java_id;       // 0: threads of which the JVM does not tell the id; HW_MANY_THREADS
  hw_u32 class_id;      // 0: classes that found no row of their own
  hw_u32 stack_id;      // a stack of one frame, the innermost; 0: none was taken
  hw_u64 objects;       // that the agent saw: with an interval the sampled ones
  hw_u64 bytes;         // of these
  hw_u64 array_length;  // of these, the sum of their lengths
  hw_u64 estimates[6];  // bits of doubles, with an interval: objects, bytes and array_length of all, then the variances
};

// --- accesses (docs/decisions/0016-accesses.md) ----------------------------------------------------------------------
// Reads and writes that the code of a class makes, by the thread that makes them. Sums from the beginning of the
// recording on: of two records with the same java_id, class_id and block the one with more accesses is the later one.
#define HW_ACCESS_KINDS 6

// In place of a java_id: virtual threads, all together.
#define HW_VIRTUAL_THREADS 0x7FFFFFFFFFFFFFFE

struct hw_access {  // tid = the thread that wrote it
  struct hw_record head;
  hw_u64 java_id;   // HW_MANY_THREADS, HW_VIRTUAL_THREADS
  hw_u32 class_id;  // of the class whose code it is: hw_java_class
  hw_u32 block;     // a thread may have several rows of one class, each in a block of its own; they add up
  hw_u64 counts[HW_ACCESS_KINDS];  // tuple reads, tuple writes, array reads, array writes, static reads, static writes
};

// Of the objects in an hw_access with the same java_id, class_id and block, those whose owner is known: the thread that
// allocated them, or wrote to them last, by type. The kinds are the first four of its counts.
#define HW_OWNED_KINDS 4
struct hw_access_owners {
  struct hw_record head;
  hw_u64 java_id;
  hw_u32 class_id;
  hw_u32 block;
  hw_u64 local[HW_OWNED_KINDS];   // the accessing thread itself
  hw_u64 shared[HW_OWNED_KINDS];  // another one
};

// In place of an owner's java_id: objects whose identity hash the agent has not made.
#define HW_FOREIGN_OWNER 0x7FFFFFFFFFFFFFFD

// What one thread's accesses to one thread's objects are, in all classes. Sums as well: the one with more is the later one.
struct hw_access_pair {
  struct hw_record head;
  hw_u64 java_id;
  hw_u64 owner_id;  // 0: unknown
  hw_u32 block;
  hw_u32 reserved;
  hw_u64 counts[HW_OWNED_KINDS];
};

// Where accesses are counted in windows (docs/decisions/0019-windows.md), the highest bits of the `block` of an hw_access have
// the number of a group of windows. Group 0: what all windows have counted, as it is. Others: what the thread did in the spells
// right before the windows of the group, as long as these, as estimated from what it did in them. 11: what the windows of all
// these spells have counted.
#define HW_WINDOW_GROUP_SHIFT 27

// What one thread did in the windows of a group, and before each of them. Sums: of two records the one with more CPU time in
// and between windows, and more marks, is the later one.
enum hw_window_sum {
  HW_CPU_IN,         // CPU time in windows, ns
  HW_CPU_OWN,        // what the same work would have taken it at its own speed
  HW_CPU_BETWEEN,    // between windows
  HW_CPU_BEFORE,     // of that, in the spells of which it is known what it did
  HW_CPU_UNSEEN,     // in those of which it is not, as it passed too few marks
  HW_MARKS,          // group 0 alone: how often it passed marks in the spells that are known
  HW_MARKS_IN,       // and in the windows of these spells
  HW_MARKS_WRONG,    // so many more or fewer than estimated from the windows, mark by mark
  HW_MARKS_LARGEST,  // of HW_MARKS, those of the mark that it passed most often
  HW_WINDOW_SUMS,
};
struct hw_access_window {
  struct hw_record head;
  hw_u64 java_id;
  hw_u32 block;
  hw_u32 reserved;
  hw_u64 sums[HW_WINDOW_SUMS];
};

// --- accesses by memory node (docs/decisions/0021-access-nodes.md) -----------------------------------------------------
// Samples of accesses, by the node of the CPU and that of the page: sums, of two with the same keys the one with more
// samples is the later one.
#define HW_UNKNOWN_NODE 0xFFFF

struct hw_access_nodes {
  struct hw_record head;  // its type says what `of` is
  hw_u64 java_id;         // HW_MANY_THREADS, HW_VIRTUAL_THREADS
  hw_u64 of;    // the class whose code it is: hw_java_class; of pairs the owner's java_id, as in hw_access_pair
  hw_u16 kind;  // one of HW_OWNED_KINDS
  hw_u16 cpu_node;
  hw_u16 page_node;  // HW_UNKNOWN_NODE: the page was not there, or on its way
  hw_u16 reserved;
  hw_u64 samples;
  hw_u64
      accesses;  // that these samples stand for, each counted: those of its thread, class and kind since the sample before
};

// --- writes by cache lines (docs/decisions/0020-cache-lines.md) -------------------------------------------------------
// What an instruction writes to: a field, or the elements of arrays in one method. Written when it first writes.
struct hw_line_place {
  struct hw_record head;
  hw_u32 place;    // from 1 on within one agent file
  hw_u32 name_id;  // hw_java_class: "com.acme.Order.hits", or "long[] in com.acme.Work.run"; 0: there are too many
  hw_u32 offset;   // of the field in its object, bytes; 0: elements
  hw_u32 reserved;
};

// How often a thread wrote there: a sum, of two the later one is larger.
struct hw_line_writes {
  struct hw_record head;
  hw_u64 java_id;  // of the platform thread, also while it runs virtual threads
  hw_u32 place;
  hw_u32 reserved;
  hw_u64 writes;
};

enum hw_line_kind {
  HW_LINE_SAME_PLACE = 0,  // another thread had written to the very same field or element last
  HW_LINE_SAME_LINE = 1,   // this one had, but another thread has written elsewhere within the same 64 bytes since
  HW_LINE_NEXT_LINE = 2,   // the same, in the other half of the same 128 bytes, and not within the same 64
};
#define HW_LINE_KINDS 3

// How often a thread's write found that another thread had written there, or near, last. Sums, likewise.
struct hw_line_share {
  struct hw_record head;
  hw_u64 java_id;
  hw_u64 other_id;  // the other thread
  hw_u32 place;
  hw_u32 other_place;  // to which it had written last
  hw_u16 kind;         // hw_line_kind
  hw_u16 same_object;  // 1: both are in the same object or array
  hw_u32 reserved;
  hw_u64 writes;
};

// The live table, `locks-<pid>.table`: exact sums per blocker, in a mapping that outlives the JVM. Layout:
// hw_lock_header (4096 bytes), HW_LOCK_CLASSES names of HW_LOCK_CLASS_BYTES, then slots (slot 0 is never used). A slot
// of kind 0 is free; the one with blocker_id 0 and a kind holds the parks without a blocker. Until the agent lets go of
// the table, waits still going on are in the times up to last_ns only: add parked_now x (now - last_ns). A JVM that was
// killed may leave one odd `sequence` per thread: such a slot is off by one event at most.
#define HW_LOCK_MAGIC "HWLOCKS\0"
#define HW_LOCK_VERSION 2
#define HW_LOCK_CLASSES 4096
#define HW_LOCK_CLASS_BYTES 128

struct hw_lock_header {
  char magic[8];
  hw_u32 version;  // HW_LOCK_VERSION
  hw_u32 pid;      // in its own pid namespace
  hw_i64 created_ns;
  hw_u32 slot_bytes;
  hw_u32 slots;            // used so far, slot 0 included
  hw_u32 classes;          // used so far
  hw_u32 forgotten;        // dead blockers whose slot was used again (--forget-dead)
  hw_u64 dropped;          // parks that no slot has, not even that of their class (see hw_blocker)
  hw_u64 threads_parked;   // in all, at updated_ns; the slots' parked_now tell of now
  hw_i64 capped_ns;        // HW_LOCKS_CAPPED; 0: not
  hw_i64 updated_ns;       // when the agent last looked for dead blockers
  hw_u64 below_threshold;  // parks that were only counted, on blockers below --park-threshold
  hw_u64 untimed_holds;    // holds of contended acquisitions that found no place
};

struct hw_lock_slot {  // 128 bytes; written under `sequence` (odd: being written)
  // What every wait changes is one line of the cache: the cores that the waiting threads are on hand it to each other.
  hw_u32 sequence;
  hw_u32 blocker_id;
  hw_u32 parked_now;
  hw_u32 peak_parked;
  hw_u64 times_parked;    // all, also those below the threshold
  hw_u64 times_measured;  // those that the times below hold
  hw_i64 first_ns;        // first measured event
  hw_i64 last_ns;         // last one: thread_time and real_time are exact up to here
  hw_u64 thread_time_ns;  // sum of parked_now x dt
  hw_u64 real_time_ns;    // sum of dt while parked_now > 0
  // The second line.
  hw_u32 identity_hash;
  hw_u32 class_index;
  hw_u16 kind;  // hw_blocker_kind
  hw_u16 is_dead;
  hw_u32 first_java_id;
  hw_u32 first_stack_id;
  hw_u32 forgotten;  // > 0: sums of so many dead blockers of this class and kind; real_time_ns is their sum too
  hw_u64 holds;      // contended acquisitions seen whole
  hw_u64 hold_ns;    // their sum
  hw_u64 spare[3];
};

#endif  // HEADWAY_WIRE_RECORDS_H
