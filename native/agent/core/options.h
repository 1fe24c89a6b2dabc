// The agent's option string: `key=value` pairs separated by commas, values percent-encoded where they hold commas,
// white space or quotes (so the string survives JAVA_TOOL_OPTIONS, which the JVM splits at white space).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/core/recording_directory.h"

namespace headway::agent {

struct Options {
  std::string spool;       // directory in which agent-<pid>.spool is created
  DirectoryId spool_id;    // which directory that is, where it is named by a descriptor of the recorder's
  bool vthreads = false;   // record start, end and mounts of virtual threads (slows them: off unless asked for)
  bool children = false;   // hand the agent on to child JVMs by JAVA_TOOL_OPTIONS in this process's environment
  int processors = 0;      // with `children`: -XX:ActiveProcessorCount for them too; 0: leave alone
  bool stop = false;       // attach only: end the running recording and let go of its file
  bool no_map = false;     // write by system calls instead of through a mapping (for tests and odd file systems)
  bool locks = false;      // record parks, contended monitors and Object.wait (docs/decisions/0005-locks.md)
  int park_threshold = 0;  // with `locks`: so many parks of a blocker are only counted, before times are taken
  std::string sampler;     // library of async-profiler; empty: no stack samples
  std::string sample;      // its arguments, e.g. "event=ctimer,interval=10000000,and,wall=50000000"
  std::string causal;      // what a causal recording is to do (causal/common/options.h); empty: none
  bool no_owners = false;  // with `locks`: at the end nobody is asked who owns a monitor (that stops the program)
  bool opens_existing =
      false;                  // attach only: the recorder has made agent-<pid>.spool, empty; that one is opened or none
  int objects = -1;           // bytes between samples of allocations; 0: all are counted; less: none
  bool object_sites = false;  // with `objects`: by the innermost frame, too
  bool accesses = false;      // reads and writes of objects are counted, from the start of the JVM on
  bool access_owners = false;             // with `accesses`: also by the threads that allocated the objects
  bool access_writers = false;            // with `accesses`: also by the threads that wrote to the objects last
  bool access_lines = false;              // with `accesses`: also writes by the cache line that they are on
  int window_ms = 0;                      // with `accesses`: counted for so long ...
  int window_period_ms = 0;               // ... once in each period; 0: always
  bool access_nodes = false;              // with `accesses`: also by memory node, samples of them
  std::vector<std::string> access_scope;  // with `accesses`: globs of the classes whose code is counted (scope.h)
  bool forget_dead = false;  // with `locks`: the sums of collected blockers are merged by class, their room used again
};

// Parses `text`; unknown keys are skipped, so that an older agent takes a newer recorder's options.
Options parse_options(std::string_view text);

// The part of the option string that turns locks on as in `options`, with a comma before it; empty when they are off.
std::string lock_options(const Options& options);

// The part that says which directory the spool is, where it is named by a descriptor.
std::string spool_id_option(const Options& options);

// The same of stack samples.
std::string sample_options(const Options& options);

// The same of allocations and accesses.
std::string object_options(const Options& options);

// The same of causal profiling.
std::string causal_options(const Options& options);

// Escapes a value for the option string; everything but letters, digits and "/._-~+:@" becomes %XX.
std::string percent_encode(std::string_view value);
std::string percent_decode(std::string_view value);

}  // namespace headway::agent
