// For each line of standard input, the number of a CPU, moves there and touches 3,000 pages, with a sleep before and after; a
// second thread computes all the time, begun on CPU 1. Says when it touched, CLOCK_MONOTONIC, and how many faults it took, and at
// the end for how long each of its two threads ran and how many faults the first one took in all.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { kPages = 3000, kSleepUs = 50000 };

static atomic_int over;
static long spun_ns;

static long clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void be_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

static void* spin(void* unused) {
  be_on(1);
  while (!over) {
  }
  spun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  return unused;
}

static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

int main(void) {
  char line[16];
  pthread_t thread;
  setvbuf(stdout, 0, _IOLBF, 0);
  pthread_create(&thread, 0, spin, 0);
  printf("pid %d\n", getpid());
  while (fgets(line, sizeof line, stdin) != 0) {
    be_on(atoi(line));
    usleep(kSleepUs);
    long begun = clock_ns(CLOCK_MONOTONIC), before = faults();
    char* at = mmap(0, 4096L * kPages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, 4096L * kPages, MADV_NOHUGEPAGE);
    for (int i = 0; i < kPages; ++i) at[4096L * i] = 1;
    long after = faults(), ended = clock_ns(CLOCK_MONOTONIC);
    usleep(kSleepUs);
    printf("touched %ld %ld %ld\n", begun, ended, after - before);
  }
  over = 1;
  pthread_join(thread, 0);
  printf("ran %ld %ld %ld\n", clock_ns(CLOCK_THREAD_CPUTIME_ID), spun_ns, faults());
  return 0;
}
