#include "decode/lock_tables/lock_rows.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace headway {
namespace {

int32_t as_int(uint32_t value) { return static_cast<int32_t>(std::min<uint32_t>(value, INT32_MAX)); }

// A Java thread's id in a column where null is -1.
int64_t java_or_null(uint32_t java_id) { return java_id == 0 ? -1 : int64_t{java_id}; }

}  // namespace

void Locks::begin(std::vector<JvmThreads> jvms, std::vector<int64_t> java_of_thread, std::vector<uint8_t> own,
                  int64_t start_ns) {
  if (jvms.size() != files_.size()) throw std::invalid_argument("not one JVM per file");
  if (pass_has_begun_) throw std::logic_error("locks begin before the pass over the scheduling records");
  jvms_ = std::move(jvms);
  java_of_thread_ = std::move(java_of_thread);
  own_ = std::move(own);
  start_ns_ = start_ns;
  blockers_.number(files_, jvms_, own_);
  summed_ = false;
  size_t blocks = 0;
  stack_of_.assign(files_.size(), {});
  int32_t stacks = 0;
  for (size_t i = 0; i < files_.size(); ++i) {
    blocks += files_[i].records.blocks.size();
    for (const StackFacts& stack : files_[i].records.stacks) stack_of_[i].at(stack.id) = ++stacks;
  }
  wakers_.reset();
  if (blocks > 0) wakers_ = std::make_unique<KernelWakers>(files_, jvms_, blockers_, java_of_thread_);
  blocks_ = std::make_unique<BlockCursor>(files_);
  holds_ = std::make_unique<HoldCursor>(files_);
  more_holds_ = holds_->next();
  next_waking_hold_ = 0;
  stack_file_ = 0;
  next_stack_ = 0;
  next_stack_id_ = 0;
}

KernelWakers* Locks::begin_pass() {
  pass_has_begun_ = true;
  return wakers_.get();
}

bool Locks::is_own(int32_t thread) const {
  return thread >= 0 && static_cast<size_t>(thread) < own_.size() && own_[static_cast<size_t>(thread)] != 0;
}

int32_t Locks::stack_of(uint32_t file, uint32_t stack_id) const {
  const int32_t* found = stack_id == 0 ? nullptr : stack_of_[file].find(stack_id);
  return found == nullptr ? -1 : *found - 1;
}

size_t Locks::stacks() const {
  size_t count = 0;
  for (const LockFile& file : files_) count += file.records.stacks.size();
  return count;
}

StandingColumns Locks::standing() const {
  StandingColumns out;
  for (uint32_t file = 0; file < files_.size(); ++file) {
    const JvmThreads& jvm = jvms_[file];
    for (const hw_waiting_stack& one : files_[file].records.standing) {
      const int32_t thread = jvm.of_java(one.java_id);
      const int32_t stack = stack_of(file, one.stack_id);
      if (thread < 0 || stack < 0 || is_own(thread) || one.head.ts_ns > jvm.close_ns()) continue;
      out.pid.push_back(jvm.pid());
      out.thread_id.push_back(thread);
      out.stack_id.push_back(stack);
      out.ns.push_back(one.head.ts_ns);
      out.state.push_back(static_cast<uint8_t>(one.state));
    }
  }
  return out;
}

// --- blocks ----------------------------------------------------------------------------------------------------------

bool Locks::next_blocks(size_t rows, BlockColumns* out) {
  *out = {};
  while (out->size() < rows && blocks_->next()) {
    if (blocks_->is_valid()) add_block(blocks_->record(), blocks_->file(), blocks_->row(), out);
  }
  return out->size() > 0;
}

void Locks::add_block(const hw_block& block, uint32_t file, uint64_t row, BlockColumns* out) {
  const JvmThreads& jvm = jvms_[file];
  const int64_t together = files_[file].records.together_of(block);
  const int32_t rest = together < 0 ? -1 : blockers_.row_of(file, block.blocker_id);
  const int32_t blocker =
      together < 0 ? blockers_.row_of(file, block.blocker_id) : blockers_.row_of_together(file, together);
  const uint32_t owner = together < 0 ? block.owner_java_id : 0;
  const int32_t thread = jvm.of_block(block);
  const int64_t close_ns = std::max(jvm.close_ns(), start_ns_);
  if (blocker < 0 || is_own(thread) || block.start_ns >= close_ns || block.head.ts_ns < start_ns_) return;
  const bool is_open = (block.flags & HW_BL_OPEN) != 0 || block.head.ts_ns > close_ns;
  const int64_t end_ns = is_open ? close_ns : block.head.ts_ns;
  out->pid.push_back(jvm.pid());
  out->thread_id.push_back(thread);
  out->java_id.push_back(block.java_id);
  out->blocker_id.push_back(blocker);
  out->kind.push_back(static_cast<uint8_t>(block.kind));
  out->flags.push_back(
      static_cast<uint16_t>((block.flags & ~(HW_BL_OPEN | HW_BL_TOGETHER)) | (is_open ? HW_BL_OPEN : 0)));
  out->start_ns.push_back(block.start_ns);
  out->dur_ns.push_back(end_ns - block.start_ns);
  out->stack_id.push_back(stack_of(file, block.stack_id));
  out->weight.push_back(as_int(block.weight));
  out->owner_thread_id.push_back(jvm.of_java(owner));
  out->owner_java_id.push_back(java_or_null(owner));
  const bool ask_kernel = block.waking_ns <= 0 && !is_open && wakers_ != nullptr;
  add_waker(block, file, ask_kernel ? wakers_->of(row) : KernelWakers::Waker{0, kNoThread}, out);
  const bool is_more = (block.flags & HW_BL_AGAIN) != 0;
  blockers_.add_block(blocker, block.start_ns, end_ns - block.start_ns, is_open, is_more, rest);
}

