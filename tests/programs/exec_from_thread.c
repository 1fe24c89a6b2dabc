// A thread that is not the leader replaces the process by /bin/true. Prints `leader thread` first.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void* replace(void* unused) {
  printf("%d %d\n", getpid(), gettid());
  fflush(stdout);
  execl("/bin/true", "true", (char*)NULL);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, replace, NULL);
  pthread_join(thread, NULL);
  return 1;
}
