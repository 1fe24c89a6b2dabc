// One thread for each thing that a thread can be in when it blocks. Each blocks ROUNDS times, ended by main once it is
// seen asleep (a sleep ends by itself), and prints "what tid begin_ns end_ns" per block.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FUTEX, TIMED_FUTEX, SLEEP, POLL, EPOLL, FILE_READ, SOCKET, CHILD, OTHER, FAULT, KINDS };
static const char* const names[KINDS] = {"futex", "timed-futex", "sleep", "poll",  "epoll",
                                         "file",  "socket",      "child", "other", "fault"};

static int rounds, kind_now, faults;
static _Atomic int tid_now, ready, begun, ended;  // the last three: a round's number
static _Atomic uint32_t word;
static int pipe_now[2], sockets[2], child_gate[2];
static char* page;
static size_t page_bytes;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void block(int kind) {
  char byte;
  struct timespec minute = {60, 0}, moment = {0, 5000000};
  struct pollfd one = {pipe_now[0], POLLIN, 0};
  switch (kind) {
    case FUTEX:
      while (word == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
      return;
    case TIMED_FUTEX:
      while (word == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &minute, NULL, 0);
      return;
    case SLEEP:
      clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
      return;
    case POLL:
      poll(&one, 1, -1);
      break;
    case EPOLL: {
      int epoll = epoll_create1(0);
      struct epoll_event event = {EPOLLIN, {0}};
      epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_now[0], &event);
      epoll_wait(epoll, &event, 1, -1);
      close(epoll);
      break;
    }
    case SOCKET:
      recv(sockets[0], &byte, 1, 0);
      return;
    case CHILD: {
      int status;
      waitpid(-1, &status, 0);
      return;
    }
    case OTHER: {
      sigset_t set;
      int got;
      sigemptyset(&set);
      sigaddset(&set, SIGUSR1);
      sigwait(&set, &got);
      return;
    }
    case FAULT:
      *(volatile char*)page;
      return;
    default:
      break;
  }
  if (read(pipe_now[0], &byte, 1) != 1) abort();
}

static void* body(void* unused) {
  tid_now = (int)syscall(SYS_gettid);
  for (int i = 1; i <= rounds; i++) {
    while (ready != i) usleep(500);
    int64_t begin = now_ns();
    begun = i;
    block(kind_now);
    int64_t end = now_ns();
    printf("%s %d %lld %lld\n", names[kind_now], (int)tid_now, (long long)begin, (long long)end);
    ended = i;
  }
  return unused;
}

// Whether the thread is in the call (or the fault, which has none) and asleep: it has begun, and does nothing before.
static int is_asleep(void) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid_now);
  int fd = open(path, O_RDONLY);
  ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = 0;
  char state = strrchr(text, ')')[2];
  return state == 'S' || state == 'D';
}

static void end_block(pthread_t thread) {
  switch (kind_now) {
    case FUTEX:
    case TIMED_FUTEX:
      word = 1;
      syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
      return;
    case SOCKET:
      if (send(sockets[1], "x", 1, 0) != 1) abort();
      return;
    case CHILD:
      if (write(child_gate[1], "x", 1) != 1) abort();
      return;
    case OTHER:
      pthread_kill(thread, SIGUSR1);
      return;
    case FAULT: {
      struct uffdio_zeropage zero = {{(uintptr_t)page, page_bytes}, 0, 0};
      if (ioctl(faults, UFFDIO_ZEROPAGE, &zero) != 0) abort();
      return;
    }
    default:
      if (write(pipe_now[1], "x", 1) != 1) abort();
  }
}

static void make_ready(void) {
  word = 0;
  if (kind_now == CHILD && fork() == 0) {
    char byte;
    _exit(read(child_gate[0], &byte, 1) != 1);
  }
  if (kind_now == FAULT) madvise(page, page_bytes, MADV_DONTNEED);
}

static int can_fault(void) {
  struct uffdio_api api = {UFFD_API, 0, 0};
  page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0) return 0;
  struct uffdio_register range = {{(uintptr_t)page, page_bytes}, UFFDIO_REGISTER_MODE_MISSING, 0};
  return ioctl(faults, UFFDIO_REGISTER, &range) == 0;
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? atoi(argv[1]) : 3;
  setvbuf(stdout, NULL, _IOLBF, 1 << 12);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  if (pipe(pipe_now) != 0 || pipe(child_gate) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
  int kinds = can_fault() ? KINDS : FAULT;
  for (kind_now = 0; kind_now < kinds; kind_now++) {
    pthread_t thread;
    ready = begun = ended = 0;
    pthread_create(&thread, NULL, body, NULL);
    for (int i = 1; i <= rounds; i++) {
      make_ready();
      ready = i;
      while (begun != i) usleep(500);
      if (kind_now != SLEEP) {
        // More than once, so that it was not caught in a short wait on its way.
        for (int seen = 0; seen < 3; usleep(1000)) seen = is_asleep() ? seen + 1 : 0;
        end_block(thread);
      }
      while (ended != i) usleep(500);
    }
    pthread_join(thread, NULL);
  }
}