void Locks::add_waker(const hw_block& block, uint32_t file, const KernelWakers::Waker& woken, BlockColumns* out) const {
  const JvmThreads& jvm = jvms_[file];
  if (block.waking_ns > 0) {
    out->waker_thread_id.push_back(jvm.of_java(block.waker_java_id));
    out->waker_java_id.push_back(java_or_null(block.waker_java_id));
    out->waker_stack_id.push_back(stack_of(file, block.waker_stack_id));
    out->waking_ns.push_back(block.waking_ns);
    out->is_kernel_waking.push_back(0);
    return;
  }
  const bool is_known = woken.waking_ns > 0 && woken.thread >= 0;
  const auto thread = static_cast<size_t>(is_known ? woken.thread : 0);
  out->waker_thread_id.push_back(is_known ? woken.thread : kNoThread);
  out->waker_java_id.push_back(is_known && thread < java_of_thread_.size() ? java_of_thread_[thread] : -1);
  out->waker_stack_id.push_back(-1);
  out->waking_ns.push_back(woken.waking_ns > 0 ? woken.waking_ns : -1);
  out->is_kernel_waking.push_back(woken.waking_ns > 0 ? 1 : -1);
}

// --- holds -----------------------------------------------------------------------------------------------------------

bool Locks::next_holds(size_t rows, HoldColumns* out) {
  *out = {};
  while (out->size() < rows) {
    const bool waking_left = wakers_ != nullptr && next_waking_hold_ < wakers_->holds().size();
    if (!more_holds_ && !waking_left) break;
    if (more_holds_ && !holds_->is_valid()) {
      more_holds_ = holds_->next();
    } else if (more_holds_ &&
               (!waking_left || holds_->record().start_ns <= wakers_->holds()[next_waking_hold_].start_ns)) {
      take_recorded_hold(out);
    } else {
      take_waking_hold(out);
    }
  }
  return out->size() > 0;
}

bool Locks::take_recorded_hold(HoldColumns* out) {
  const hw_hold& hold = holds_->record();
  const JvmThreads& jvm = jvms_[holds_->file()];
  const int32_t blocker = blockers_.row_of(holds_->file(), hold.blocker_id);
  const int32_t thread = jvm.of_java(hold.java_id);
  const bool is_row =
      blocker >= 0 && !is_own(thread) && hold.start_ns >= start_ns_ && hold.head.ts_ns <= jvm.close_ns();
  if (is_row) {
    add_hold(hold.start_ns, hold.head.ts_ns, blocker, thread, hold.java_id, out);
    out->by_waking.push_back(0);
    blockers_.add_hold(blocker, hold.head.ts_ns - hold.start_ns);
  }
  more_holds_ = holds_->next();
  return is_row;
}

void Locks::take_waking_hold(HoldColumns* out) {
  const WakingHold& hold = wakers_->holds()[next_waking_hold_++];
  if (is_own(hold.thread) || hold.start_ns < start_ns_ || hold.end_ns > jvms_[hold.file].close_ns()) return;
  add_hold(hold.start_ns, hold.end_ns, hold.blocker, hold.thread, hold.java_id, out);
  out->by_waking.push_back(1);
  blockers_.add_waking_hold(hold.blocker, hold.end_ns - hold.start_ns);
}

void Locks::add_hold(int64_t start_ns, int64_t end_ns, int32_t blocker, int32_t thread, uint32_t java_id,
                     HoldColumns* out) {
  out->blocker_id.push_back(blocker);
  out->thread_id.push_back(thread);
  out->java_id.push_back(java_id);
  out->start_ns.push_back(start_ns);
  out->dur_ns.push_back(end_ns - start_ns);
}

const LockBlockers& Locks::blockers() {
  if (!summed_) blockers_.finish(jvms_);
  summed_ = true;
  return blockers_;
}

// --- stacks ----------------------------------------------------------------------------------------------------------

bool Locks::next_stacks(size_t rows, StackColumns* out) {
  *out = {};
  while (out->size() < rows && stack_file_ < files_.size()) {
    const LockRecords& records = files_[stack_file_].records;
    if (next_stack_ >= records.stacks.size()) {
      ++stack_file_;
      next_stack_ = 0;
      continue;
    }
    const StackFacts& stack = records.stacks[next_stack_++];
    const int32_t id = next_stack_id_++;
    const uint32_t depth = std::min<uint32_t>(stack.frames, std::numeric_limits<int16_t>::max());
    for (uint32_t i = 0; i < depth; ++i) {
      out->stack_id.push_back(id);
      out->depth.push_back(static_cast<int16_t>(i));
      out->frame_id.push_back(frame_of(stack_file_, records.frames[stack.first_frame + i]));
      out->is_cut.push_back(stack.is_cut ? 1 : 0);
    }
  }
  return out->size() > 0;
}

// Overloads and the same method in several JVMs are one frame here: name and line are all that is shown.
int32_t Locks::frame_of(uint32_t file, const hw_stack_frame& frame) {
  const LockRecords& records = files_[file].records;
  const MethodFacts* method = records.methods.find(frame.method_id);
  const bool is_known = method != nullptr && method->is_known;
  FrameRow row{texts_.add(is_known ? records.texts[method->class_name] : "unknown"),
               texts_.add(is_known ? records.texts[method->name] : "unknown"), std::max(frame.line, -2)};
  std::string key(sizeof row, '\0');
  std::copy_n(reinterpret_cast<const char*>(&row), sizeof row, key.begin());
  const auto [at, is_new] = frame_by_key_.try_emplace(std::move(key), static_cast<int32_t>(frames_.size()));
  if (is_new) frames_.push_back(row);
  return at->second;
}

}  // namespace headway
