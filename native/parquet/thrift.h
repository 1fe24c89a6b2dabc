// Thrift's compact protocol, as much of it as the heads and the foot of a Parquet file need.
#pragma once

#include <string_view>

#include "parquet/encoding.h"

namespace headway::parquet {

// Writes structures and lists into a buffer.
class Thrift {
 public:
  enum Type : uint8_t { kInt32 = 5, kInt64 = 6, kBinary = 8, kList = 9, kStruct = 12 };
  explicit Thrift(Bytes* out) : out_(out) {}

  void int32(int id, int64_t value) { integer(id, kInt32, value); }
  void int64(int id, int64_t value) { integer(id, kInt64, value); }
  void binary(int id, std::string_view bytes) {
    field(id, kBinary);
    element(bytes);
  }
  // So many elements follow: numbers and texts by `element`, structs by what `fields` of each writes.
  void list(int id, Type type, size_t count) {
    field(id, kList);
    if (count < 15) {
      out_->push_back(static_cast<uint8_t>((count << 4) | type));
    } else {
      out_->push_back(static_cast<uint8_t>(0xf0 | type));
      put_varint(count, out_);
    }
  }
  void element(int64_t value) { put_varint(zigzag(value), out_); }
  void element(std::string_view bytes) {
    put_varint(bytes.size(), out_);
    out_->insert(out_->end(), bytes.begin(), bytes.end());
  }
  template <typename Write>
  void structure(int id, Write fields) {
    field(id, kStruct);
    element_of(fields);
  }
  // A struct that has no field of its own to say where it is: an element of a list, or the whole.
  template <typename Write>
  void element_of(Write fields) {
    const int outside = last_;
    last_ = 0;
    fields();
    out_->push_back(0);
    last_ = outside;
  }

 private:
  void integer(int id, Type type, int64_t value) {
    field(id, type);
    element(value);
  }
  void field(int id, Type type) {  // ids are at most 15 after each other in what is written here
    out_->push_back(static_cast<uint8_t>(((id - last_) << 4) | type));
    last_ = id;
  }
  Bytes* out_;
  int last_ = 0;
};

}  // namespace headway::parquet
