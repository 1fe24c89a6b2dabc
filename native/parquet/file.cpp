#include "parquet/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "parquet/thrift.h"

namespace headway::parquet {
namespace {

constexpr size_t kGroupRows = 1 << 18;  // as store/writer.py has
constexpr std::string_view kMagic = "PAR1";
enum PageType : int64_t { kDataPage = 0, kDictionaryPage = 2 };
enum Codec : int64_t { kUncompressed = 0, kZstd = 6 };
enum Repetition : int64_t { kRequired = 0, kOptional = 1 };
constexpr int64_t kUtf8 = 0;  // what bytes are, of the old list of types, which every reader knows

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

int64_t number(Encoding encoding) { return static_cast<int64_t>(encoding); }

std::string fixed(Type type, int64_t value) {
  Bytes bytes;
  put_little_endian(static_cast<uint64_t>(value), type == Type::int32 ? 4 : 8, &bytes);
  return {bytes.begin(), bytes.end()};
}

std::FILE* stream_on(int fd) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return nullptr;
  std::FILE* file = fdopen(own, "wb");
  if (file == nullptr) close(own);
  return file;
}

}  // namespace

File::File(int fd, std::vector<ColumnSpec> columns, Compress compress, Checksum checksum)
    : file_(stream_on(fd)),
      columns_(std::move(columns)),
      compress_(std::move(compress)),
      checksum_(std::move(checksum)) {
  if (file_ == nullptr) fail();
  write_bytes({kMagic.begin(), kMagic.end()});
}

void File::write_bytes(const Bytes& bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail();
  at_ += bytes.size();
}

void File::write(size_t rows, const std::vector<Values>& values) {
  if (file_ == nullptr || is_broken_) throw std::invalid_argument("the file is closed, or an earlier write failed");
  if (values.size() != columns_.size()) throw std::invalid_argument("not one list of values for each column");
  is_broken_ = true;  // until all of it is written
  for (size_t begin = 0; begin < rows; begin += kGroupRows) {
    const size_t count = std::min(kGroupRows, rows - begin);
    Group& group = groups_.emplace_back();
    group.rows = count;
    for (size_t i = 0; i < columns_.size(); ++i) {
      group.chunks.push_back(write_chunk(columns_[i], count, pages_of(columns_[i], values[i], begin, count)));
    }
  }
  is_broken_ = false;
}

File::Chunk File::write_chunk(const ColumnSpec& column, size_t rows, Pages pages) {
  Chunk chunk;
  chunk.encoding = pages.encoding;
  chunk.nulls = pages.nulls;
  chunk.least_and_most = pages.least_and_most;
  chunk.has_dictionary = pages.dictionary_values > 0;
  chunk.is_compressed = column.is_compressed && pages.data.size() > rows;  // below a byte a value little is to be had
  chunk.dictionary_at = at_;
  if (chunk.has_dictionary) write_page(pages.dictionary_values, pages, true, &chunk);
  chunk.data_at = at_;
  write_page(rows, pages, false, &chunk);
  return chunk;
}

void File::write_page(size_t values, const Pages& pages, bool is_dictionary, Chunk* chunk) {
  const Bytes& plain = is_dictionary ? pages.dictionary : pages.data;
  Bytes packed;
  if (chunk->is_compressed) packed = compress_(plain);
  const Bytes& body = chunk->is_compressed ? packed : plain;
  Bytes head;
  Thrift thrift(&head);
  const auto encoding = [&] {
    thrift.int32(1, static_cast<int64_t>(values));
    thrift.int32(2, number(is_dictionary ? Encoding::plain : pages.encoding));
  };
  thrift.element_of([&] {
    thrift.int32(1, is_dictionary ? kDictionaryPage : kDataPage);
    thrift.int32(2, static_cast<int64_t>(plain.size()));
    thrift.int32(3, static_cast<int64_t>(body.size()));
    thrift.int32(4, static_cast<int32_t>(checksum_(body)));
    if (is_dictionary) {
      thrift.structure(7, encoding);
    } else {
      thrift.structure(5, [&] {
        encoding();
        thrift.int32(3, number(Encoding::rle));  // of what says which rows have a value
        thrift.int32(4, number(Encoding::rle));
      });
    }
  });
  chunk->bytes += head.size() + body.size();
  chunk->plain_bytes += head.size() + plain.size();
  write_bytes(head);
  write_bytes(body);
}

