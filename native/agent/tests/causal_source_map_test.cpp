// Source maps as kotlinc 2.0.21 writes them, and what is none.
#include "agent/classfile/source_map.h"

#include <iostream>
#include <string>

#include "testing/check.h"

using namespace headway::agent;

namespace {

// Of a class of 44 lines that calls inline functions of its own, of another file and of Kotlin's library.
constexpr char kBatch[] =
    "SMAP\nWork.kt\nKotlin\n*S Kotlin\n*F\n+ 1 Work.kt\ndemo/Batch\n+ 2 Tools.kt\ndemo/ToolsKt\n+ 3 _Collections.kt\n"
    "kotlin/collections/CollectionsKt___CollectionsKt\n*L\n1#1,44:1\n9#1,3:50\n6#2,5:45\n1863#3,2:53\n*S "
    "KotlinDebug\n*F\n"
    "+ 1 Work.kt\ndemo/Batch\n*L\n13#1:50,3\n4#1:45,5\n17#1:53,2\n*E\n";

void check_origin(const SourceMap& map, int32_t number, std::string_view class_name, std::string_view file,
                  int32_t line) {
  const auto origin = map.origin(number);
  CHECK(origin.has_value());
  CHECK(origin->class_name == class_name && origin->file == file);
  CHECK_EQUAL(origin->line, line);
}

void inlined_code_is_where_it_was_written_and_was_called_where_the_debug_stratum_says() {
  const SourceMap map(kBatch);
  CHECK(!map.empty());
  check_origin(map, 1, "demo/Batch", "Work.kt", 1);
  check_origin(map, 44, "demo/Batch", "Work.kt", 44);
  check_origin(map, 45, "demo/ToolsKt", "Tools.kt", 6);
  check_origin(map, 47, "demo/ToolsKt", "Tools.kt", 8);
  check_origin(map, 49, "demo/ToolsKt", "Tools.kt", 10);
  check_origin(map, 50, "demo/Batch", "Work.kt", 9);
  check_origin(map, 54, "kotlin/collections/CollectionsKt___CollectionsKt", "_Collections.kt", 1864);
  CHECK(!map.origin(55).has_value() && !map.origin(0).has_value());
  CHECK_EQUAL(map.call_site(45), 4);
  CHECK_EQUAL(map.call_site(49), 4);
  CHECK_EQUAL(map.call_site(52), 13);
  CHECK_EQUAL(map.call_site(53), 17);
  CHECK_EQUAL(map.call_site(44), 0);
}

void the_file_of_a_range_may_be_that_of_the_one_before() {
  const SourceMap map("SMAP\nA.kt\nKotlin\n*S Kotlin\n*F\n+ 1 A.kt\nA\n+ 2 B.kt\nB\n*L\n1#2:10\n5:20\n7,2:30,3\n*E\n");
  check_origin(map, 10, "B", "B.kt", 1);
  check_origin(map, 20, "B", "B.kt", 5);
  check_origin(map, 32, "B", "B.kt", 7);
  check_origin(map, 35, "B", "B.kt", 8);
  CHECK(!map.origin(36).has_value());
}

void maps_of_other_languages_and_broken_ones_say_nothing() {
  CHECK(SourceMap("").empty());
  CHECK(SourceMap("SMAP\nx.jsp\nJSP\n*S JSP\n*F\n+ 0 x.jsp\nx.jsp\n*L\n1#0,5:10\n*E\n").empty());
  const SourceMap broken(
      "SMAP\nA.kt\nKotlin\n*S Kotlin\n*F\n+ 1 A.kt\nA\n*L\n1#1,0:1\n1#1:5,0\n-1:2\n99999999999:3\n1:x\n2#7:9\n*E\n");
  for (int32_t number = 0; number < 20; ++number) CHECK(!broken.origin(number).has_value());
}

// Each in memory of its own, so that AddressSanitizer sees a byte too far.
void a_map_that_is_cut_anywhere_is_read_within_its_bounds() {
  const std::string whole(kBatch);
  for (size_t length = 0; length <= whole.size(); ++length) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const SourceMap map(std::string_view(cut.data(), cut.size()));
    for (int32_t number = 0; number < 60; ++number) {
      map.origin(number);
      map.call_site(number);
    }
  }
}

}  // namespace

int main() {
  inlined_code_is_where_it_was_written_and_was_called_where_the_debug_stratum_says();
  the_file_of_a_range_may_be_that_of_the_one_before();
  maps_of_other_languages_and_broken_ones_say_nothing();
  a_map_that_is_cut_anywhere_is_read_within_its_bounds();
  std::cout << "ok\n";
  return 0;
}
