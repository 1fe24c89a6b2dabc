// Which class an instruction is about to use.
#include "agent/classfile/class_use.h"

#include <string>
#include <vector>

#include "testing/check.h"

namespace headway::agent {
namespace {

using Bytes = std::vector<uint8_t>;

void text(Bytes& to, const std::string& value) {
  to.insert(to.end(), {kUtf8, 0, static_cast<uint8_t>(value.size())});
  to.insert(to.end(), value.begin(), value.end());
}

// 1 "com/acme/Foo", 2 its class, 3 "x", 4 "I", 5 the name 3 of type 4, 6 to 8 a field, method, interface's method of 2.
Bytes constants() {
  Bytes made = {0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 61, 0, 9};
  text(made, "com/acme/Foo");
  made.insert(made.end(), {kClass, 0, 1});
  text(made, "x");
  text(made, "I");
  made.insert(made.end(), {kNameAndType, 0, 3, 0, 4});
  for (const uint8_t tag : {kFieldref, kMethodref, kInterfaceMethodref}) made.insert(made.end(), {tag, 0, 2, 0, 5});
  return made;
}

std::string used(const Bytes& code, size_t at = 0) {
  const Bytes bytes = constants();
  ClassFile file(bytes);
  CHECK(file.read_constants());
  return std::string(class_in_use(file, code, at));
}

void static_members_and_new_objects_are_of_the_class_in_use() {
  CHECK_EQUAL(used({178, 0, 6}), "com/acme/Foo");
  CHECK_EQUAL(used({179, 0, 6}), "com/acme/Foo");
  CHECK_EQUAL(used({184, 0, 7}), "com/acme/Foo");
  CHECK_EQUAL(used({184, 0, 8}), "com/acme/Foo");
  CHECK_EQUAL(used({187, 0, 2}), "com/acme/Foo");
  CHECK_EQUAL(used({0, 0, 187, 0, 2, 0}, 2), "com/acme/Foo");
}

void what_has_no_class_initialised_names_none() {
  CHECK_EQUAL(used({180, 0, 6}), "");  // getfield
  CHECK_EQUAL(used({182, 0, 7}), "");  // invokevirtual
  CHECK_EQUAL(used({194, 0, 2}), "");
}

void what_is_damaged_names_none() {
  CHECK_EQUAL(used({}), "");
  CHECK_EQUAL(used({187, 0}), "");
  CHECK_EQUAL(used({187, 0, 2}, 3), "");
  CHECK_EQUAL(used({187, 0, 2}, SIZE_MAX), "");
  CHECK_EQUAL(used({187, 0, 6}), "");  // a field is no class
  CHECK_EQUAL(used({178, 0, 2}), "");  // a class is no field
  CHECK_EQUAL(used({178, 255, 255}), "");
}

bool enters(const Bytes& code, size_t at) { return may_enter_monitor(code, at); }

void a_synchronized_block_is_entered_at_its_instruction_or_right_after_it() {
  CHECK(enters({194, 1}, 0));
  CHECK(enters({194, 1}, 1));
  CHECK(enters({0, 178, 0, 6, 194, 1}, 5));
  CHECK(!enters({0, 178, 0, 6, 194, 1}, 1));
  CHECK(!enters({0, 178, 0, 194, 1}, 4));  // an operand
  CHECK(!enters({194, 0, 1}, 2));
  CHECK(!enters({}, 0));
  CHECK(!enters({194}, 2));
}

}  // namespace
}  // namespace headway::agent

int main() {
  using namespace headway::agent;
  static_members_and_new_objects_are_of_the_class_in_use();
  what_has_no_class_initialised_names_none();
  what_is_damaged_names_none();
  a_synchronized_block_is_entered_at_its_instruction_or_right_after_it();
}
