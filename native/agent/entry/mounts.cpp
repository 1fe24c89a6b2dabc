// JVMTI has these events as extensions: they are found by name, and turned on like others once they have a callback.
#include "agent/entry/mounts.h"

#include <jvmti.h>

#include <atomic>
#include <string_view>

#include "agent/jvm/thread_ids.h"
#include "agent/state/records.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr std::string_view kMount = "com.sun.hotspot.events.VirtualThreadMount";
constexpr std::string_view kUnmount = "com.sun.hotspot.events.VirtualThreadUnmount";

std::atomic<bool (*)() noexcept> is_wanted{nullptr};  // set before the events are turned on

// The JVM calls with the arguments that its extension says it has; all of them are pointers.
void JNICALL on_mount(jvmtiEnv*, JNIEnv* jni, jthread thread) {
  if (is_wanted.load(std::memory_order_relaxed)()) write_mount(java_thread_id(jni, thread), HW_VTHREAD_MOUNT);
}

void JNICALL on_unmount(jvmtiEnv*, JNIEnv* jni, jthread thread) {
  if (is_wanted.load(std::memory_order_relaxed)()) write_mount(java_thread_id(jni, thread), HW_VTHREAD_UNMOUNT);
}

void free_info(jvmtiExtensionEventInfo& info) {
  jvmtiEnv* jvmti = agent().jvmti;
  for (jint i = 0; i < info.param_count; ++i) jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.params[i].name));
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.params));
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.id));
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.short_description));
}

}  // namespace

void set_mount_events(bool on, bool (*is_still_wanted)() noexcept) noexcept {
  if (on) is_wanted.store(is_still_wanted);
  jvmtiEnv* jvmti = agent().jvmti;
  jint count = 0;
  jvmtiExtensionEventInfo* found = nullptr;
  if (jvmti->GetExtensionEvents(&count, &found) != JVMTI_ERROR_NONE) return;
  for (jint i = 0; i < count; ++i) {
    const std::string_view id = found[i].id;
    const auto set = [&](auto* function) {
      const jint index = found[i].extension_event_index;
      const auto event = static_cast<jvmtiEvent>(index);
      if (!on) jvmti->SetEventNotificationMode(JVMTI_DISABLE, event, nullptr);
      jvmti->SetExtensionEventCallback(index, on ? reinterpret_cast<jvmtiExtensionEvent>(function) : nullptr);
      if (on) jvmti->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr);
    };
    if (id == kMount) set(on_mount);
    if (id == kUnmount) set(on_unmount);
    free_info(found[i]);
  }
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(found));
}

}  // namespace headway::agent
