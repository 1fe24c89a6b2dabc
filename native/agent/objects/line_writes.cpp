#include "agent/objects/line_writes.h"

#include <jvmti.h>

#include <atomic>
#include <string_view>

#include "agent/core/text.h"
#include "agent/hotspot/hotspot.h"
#include "agent/jvm/boot_classes.h"
#include "agent/jvm/handles.h"
#include "agent/objects/cache_lines.h"
#include "agent/objects/class_ids.h"
#include "agent/objects/place_table.h"
#include "agent/state/records.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

// Of an address: ZGC of JDK 17 has colours in the bits above.
constexpr uint64_t kAddressMask = (uint64_t{1} << 42) - 1;
constexpr size_t kNameBytes = 1024;

// Never destroyed: code of the program may write until the process ends.
struct LineWrites {
  CacheLines lines;
  PlaceTable places;
  std::atomic<bool> is_on{false};
  bool works = false;
  std::atomic<uint32_t> unplaced{0}, unknown_places{0};
};

LineWrites& line_writes() noexcept {
  static LineWrites* const instance = new LineWrites;
  return *instance;
}

constinit thread_local CacheLines::Thread* own = nullptr;
constinit thread_local uint64_t left_out = 0;  // the Java id of a thread that has found no room

struct Output {
  void operator()(const hw_line_writes& record) const { write_line_writes(record); }
  void operator()(const hw_line_share& record) const { write_line_share(record); }
};

struct Position {
  uint64_t address;
  uint32_t epoch;
};

// Where the object is, and after how many collections. None: one goes on, as they do while threads are in native code,
// and where it is now is no place of before nor one of after it.
std::optional<Position> position_of(jobject object) {
  const uint32_t epoch = agent().collections.load(std::memory_order_acquire);
  const uint64_t address = address_in(object) & kAddressMask;
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool is_moving = agent().is_collecting.load(std::memory_order_acquire);
  if (is_moving || agent().collections.load(std::memory_order_relaxed) != epoch) return std::nullopt;
  return Position{address, epoch};
}

// The calling thread's sums; null: there is no room for them, and is none for as long as it lives.
CacheLines::Thread* sums_of(uint64_t java_id) {
  if (own != nullptr && own->java_id == java_id) return own;
  if (left_out == java_id) return nullptr;
  CacheLines& lines = line_writes().lines;
  if (own != nullptr) lines.end_thread(own, Output{});
  own = lines.begin_thread(java_id);
  left_out = own == nullptr ? java_id : 0;
  return own;
}

// --- places ----------------------------------------------------------------------------------------------------------

std::string signature_of(jclass type) {
  char* signature = nullptr;
  if (agent().jvmti->GetClassSignature(type, &signature, nullptr) != JVMTI_ERROR_NONE || signature == nullptr)
    return {};
  std::string found(signature);
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  return found;
}

std::string shown(std::string_view signature) {
  char name[kNameBytes];
  return {name, type_name(signature, name, sizeof(name))};
}

std::string utf8(std::string_view modified) {
  char text[kNameBytes];
  return {text, to_utf8(modified, text, sizeof(text))};
}

enum class Declared : uint8_t { kNo, kYes, kAmbiguous };

// Whether a class itself declares the field. Two fields of one name, which only other languages than Java can make, are
// ambiguous.
Declared declares(jclass type, const PlaceTable::Place& field) {
  jvmtiEnv* const jvmti = agent().jvmti;
  jint count = 0;
  jfieldID* fields = nullptr;
  if (jvmti->GetClassFields(type, &count, &fields) != JVMTI_ERROR_NONE) return Declared::kAmbiguous;
  int of_name = 0, of_both = 0;
  for (jint i = 0; i < count; ++i) {
    char *name = nullptr, *signature = nullptr;
    if (jvmti->GetFieldName(type, fields[i], &name, &signature, nullptr) != JVMTI_ERROR_NONE) continue;
    of_name += field.name == name ? 1 : 0;
    of_both += field.name == name && field.descriptor == signature ? 1 : 0;
    jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
    jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  }
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(fields));
  if (of_both == 0) return Declared::kNo;
  return of_name == 1 ? Declared::kYes : Declared::kAmbiguous;
}

// The class that declares the field, from the object's own on; null: unknown. Initialises none, as other ways would.
jclass declaring_class(JNIEnv* jni, jobject object, const PlaceTable::Place& field) {
  const std::string owner = 'L' + field.owner + ';';
  bool is_below = false;  // the class that the instruction names, or one above it
  for (jclass type = jni->GetObjectClass(object); type != nullptr;) {
    is_below = is_below || signature_of(type) == owner;
    const Declared found = is_below ? declares(type, field) : Declared::kNo;
    if (found == Declared::kYes) return type;
    if (found == Declared::kAmbiguous) return nullptr;
    jclass above = jni->GetSuperclass(type);
    jni->DeleteLocalRef(type);
    type = above;
  }
  return nullptr;
}

// Of elements: "long[] in com.acme.Work.run".
std::string name_of(jclass declaring, const PlaceTable::Place& place) {
  const std::string type = signature_of(declaring);
  if (!place.is_element) return shown(type) + '.' + utf8(place.name);
  const std::string array = place.descriptor == "[L" ? "Object[]" : shown(type);
  return array + " in " + shown('L' + place.owner + ';') + '.' + utf8(place.name);
}

// --- natives ---------------------------------------------------------------------------------------------------------

jlong JNICALL native_places(JNIEnv*, jclass) { return static_cast<jlong>(line_writes().places.address()); }

