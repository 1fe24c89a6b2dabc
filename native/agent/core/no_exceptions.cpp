// The agent is loaded into JVMs that run on older systems and in containers with older C libraries than the one it was
// built on. Linked statically, libstdc++'s and libgcc's exception run-time would ask for symbols of the newest glibc.
// So the agent is built without exceptions, and what the standard library would throw ends here instead of in that
// run-time.
//
// None of these is reached but by an allocation of a few bytes that fails: at which point the JVM itself gives up too.
#include <stdlib.h>

#include <cstddef>
#include <new>

void* operator new(size_t bytes) {
  void* memory = malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) abort();
  return memory;
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<size_t>(alignment), bytes) != 0) abort();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
// For who does without where there is none: std::stable_sort, and us.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return malloc(bytes == 0 ? 1 : bytes); }
void* operator new[](size_t bytes, const std::nothrow_t& none) noexcept { return operator new(bytes, none); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }

namespace std {
const nothrow_t nothrow{};
void __throw_length_error(const char*) { abort(); }
void __throw_logic_error(const char*) { abort(); }
void __throw_out_of_range_fmt(const char*, ...) { abort(); }
void __throw_system_error(int) { abort(); }
void __throw_bad_function_call() { abort(); }
void __throw_bad_alloc() { abort(); }
void __throw_bad_array_new_length() { abort(); }
}  // namespace std
