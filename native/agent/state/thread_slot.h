// The calling thread's own: where it writes its records, and what it keeps of the locks that it meets.
#pragma once

#include "agent/core/chunk_file.h"
#include "agent/locks/lock_thread.h"

namespace headway::agent {

// Thread-local; the first call on a thread asks the kernel for its id.
LockThread& this_lock_thread() noexcept;
ThreadSlot& this_thread() noexcept;  // its slot in the spool file, with its OS id

}  // namespace headway::agent
