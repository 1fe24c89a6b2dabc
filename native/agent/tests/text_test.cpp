// Text as the JVM gives it (modified UTF-8) made into UTF-8, malformed bytes included.
#include "agent/core/text.h"

#include <string>

#include "testing/check.h"

using headway::agent::to_utf8;
using headway::agent::type_name;

namespace {

std::string convert(std::string_view text, size_t capacity = 100) {
  std::string out(capacity, '?');
  out.resize(to_utf8(text, out.data(), capacity));
  return out;
}

void plain_text_is_left_as_it_is() { CHECK_EQUAL(convert("worker-1 <b>"), "worker-1 <b>"); }

void two_and_three_byte_characters_are_the_same_in_both() { CHECK_EQUAL(convert("ö線"), "ö線"); }

void a_surrogate_pair_becomes_one_character_of_four_bytes() {
  CHECK_EQUAL(convert("\xED\xA0\xBD\xED\xBA\x80"), "\xF0\x9F\x9A\x80");  // U+1F680
}

void a_lone_surrogate_becomes_the_replacement_character() {
  CHECK_EQUAL(convert("a\xED\xA0\xBD"), "a\xEF\xBF\xBD");
  CHECK_EQUAL(convert("\xED\xBA\x80z"), "\xEF\xBF\xBDz");
  CHECK_EQUAL(convert("\xED\xA0\xBDx"), "\xEF\xBF\xBDx");
}

void an_encoded_nul_becomes_a_nul() { CHECK_EQUAL(convert(std::string_view("a\xC0\x80z")), std::string("a\0z", 3)); }

void malformed_bytes_never_read_past_the_end() {
  CHECK_EQUAL(convert("\xE7"), "\xEF\xBF\xBD");
  CHECK_EQUAL(convert("\xC3"), "\xEF\xBF\xBD");
  CHECK_EQUAL(convert("\xFF\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

void a_text_too_long_is_cut_between_characters() {
  CHECK_EQUAL(convert("aöö", 4), "aö");
  CHECK_EQUAL(convert("abc", 0), "");
}

std::string type(std::string_view signature, size_t capacity = 100) {
  std::string out(capacity, '?');
  out.resize(type_name(signature, out.data(), capacity));
  return out;
}

void types_are_called_as_people_write_them() {
  CHECK_EQUAL(type("Ljava/lang/String;"), "java.lang.String");
  CHECK_EQUAL(type("[[Ljava/lang/String;"), "java.lang.String[][]");
  const std::string_view letters = "ZBCSIJFD";
  const std::string_view words[] = {"boolean", "byte", "char", "short", "int", "long", "float", "double"};
  for (size_t i = 0; i < letters.size(); ++i) CHECK_EQUAL(type(letters.substr(i, 1)), std::string(words[i]));
  CHECK_EQUAL(type("[[I"), "int[][]");
  CHECK_EQUAL(type("[I"), "int[]");
  CHECK_EQUAL(type("LA;"), "A");
  CHECK_EQUAL(type(""), "");
  CHECK_EQUAL(type("[Ljava/lang/Object;", 8), "java.l[]");
  CHECK_EQUAL(type("[La/B;", 4), "a.[]");  // the brackets stay
}

void what_differs_from_run_to_run_of_a_hidden_class_is_cut_off() {
  CHECK_EQUAL(type("La/B$$Lambda$14.0x00007f01;"), "a.B$$Lambda");
  CHECK_EQUAL(type("[La/B$$Lambda.0x00007f01;"), "a.B$$Lambda[]");
  CHECK_EQUAL(type("La/Hidden.0x0000;"), "a.Hidden");
  CHECK_EQUAL(type("LMain$$Lambda$14.0x00007f01;"), "Main$$Lambda");
}

}  // namespace

int main() {
  plain_text_is_left_as_it_is();
  two_and_three_byte_characters_are_the_same_in_both();
  a_surrogate_pair_becomes_one_character_of_four_bytes();
  a_lone_surrogate_becomes_the_replacement_character();
  an_encoded_nul_becomes_a_nul();
  malformed_bytes_never_read_past_the_end();
  a_text_too_long_is_cut_between_characters();
  types_are_called_as_people_write_them();
  what_differs_from_run_to_run_of_a_hidden_class_is_cut_off();
}
