// Makes small JFR files, whole or wrong on purpose.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jfr/reader.h"
#include "testing/check.h"

namespace headway::jfr {

class Bytes {
 public:
  void varint(uint64_t value) {
    for (int i = 0; i < 8 && value >= 0x80; ++i, value >>= 7) byte(static_cast<uint8_t>(value) | 0x80);
    byte(static_cast<uint8_t>(value));
  }
  void byte(uint8_t value) { out.push_back(static_cast<char>(value)); }
  void fixed(uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) byte(static_cast<uint8_t>(value >> (8 * i)));
  }
  void text(const std::string& value) {
    byte(3);
    varint(value.size());
    out += value;
  }
  std::string out;
};

// An event: its length, which counts itself, its type and its body.
inline std::string event(uint64_t type, const std::string& body) {
  Bytes head;
  head.varint(type);
  Bytes whole;
  // Five bytes of length, as async-profiler pads it.
  const size_t size = 5 + head.out.size() + body.size();
  for (int i = 0; i < 4; ++i) whole.byte(static_cast<uint8_t>((size >> (7 * i)) & 0x7f) | 0x80);
  whole.byte(static_cast<uint8_t>(size >> 28));
  return whole.out + head.out + body;
}

struct TestField {
  std::string name;
  int type;
  bool constant = false;
  bool array = false;
};
struct TestType {
  int id;
  std::string name;
  std::vector<TestField> fields;
};

inline std::string metadata(const std::vector<TestType>& types) {
  std::vector<std::string> strings;
  std::unordered_map<std::string, size_t> places;
  const auto s = [&](const std::string& text) {
    const auto [found, is_new] = places.try_emplace(text, strings.size());
    if (is_new) strings.push_back(text);
    return found->second;
  };
  Bytes tree;
  const auto element = [&](const std::string& name, const std::vector<std::pair<std::string, std::string>>& attributes,
                           size_t children) {
    tree.varint(s(name));
    tree.varint(attributes.size());
    for (const auto& [key, value] : attributes) {
      tree.varint(s(key));
      tree.varint(s(value));
    }
    tree.varint(children);
  };
  element("root", {}, 1);
  element("metadata", {}, types.size());
  for (const TestType& type : types) {
    element("class", {{"id", std::to_string(type.id)}, {"name", type.name}}, type.fields.size());
    for (const TestField& field : type.fields) {
      std::vector<std::pair<std::string, std::string>> attributes{{"name", field.name},
                                                                  {"class", std::to_string(field.type)}};
      if (field.constant) attributes.emplace_back("constantPool", "true");
      if (field.array) attributes.emplace_back("dimension", "1");
      element("field", attributes, 0);
    }
  }
  Bytes body;
  for (int i = 0; i < 3; ++i) body.varint(0);
  body.varint(strings.size());
  for (const std::string& text : strings) body.text(text);
  return event(0, body.out + tree.out);
}

// `pools`: (type, constants in their bytes, each with its index before it).
inline std::string checkpoint(int64_t previous, const std::vector<std::pair<int, std::vector<std::string>>>& pools) {
  Bytes body;
  body.varint(0);
  body.varint(0);
  body.varint(static_cast<uint64_t>(previous));
  body.byte(0);
  body.varint(pools.size());
  for (const auto& [type, constants] : pools) {
    body.varint(static_cast<uint64_t>(type));
    body.varint(constants.size());
    for (const std::string& constant : constants) body.out += constant;
  }
  return event(1, body.out);
}

struct TestChunk {
  std::string metadata, checkpoint, events;
  int major = 2;
  uint64_t size = 0, metadata_at = 0, checkpoint_at = 0;  // 0: the right ones