// Below 0: this JDK has it in another way.
jlong JNICALL native_array_base(JNIEnv* jni, jclass, jclass type) {
  const TheUnsafe unsafe = the_unsafe(jni);
  if (unsafe.object == nullptr) return -1;
  if (jmethodID wide = jni->GetMethodID(unsafe.type, "arrayBaseOffset", "(Ljava/lang/Class;)J"); no_exception(jni)) {
    return jni->CallLongMethod(unsafe.object, wide, type);
  }
  jmethodID narrow = jni->GetMethodID(unsafe.type, "arrayBaseOffset", "(Ljava/lang/Class;)I");
  return no_exception(jni) ? jni->CallIntMethod(unsafe.object, narrow, type) : -1;
}

// Whether a word of an array is where its handle leads to.
jboolean JNICALL native_is_at(JNIEnv*, jclass, jobject array, jlong offset, jlong expected) {
  jlong found = 0;
  const auto at = static_cast<int64_t>(address_in(array)) + offset;
  return safe_read(reinterpret_cast<const void*>(at), &found, sizeof found) && found == expected ? JNI_TRUE : JNI_FALSE;
}

void JNICALL native_lines_work(JNIEnv*, jclass, jboolean work) {
  line_writes().works = work == JNI_TRUE;
  line_writes().is_on = work == JNI_TRUE;
}

// The class that says where the place is in an object: of a field the one that declares it, of elements the array's own.
jclass JNICALL native_declaring(JNIEnv* jni, jclass, jobject object, jint number) {
  const auto place = line_writes().places.find(number);
  jclass const found = !place              ? nullptr
                       : place->is_element ? jni->GetObjectClass(object)
                                           : declaring_class(jni, object, *place);
  if (found != nullptr) return found;
  line_writes().places.set(number, -1);
  ++line_writes().unknown_places;
  return nullptr;
}

jstring JNICALL native_field_name(JNIEnv* jni, jclass, jint number) {
  const auto place = line_writes().places.find(number);
  return place && !place->is_element ? jni->NewStringUTF(place->name.c_str()) : nullptr;
}

void JNICALL native_place_is(JNIEnv*, jclass, jclass declaring, jint number, jlong word) {
  const auto place = line_writes().places.find(number);
  if (!place) return;
  const std::string name = name_of(declaring, *place);
  hw_line_place record{};
  record.place = static_cast<hw_u32>(number + PlaceTable::kMiddle);
  record.name_id = id_of_text(name);
  record.offset = place->is_element ? 0 : static_cast<hw_u32>(word);
  write_line_place(record);
  line_writes().places.set(number, word);
}

void JNICALL native_wrote(JNIEnv*, jclass, jobject object, jlong offset, jint number, jlong java_id) {
  LineWrites& self = line_writes();
  if (!self.is_on.load(std::memory_order_relaxed)) return;
  CacheLines::Thread* const sums = sums_of(static_cast<uint64_t>(java_id));
  if (sums == nullptr) return;
  const auto place = static_cast<uint32_t>(number + PlaceTable::kMiddle);
  const std::optional<Position> object_at = position_of(object);
  if (!object_at) return CacheLines::count(*sums, place);
  const uint64_t address = object_at->address + static_cast<uint64_t>(offset);
  self.lines.note(*sums, {address, object_at->address, place, object_at->epoch});
}

}  // namespace

const char* prepare_lines() noexcept {
  LineWrites& self = line_writes();
  return self.lines.start() && self.places.start() ? nullptr : "no memory for who wrote to cache lines";
}

bool lines_work() noexcept { return line_writes().works; }

std::vector<JNINativeMethod> line_natives() {
  return {
      native_method("places", "()J", reinterpret_cast<void*>(native_places)),
      native_method("arrayBase", "(Ljava/lang/Class;)J", reinterpret_cast<void*>(native_array_base)),
      native_method("isAt", "(Ljava/lang/Object;JJ)Z", reinterpret_cast<void*>(native_is_at)),
      native_method("linesWork", "(Z)V", reinterpret_cast<void*>(native_lines_work)),
      native_method("declaring", "(Ljava/lang/Object;I)Ljava/lang/Class;", reinterpret_cast<void*>(native_declaring)),
      native_method("fieldName", "(I)Ljava/lang/String;", reinterpret_cast<void*>(native_field_name)),
      native_method("placeIs", "(Ljava/lang/Class;IJ)V", reinterpret_cast<void*>(native_place_is)),
      native_method("wrote", "(Ljava/lang/Object;JIJ)V", reinterpret_cast<void*>(native_wrote)),
  };
}

std::optional<int32_t> number_places(uint32_t class_id, std::span<const WritePlace> places, bool is_again) noexcept {
  LineWrites& self = line_writes();
  const auto first = self.places.add(class_id, places, is_again);
  if (first) self.lines.use_places(self.places.last());
  return first;
}

void add_unplaced_writes(uint32_t count) noexcept { line_writes().unplaced += count; }

void end_lines_of_thread() noexcept {
  if (own == nullptr) return;
  line_writes().lines.end_thread(own, Output{});
  own = nullptr;
}

int64_t write_lines() noexcept {
  if (!line_writes().works) return 0;
  return int64_t{line_writes().lines.write_changed(Output{})} * int64_t{sizeof(hw_line_share)};
}

void silence_lines() noexcept { line_writes().is_on = false; }

std::string line_coverage() {
  const LineWrites& self = line_writes();
  std::string text;
  const auto add = [&text](std::string_view name, uint64_t value) {
    text += ',' + std::string(name) + '=' + std::to_string(value);
  };
  add("line_writes_left_out", self.unplaced);
  add("line_places_unknown", self.unknown_places);
  add("line_threads_left_out", self.lines.threads_left_out());
  add("line_shares_left_out", self.lines.shares_left_out());
  add("lines_pushed_out", self.lines.pushed_out());
  return text;
}

}  // namespace headway::agent
