// Renames its threads: itself, itself by bytes that are no UTF-8, and another thread from outside. Prints the two tids.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int other_tid;
static pthread_barrier_t barrier;

static void* other(void* unused) {
  other_tid = gettid();
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, other, NULL);
  pthread_barrier_wait(&barrier);
  prctl(PR_SET_NAME, "<b>&amp;\"bold");
  prctl(PR_SET_NAME, "\xff\xfe\x80 raw");
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", other_tid);
  int fd = open(path, O_WRONLY);
  if (write(fd, "from outside", 12) != 12) return 1;
  close(fd);
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  printf("%d %d\n", getpid(), other_tid);
}