  std::string bytes() const {
    const size_t whole = 68 + metadata.size() + checkpoint.size() + events.size();
    Bytes head;
    head.out = std::string("FLR\0", 4);
    head.fixed(static_cast<uint64_t>(major), 2);
    head.fixed(1, 2);
    head.fixed(size != 0 ? size : whole, 8);
    head.fixed(checkpoint_at != 0 ? checkpoint_at : 68 + metadata.size() + events.size(), 8);
    head.fixed(metadata_at != 0 ? metadata_at : 68, 8);
    head.fixed(1'000'000'000'000, 8);  // start
    head.fixed(1'000'000, 8);          // duration
    head.fixed(500, 8);                // ticks
    head.fixed(1'000'000'000, 8);      // a second
    head.fixed(1, 4);
    return head.out + metadata + events + checkpoint;
  }
};

class TestFile {
 public:
  explicit TestFile(const std::string& bytes) {
    char name[] = "/tmp/headway-jfr-XXXXXX";
    const int fd = ::mkstemp(name);
    CHECK(fd >= 0);
    ::close(fd);
    path_ = name;
    write(bytes);
  }
  ~TestFile() { ::unlink(path_.c_str()); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  void write(const std::string& bytes) {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Reads all there is, as Python does.
struct Found {
  std::string refused;
  int newer = 0;
  uint64_t rows = 0, problems = 0, frames = 0;
  std::vector<Problem> told;
  std::vector<std::string> texts;
};

inline Found read_all(const std::string& path) {
  Reader reader(path, {}, Times::one_clock);
  Found found;
  while (EventTable* table = reader.next()) {
    found.rows += table->rows;
    for (const Column& column : table->columns) {
      CHECK_EQUAL(column.reals.size() + column.ints.size() + column.ids.size(), table->rows);
      for (const int32_t id : column.ids) {
        if (column.kind == Kind::thread) CHECK(id < static_cast<int32_t>(reader.interned().threads().size()));
        if (column.kind == Kind::text) CHECK(id < static_cast<int32_t>(table->texts.texts().size()));
      }
    }
    for (const std::string& text : table->texts.texts()) found.texts.push_back(text);
    found.frames += reader.interned().take_stacks().frame_id.size();
  }
  found.refused = reader.refused();
  found.newer = reader.newer();
  found.problems = reader.problem_count();
  found.told = reader.problems();
  return found;
}

// A file with most of what there is: texts, threads, stacks, nested types, arrays, and types that name each other.
inline std::vector<TestType> usual_types() {
  return {{1, "int", {}},
          {2, "java.lang.String", {}},
          {3, "long", {}},
          {4, "boolean", {}},
          {10, "java.lang.Class", {{"classLoader", 11, true}, {"name", 12, true}}},
          {11, "jdk.types.ClassLoader", {{"type", 10, true}, {"name", 12, true}}},
          {12, "jdk.types.Symbol", {{"string", 2}}},
          {13, "java.lang.Thread", {{"osName", 2}, {"osThreadId", 3}, {"javaName", 2}, {"javaThreadId", 3}}},
          {14, "jdk.types.StackTrace", {{"truncated", 4}, {"frames", 15, false, true}}},
          {15, "jdk.types.StackFrame", {{"method", 16, true}, {"lineNumber", 1}, {"type", 17, true}}},
          {16, "jdk.types.Method", {{"type", 10, true}, {"name", 12, true}}},
          {17, "jdk.types.FrameType", {{"description", 2}}},
          {18, "inner", {{"low", 1}, {"high", 1}}},
          {50,
           "test.Event",
           {{"startTime", 3},
            {"thread", 13, true},
            {"stackTrace", 14, true},
            {"type", 10, true},
            {"loader", 11, true},
            {"pair", 18},
            {"list", 18, false, true},
            {"text", 2}}}};
}

inline std::string constant(uint64_t index, const std::string& value) {
  Bytes out;
  out.varint(index);
  return out.out + value;
}

template <typename... Values>
std::string varints(Values... values) {
  Bytes out;
  (out.varint(static_cast<uint64_t>(values)), ...);
  return out.out;
}

inline std::string text_bytes(const std::string& value) {
  Bytes out;
  out.text(value);
  return out.out;
}

inline std::string usual_constants(int64_t previous = 0) {
  const std::string thread = text_bytes("os") + varints(77) + text_bytes("main") + varints(1);
  const std::string stack = std::string(1, '\0') + varints(2, 5, 12, 6, 5, 13, 6);
  // The class is loaded by a loader whose type is the class.
  return checkpoint(previous, {{12, {constant(3, text_bytes("a/B")), constant(4, text_bytes("run"))}},
                               {10, {constant(1, varints(2, 3))}},
                               {11, {constant(2, varints(1, 4))}},
                               {16, {constant(5, varints(1, 4))}},
                               {17, {constant(6, text_bytes("Inlined"))}},
                               {13, {constant(7, thread)}},
                               {14, {constant(8, stack)}}});
}

inline std::string usual_event(uint64_t ns) {
  return event(50, varints(ns, 7, 8, 1, 2, 21, 22) + varints(2, 1, 2, 3, 4) + text_bytes("hello"));
}

inline TestChunk usual_chunk(int events = 10) {
  TestChunk chunk;
  chunk.metadata = metadata(usual_types());
  chunk.checkpoint = usual_constants();
  for (int i = 0; i < events; ++i) chunk.events += usual_event(500 + static_cast<uint64_t>(i));
  return chunk;
}

}  // namespace headway::jfr