void File::put_chunk(const ColumnSpec& column, const Chunk& chunk, size_t rows, Thrift* out) {
  out->int32(1, static_cast<int64_t>(column.type));
  out->list(2, Thrift::kInt32, chunk.has_dictionary ? 3 : 2);
  out->element(number(Encoding::rle));
  out->element(number(chunk.encoding));
  if (chunk.has_dictionary) out->element(number(Encoding::plain));
  out->list(3, Thrift::kBinary, 1);
  out->element(std::string_view(column.name));
  out->int32(4, chunk.is_compressed ? kZstd : kUncompressed);
  out->int64(5, static_cast<int64_t>(rows));
  out->int64(6, static_cast<int64_t>(chunk.plain_bytes));
  out->int64(7, static_cast<int64_t>(chunk.bytes));
  out->int64(9, static_cast<int64_t>(chunk.data_at));
  if (chunk.has_dictionary) out->int64(11, static_cast<int64_t>(chunk.dictionary_at));
  out->structure(12, [&] {
    out->int64(3, static_cast<int64_t>(chunk.nulls));
    if (!chunk.least_and_most) return;
    out->binary(5, fixed(column.type, chunk.least_and_most->second));
    out->binary(6, fixed(column.type, chunk.least_and_most->first));
  });
}

void File::put_group(const Group& group, Thrift* out) const {
  uint64_t bytes = 0;
  out->list(1, Thrift::kStruct, columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    bytes += group.chunks[i].plain_bytes;
    out->element_of([&] {
      out->int64(2, 0);  // of the old form, with heads of columns apart
      out->structure(3, [&] { put_chunk(columns_[i], group.chunks[i], group.rows, out); });
    });
  }
  out->int64(2, static_cast<int64_t>(bytes));
  out->int64(3, static_cast<int64_t>(group.rows));
}

void File::put_schema(Thrift* out) const {
  out->list(2, Thrift::kStruct, columns_.size() + 1);
  out->element_of([&] {
    out->binary(4, "schema");
    out->int32(5, static_cast<int64_t>(columns_.size()));
  });
  for (const ColumnSpec& column : columns_) {
    out->element_of([&] {
      out->int32(1, static_cast<int64_t>(column.type));
      out->int32(3, column.is_nullable ? kOptional : kRequired);
      out->binary(4, column.name);
      if (column.type == Type::text) out->int32(6, kUtf8);
    });
  }
}

Bytes File::foot() const {
  Bytes bytes;
  Thrift out(&bytes);
  size_t rows = 0;
  for (const Group& group : groups_) rows += group.rows;
  out.element_of([&] {
    out.int32(1, 2);
    put_schema(&out);
    out.int64(3, static_cast<int64_t>(rows));
    out.list(4, Thrift::kStruct, groups_.size());
    for (const Group& group : groups_) out.element_of([&] { put_group(group, &out); });
    out.binary(6, "headway");
    out.list(7, Thrift::kStruct, columns_.size());  // least and most are by the order of the types
    for (size_t i = 0; i < columns_.size(); ++i) out.element_of([&] { out.structure(1, [] {}); });
  });
  return bytes;
}

void File::close() {
  if (file_ == nullptr) return;
  if (is_broken_) throw std::invalid_argument("an earlier write failed");
  Bytes end = foot();
  const size_t length = end.size();
  put_little_endian(length, 4, &end);
  end.insert(end.end(), kMagic.begin(), kMagic.end());
  write_bytes(end);
  if (std::fclose(file_.release()) != 0) fail();
}

}  // namespace headway::parquet
