// COUNT short-lived threads, at most eight at a time. Each prints as its last act `tid cpu_ns monotonic_ns` into a table
// that main writes out at the end.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  int tid;
  long long cpu_ns, at_ns;
} Row;

static long long clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void* live(void* argument) {
  Row* row = argument;
  for (volatile int i = 0; i < 20000; i++) {
  }
  row->tid = gettid();
  row->at_ns = clock_ns(CLOCK_MONOTONIC);  // first: the thread's CPU time cannot grow by more than what passes after this
  row->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  return NULL;
}

int main(int argc, char** argv) {
  int count = argc > 1 ? atoi(argv[1]) : 10000;
  Row* rows = calloc((size_t)count, sizeof *rows);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  enum { kAtOnce = 8 };
  for (int first = 0; first < count; first += kAtOnce) {
    pthread_t threads[kAtOnce];
    int here = count - first < kAtOnce ? count - first : kAtOnce;
    for (int i = 0; i < here; i++) pthread_create(&threads[i], &attributes, live, rows + first + i);
    for (int i = 0; i < here; i++) pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < count; i++) printf("%d %lld %lld\n", rows[i].tid, rows[i].cpu_ns, rows[i].at_ns);
}
