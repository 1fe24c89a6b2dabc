// Starts a child under a given PID (clone3 with set_tid, since 5.5) and waits for it; the child is switched out a hundred times.
#define _GNU_SOURCE
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  pid_t wanted = argc > 1 ? atoi(argv[1]) : 0;
  struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};
  long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return 2;
  if (pid == 0) {
    for (int i = 0; i < 100; i++) {
      struct timespec pause = {0, 10000};
      nanosleep(&pause, NULL);
    }
    _exit(0);
  }
  int status;
  waitpid((pid_t)pid, &status, 0);
  return status != 0 || pid != wanted;
}
