// PAIRS pairs of threads hand a token to and fro ROUNDS times: two switches and two wakings per round. Prints what the kernel
// counted meanwhile (the process may have been another program before).
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static int rounds;

typedef struct {
  sem_t there, back;
} Pair;

static void* ping(void* argument) {
  Pair* pair = argument;
  for (int i = 0; i < rounds; i++) {
    sem_post(&pair->there);
    sem_wait(&pair->back);
  }
  return NULL;
}

static void* pong(void* argument) {
  Pair* pair = argument;
  for (int i = 0; i < rounds; i++) {
    sem_wait(&pair->there);
    sem_post(&pair->back);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int pairs = argc > 1 ? atoi(argv[1]) : 2;
  rounds = argc > 2 ? atoi(argv[2]) : 1000;
  Pair* pair = calloc((size_t)pairs, sizeof *pair);
  pthread_t* thread = calloc(2 * (size_t)pairs, sizeof *thread);
  struct timespec begin, end;
  struct rusage before, usage;
  getrusage(RUSAGE_SELF, &before);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < pairs; i++) {
    sem_init(&pair[i].there, 0, 0);
    sem_init(&pair[i].back, 0, 0);
    pthread_create(&thread[2 * i], NULL, ping, pair + i);
    pthread_create(&thread[2 * i + 1], NULL, pong, pair + i);
  }
  for (int i = 0; i < 2 * pairs; i++) pthread_join(thread[i], NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  getrusage(RUSAGE_SELF, &usage);
  printf("{\"wall_ns\": %lld, \"cpu_ns\": %lld, \"voluntary\": %ld, \"involuntary\": %ld}\n",
         (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec,
         (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
             (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL,
         usage.ru_nvcsw - before.ru_nvcsw, usage.ru_nivcsw - before.ru_nivcsw);
}
