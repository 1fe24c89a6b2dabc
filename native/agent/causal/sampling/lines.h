// Which line a frame is in, for signal handlers: methods of classes in scope by their jmethodID, with copies of their
// line tables, and dense ids for lines and methods.
//
// A line belongs to a class by its name and has the number that the class file says, also in lambda bodies (methods
// lambda$..., Scala's $anonfun$...). Code that Kotlin inlined stands under numbers past the end of the caller's file;
// its source map tells the line that is meant (source_map.h). A class without line numbers has one line per method,
// number 0. Overloads are one method; classes of the same name from different loaders are one class.
//
// Nothing is ever freed: a frame may be looked up at any time. Up to JDK 25 a jmethodID is not reused when its class
// goes away (agent/jvm/stacks.cpp says more), so a table's key stays what it was. A redefined class keeps its ids while its
// lines move: until it is prepared anew, samples in it are attributed by its first line table.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/causal/common/options.h"

namespace headway::agent::causal {

constexpr uint32_t kNoLine = 0;
constexpr uint32_t kUnreadLine = 1;
constexpr uint32_t kFirstLine = 2;
constexpr uint32_t kMostMethods = 1U << 20;  // ids are from 1 to this; the last one is that of all beyond

struct KnownMethod;

struct FramePlace {
  uint32_t line = kNoLine;
  uint32_t method = 0;  // 0: out of scope
};

// [signal] Where a frame is; no line if its method is not in scope. `bci` < 0: a native method.
FramePlace place_of(jmethodID method, jint bci) noexcept;
// [signal] The method only, without giving its line an id.
uint32_t method_of(jmethodID method) noexcept;

// Live phase: classes that are loaded already.
void note_loaded_classes(jvmtiEnv* jvmti, JNIEnv* jni) noexcept;
// The same as note_class, for one.
void note_class_lines(jvmtiEnv* jvmti, jclass type, std::string_view name) noexcept;
uint32_t classes_in_scope() noexcept;

// Lines have small dense ids from 2 on, below kMostLines; the same for methods.
constexpr uint32_t kMostLines = 1 << 18;
struct LineFacts {
  std::string class_name;  // "com.acme.Order$1", UTF-8
  std::string method;
  std::string file;
  int32_t line = -1;
  uint32_t method_id = 0;
};
uint32_t line_limit() noexcept;                             // one past the greatest id
bool line_facts(uint32_t line, LineFacts& facts) noexcept;  // not in a signal handler
// What a place means, in the classes that are there so far; the class of that very name first.
std::vector<uint32_t> find_lines(const Place& place) noexcept;
std::vector<uint32_t> find_methods(const Place& place) noexcept;  // by lines.h

struct MethodName {
  uint32_t id;
  std::string class_name;
  std::string method;
};
std::vector<MethodName> method_names() noexcept;  // all that are known, not in a signal handler

}  // namespace headway::agent::causal
