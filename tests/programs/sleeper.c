// Wakes by a timer (in interrupt context) and by another thread (not), ROUNDS times each.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

static sem_t go, done;
static int rounds;

static void* woken_by_main(void* unused) {
  for (int i = 0; i < rounds; i++) {
    sem_wait(&go);
    sem_post(&done);
  }
  return unused;
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? atoi(argv[1]) : 50;
  pthread_t thread;
  pthread_create(&thread, NULL, woken_by_main, NULL);
  for (int i = 0; i < rounds; i++) {
    struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
    sem_post(&go);
    sem_wait(&done);
  }
  pthread_join(thread, NULL);
}
