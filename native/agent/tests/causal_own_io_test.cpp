// Whether a thread that waits for input waits for this very process: with real threads, pipes, sockets and children.
#include "agent/causal/sampling/own_io.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "testing/check.h"

namespace headway::agent {
// As hotspot.cpp has it, which needs a JVM.
bool safe_read(const void* from, void* to, size_t bytes) noexcept {
  const iovec local{to, bytes};
  const iovec remote{const_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}
}  // namespace headway::agent

namespace {

using headway::agent::causal::waits_for_this_process;

struct Pair {
  int here = -1;
  int there = -1;
};

Pair make_pipe() {
  std::array<int, 2> ends{};
  CHECK_EQUAL(pipe(ends.data()), 0);
  return {ends[0], ends[1]};
}

Pair make_unix() {
  std::array<int, 2> ends{};
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  return {ends[0], ends[1]};
}

sockaddr* as_address(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

int listen_on(sockaddr_in& address) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  CHECK_EQUAL(bind(listener, as_address(address), length), 0);
  CHECK_EQUAL(listen(listener, 4), 0);
  CHECK_EQUAL(getsockname(listener, as_address(address), &length), 0);
  return listener;
}

int connect_to(sockaddr_in& address) {
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  CHECK_EQUAL(connect(client, as_address(address), sizeof(address)), 0);
  return client;
}

Pair make_tcp() {
  sockaddr_in address{};
  const int listener = listen_on(address);
  const int client = connect_to(address);
  const int server = accept(listener, nullptr, nullptr);
  CHECK(server >= 0);
  close(listener);
  return {client, server};
}

bool is_in_system_call(uint32_t tid) {
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/syscall");
  std::string first;
  file >> first;
  return !first.empty() && first != "running" && first != std::to_string(SYS_futex);
}

// What is said of a thread while `wait` lets it stand still; `release` ends that.
bool said_of(const std::function<void()>& wait, const std::function<void()>& release) {
  std::atomic<uint32_t> tid{0};
  std::thread thread([&] {
    tid = static_cast<uint32_t>(syscall(SYS_gettid));
    wait();
  });
  while (tid == 0 || !is_in_system_call(tid)) std::this_thread::yield();
  // It may still be on its way there: what it says once it stands still is what counts.
  bool said = false;
  for (int look = 0; look < 50 && !said; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    said = waits_for_this_process(tid);
  }
  release();
  thread.join();
  return said;
}

void read_one(int from) {
  char byte = 0;
  CHECK(read(from, &byte, 1) >= 0);
}
void write_one(int to) { CHECK_EQUAL(write(to, "x", 1), 1); }

void who_reads_what_this_process_writes_waits_for_it() {
  for (const Pair& pair : {make_pipe(), make_unix(), make_tcp()}) {
    CHECK(said_of([&] { read_one(pair.here); }, [&] { write_one(pair.there); }));
    close(pair.here);
    close(pair.there);
  }
}

void who_polls_one_descriptor_for_input_waits_for_it_too() {
  const Pair pair = make_tcp();
  const auto wait = [&] {
    pollfd polled{pair.here, POLLIN, 0};
    CHECK_EQUAL(poll(&polled, 1, -1), 1);
  };
  CHECK(said_of(wait, [&] { write_one(pair.there); }));
  close(pair.here);
  close(pair.there);
}

// A child with the other end, until `end_child`.
pid_t child_with(const std::function<void()>& own) {
  const Pair ready = make_pipe();
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    own();
    write_one(ready.there);
    for (;;) pause();
  }
  read_one(ready.here);
  close(ready.here);
  close(ready.there);
  return child;
}
void end_child(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

void who_reads_what_another_process_writes_does_not() {
  const Pair pipe_pair = make_pipe();
  const pid_t writer = child_with([] {});
  close(pipe_pair.there);  // only the child has it now; its end is the end of the input
  CHECK(!said_of([&] { read_one(pipe_pair.here); }, [&] { end_child(writer); }));

  sockaddr_in address{};
  const int listener = listen_on(address);
  const pid_t client = child_with([&] { connect_to(address); });
  const int server = accept(listener, nullptr, nullptr);
  close(listener);
  CHECK(!said_of([&] { read_one(server); }, [&] { end_child(client); }));
}

void who_sleeps_waits_for_nobody() {
  std::atomic<bool> goes_on{true};
  const auto wait = [&] {
    while (goes_on) {
      const timespec time{0, 5'000'000};
      nanosleep(&time, nullptr);
    }
  };
  CHECK(!said_of(wait, [&] { goes_on = false; }));
}

}  // namespace

int main() {
  who_reads_what_this_process_writes_waits_for_it();
  who_polls_one_descriptor_for_input_waits_for_it_too();
  who_reads_what_another_process_writes_does_not();
  who_sleeps_waits_for_nobody();
  std::cout << "fine\n";
}
