// Debian builds libbpf.a and libelf.a for programs, not for shared objects such as a Python module. Two places matter;
// both are replaced here, so that the archives link anywhere.
#include <cstdio>

// libelf's error number is thread-local in an access model that only programs can use ("relocation R_X86_64_TPOFF32
// against `global_error'"). With these three functions defined here, the linker never takes libelf's own elf_error.o.
namespace {
thread_local int last_error = 0;
}

extern "C" {

void __libelf_seterrno(int value) { last_error = value; }  // NOLINT(bugprone-reserved-identifier): libelf's own name

int elf_errno() {
  const int value = last_error;
  last_error = 0;
  return value;
}

// libbpf asks only when it cannot read the object that is embedded here, which does not happen to a build that works.
const char* elf_errmsg(int) { return last_error == 0 ? nullptr : "libelf error"; }

// libbpf reads the address of stderr as programs do ("relocation R_X86_64_PC32 against symbol `stderr'");
// CMakeLists.txt renames that symbol in its copy of libbpf.a to this one.
extern FILE* headway_libbpf_stderr;
FILE* headway_libbpf_stderr = stderr;

}  // extern "C"
