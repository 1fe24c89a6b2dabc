// Which instructions of the JDK's classes are redirected to which method of the hook class, and where a call of it is
// added (docs/decisions/0005-locks.md); which methods of which classes: jdk_hooks.cpp.
#pragma once

#include "agent/classfile/class_insert.h"
#include "agent/classfile/class_patch.h"

namespace headway::agent {

inline constexpr char kUnsafe[] = "jdk/internal/misc/Unsafe";
inline constexpr char kVirtualThreads[] = "jdk/internal/misc/VirtualThreads";
inline constexpr char kAccess[] = "jdk/internal/access/JavaLangAccess";
inline constexpr char kSynchroniser[] = "java/util/concurrent/locks/AbstractOwnableSynchronizer";
inline constexpr char kParkDescriptor[] = "(Ljdk/internal/misc/Unsafe;ZJ)V";

inline constexpr CallSite kLockSupportSites[] = {
    {Opcode::kInvokeVirtual, kUnsafe, "park", "(ZJ)V", "", "park", kParkDescriptor},
    {Opcode::kInvokeVirtual, kUnsafe, "unpark", "(Ljava/lang/Object;)V", "", "unpark",
     "(Ljdk/internal/misc/Unsafe;Ljava/lang/Object;)V"},
    // JDK 19 to 23
    {Opcode::kInvokeStatic, kVirtualThreads, "park", "()V", "", "parkVirtual", "()V"},
    {Opcode::kInvokeStatic, kVirtualThreads, "park", "(J)V", "", "parkVirtual", "(J)V"},
    {Opcode::kInvokeStatic, kVirtualThreads, "parkUntil", "(J)V", "", "parkVirtualUntil", "(J)V"},
    {Opcode::kInvokeStatic, kVirtualThreads, "unpark", "(Ljava/lang/Thread;)V", "", "unparkVirtual",
     "(Ljava/lang/Thread;)V"},
    // JDK 24 and later
    {Opcode::kInvokeInterface, kAccess, "parkVirtualThread", "()V", "", "parkVirtual",
     "(Ljdk/internal/access/JavaLangAccess;)V"},
    {Opcode::kInvokeInterface, kAccess, "parkVirtualThread", "(J)V", "", "parkVirtual",
     "(Ljdk/internal/access/JavaLangAccess;J)V"},
    {Opcode::kInvokeInterface, kAccess, "unparkVirtualThread", "(Ljava/lang/Thread;)V", "", "unparkVirtual",
     "(Ljdk/internal/access/JavaLangAccess;Ljava/lang/Thread;)V"},
};
// Whatever ends a call, the field is set: where a lock's owner were not, though its state was, nobody could release it
// any more. The handler alone does not do: compilers since JDK 22 leave one out that was never used, and to get it back
// takes stack; where there is none the method ends as well, and the lock's. So a lock is acquired when the call comes,
// or not yet released. And the method may not end the stack when it is called, which it can since it calls: compilers
// put it into its callers, as they do without us.
inline constexpr Insert kOwnerCalls[] = {
    {InsertAt::kEntry, Call::kOwner, 0, "setExclusiveOwnerThread", "(Ljava/lang/Thread;)V", 0, true, true},
    {InsertAt::kExit, Call::kOwnerSet, 0, "setExclusiveOwnerThread", "(Ljava/lang/Thread;)V", 0, true, true},
};
inline constexpr CallSite kPinnedSites[] = {
    {Opcode::kInvokeVirtual, kUnsafe, "park", "(ZJ)V", "parkOnCarrierThread", "parkPinned", kParkDescriptor},
    {Opcode::kInvokeVirtual, "java/lang/VirtualThread", "parkNanos", "(J)V", "sleepNanos", "sleepVirtual",
     "(Ljava/lang/Thread;J)V"},
};

}  // namespace headway::agent
