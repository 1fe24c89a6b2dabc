// A Parquet file, written row group by row group. Made for imports: columns of a reader go to the file as they are,
// text as places in a dictionary, where a general writer turns each into its own form first. What is written anyone can
// read.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parquet/page.h"

namespace headway::parquet {

class Thrift;

// A Parquet file while it is written.
class File {
 public:
  // Returns bytes compressed with zstd.
  using Compress = std::function<Bytes(const Bytes&)>;
  // Returns the CRC-32 of bytes, as gzip has it: each page has one in its head, which readers compare.
  using Checksum = std::function<uint32_t(const Bytes&)>;
  // Writes to an empty file that is open; the descriptor stays the caller's. Each throws std::system_error when the
  // file can't be written.
  File(int fd, std::vector<ColumnSpec> columns, Compress compress, Checksum checksum);
  // Appends rows: Values for each column. Throws std::invalid_argument for values that a column can't have; the file is
  // then of no use, and whatever follows throws as well.
  void write(size_t rows, const std::vector<Values>& values);
  // Writes the foot, without which the file can't be read.
  void close();
  const std::vector<ColumnSpec>& columns() const { return columns_; }

 private:
  struct Chunk {  // of a column in a row group
    uint64_t dictionary_at = 0, data_at = 0;
    bool has_dictionary = false, is_compressed = false;
    uint64_t bytes = 0, plain_bytes = 0;
    Encoding encoding = Encoding::plain;
    size_t nulls = 0;
    std::optional<std::pair<int64_t, int64_t>> least_and_most;
  };
  struct Group {
    size_t rows = 0;
    std::vector<Chunk> chunks;
  };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Chunk write_chunk(const ColumnSpec& column, size_t rows, Pages pages);
  void write_page(size_t values, const Pages& pages, bool is_dictionary, Chunk* chunk);
  void write_bytes(const Bytes& bytes);
  static void put_chunk(const ColumnSpec& column, const Chunk& chunk, size_t rows, Thrift* out);
  void put_group(const Group& group, Thrift* out) const;
  void put_schema(Thrift* out) const;
  Bytes foot() const;

  std::unique_ptr<std::FILE, Close> file_;
  std::vector<ColumnSpec> columns_;
  Compress compress_;
  Checksum checksum_;
  std::vector<Group> groups_;
  uint64_t at_ = 0;
  bool is_broken_ = false;
};

}  // namespace headway::parquet
