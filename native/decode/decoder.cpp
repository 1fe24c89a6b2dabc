#include "decode/decoder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace headway {
namespace {

// Rows of activity that a recording with so many changes may have: a table of counts must not outgrow what it counts.
size_t activity_limit(uint64_t changes) {
  constexpr size_t kLeast = 1 << 14;
  return std::max<size_t>(kLeast, changes / 64);
}

// What most of the files were counted with: one whose header is damaged costs the counts of its own CPU only. Of two that
// are as many, the first that has counters.
SpoolCounters counted_by_most(const std::vector<std::string>& paths) {
  std::vector<std::pair<SpoolCounters, size_t>> found;
  for (const std::string& path : paths) {
    const RecordReader reader(path);
    if (!reader.problem().empty()) continue;
    const SpoolCounters one = counted_by(reader);
    const auto at = std::ranges::find(found, one, &std::pair<SpoolCounters, size_t>::first);
    if (at == found.end()) {
      found.emplace_back(one, 1);
    } else {
      ++at->second;
    }
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) {
    if (a.second != b.second) return a.second > b.second;
    return a.first.counters != 0 && b.first.counters == 0;
  });
  return found.empty() ? SpoolCounters{} : found.front().first;
}

// Where the agent that writes DIR/agent-NAME.spool keeps its sums: DIR/locks-NAME.table.
std::string table_of(const std::string& agent_path) {
  const std::filesystem::path path(agent_path);
  const std::string name = path.stem().string();
  return (path.parent_path() / ("locks" + name.substr(name.find('-')) + ".table")).string();
}

// What a file takes of its disk; 0 where there is none.
uint64_t bytes_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * 512 : 0;
}

std::vector<std::string> files_of(const std::string& directory, const std::string& prefix) {
  std::error_code error;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".spool")) found.push_back(entry.path().string());
  }
  if (error) throw std::runtime_error(directory + ": " + error.message());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Decoder::Decoder(std::string spool_dir, uint64_t room_bytes, size_t most_lives)
    : spool_dir_(std::move(spool_dir)),
      sched_paths_(files_of(spool_dir_, "sched-cpu")),
      lifecycle_(read_lifecycle(spool_dir_, most_lives)),
      losses_(lifecycle_.losses) {
  read_agents(room_bytes);
  counted_ = counted_by_most(sched_paths_);
}

// The smallest files first: what they leave of their shares is the larger ones'.
void Decoder::read_agents(uint64_t room_bytes) {
  const std::vector<std::string> paths = files_of(spool_dir_, "agent-");
  std::vector<std::pair<uint64_t, size_t>> by_size;
  for (size_t i = 0; i < paths.size(); ++i) by_size.emplace_back(bytes_of(paths[i]) + bytes_of(table_of(paths[i])), i);
  std::ranges::sort(by_size);
  std::vector<LockFile> locks(paths.size());
  agents_.resize(paths.size());
  size_t files_left = paths.size();
  for (const auto& [size, i] : by_size) {
    const uint64_t share = room_bytes / files_left--;
    RecordRoom room(share);
    locks[i].path = paths[i];
    locks[i].table = read_lock_table(table_of(paths[i]), &room);
    agents_[i] = read_agent_file(paths[i], &locks[i].records, &room);
    room_bytes -= share - room.left();
  }
  locks_ = std::make_unique<Locks>(std::move(locks));
}

int64_t Decoder::last_record_ns() const {
  int64_t last = lifecycle_.events.empty() ? 0 : lifecycle_.events.back().ts_ns;
  // An agent outlives its recorder, and goes on writing about threads that nobody watches any more.
  if (!has_sched()) {
    for (const AgentFile& agent : agents_) last = std::max(last, agent.last_ns);
  }
  std::vector<LossSpan> losses;
  for (const std::string& path : sched_paths_) {
    SchedSource source(path, &losses);
    for (const Event* event = source.peek(); event != nullptr; event = source.peek()) {
      last = std::max(last, event->ts_ns);
      source.pop();
    }
  }
  return last;
}

void Decoder::begin(int64_t start_ns, int64_t end_ns, std::vector<uint8_t> kinds, int64_t bin_ns, int64_t tick_ns,
                    size_t max_activity_rows, const std::vector<KindSpan>& spans) {
  end_ns_ = std::max(start_ns, end_ns);
  losses_ = lifecycle_.losses;
  std::vector<std::unique_ptr<SchedSource>> sources;
  is_perf_ = false;
  cpu_gaps_ = std::make_unique<CpuGaps>(start_ns, end_ns_);
  for (const std::string& path : sched_paths_) {
    const SchedSource& source = *sources.emplace_back(std::make_unique<SchedSource>(path, &losses_, counted_));
    is_perf_ = is_perf_ || source.is_perf();
    cpu_gaps_->begins(source.cpu(), source.reader().header().created_ns);
  }
  counts_ = std::make_unique<SliceCounts>(counted_, start_ns, end_ns_);
  merge_ = std::make_unique<Merge>(std::move(sources), lifecycle_.events);
  kinds.resize(lifecycle_.lives.size(), 0);
  sweep_ = std::make_unique<ParallelismIntegrator>(
      ParallelismOptions{start_ns, end_ns_, bin_ns, start_ns, max_activity_rows}, kinds, spans);
  transitions_ = std::make_unique<DeferredTransitions>(sweep_.get());
  machine_ = std::make_unique<ThreadStateMachine>(lifecycle_, kinds, start_ns, end_ns_, tick_ns, is_perf_,
                                                  transitions_.get(), &slices_);
  wakers_ = locks_->begin_pass();
  if (!is_perf_) machine_->tell_wakings(wakers_);
  if (counts_->is_counted()) machine_->take_counts(counts_.get());
  done_ = false;
}

bool Decoder::next(size_t rows, SliceBatch* slices) {
  slices_ = {};
  slices_.counts.resize(size_t{counted_.counters} + counted_.groups);
  if (!done_) {
    slices_.reserve(rows);
    const bool more = merge_->run([&](const Event& event) {
      if (event.ts_ns > end_ns_) {
        done_ = true;
        look_beyond_end(event);
        return false;
      }
      counts_->on_event(event);
      if (event.type != EventType::kSwitch || cpu_gaps_->on_switch(event)) machine_->on_event(event);
      return slices_.size() < rows;
    });
    done_ = done_ || !more;
    if (done_) finish();
  }
  *slices = std::move(slices_);
  return !done_;
}

void Decoder::look_beyond_end(const Event& event) {
  if (event.type == EventType::kSwitch) cpu_gaps_->on_switch(event);
  counts_->on_event(event);
}

void Decoder::finish() {
  if (counts_->wants_more()) {
    merge_->run([&](const Event& event) {
      look_beyond_end(event);
      return counts_->wants_more();
    });
  }
  machine_->finish();
  sweep_->finish(activity_limit(sweep_->changes()));
  if (wakers_ != nullptr) wakers_->finish();
  if (!cpu_gaps_->wants_more()) return;
  merge_->run([&](const Event& event) {
    if (event.type == EventType::kSwitch) cpu_gaps_->on_switch(event);
    return cpu_gaps_->wants_more();
  });
}

std::vector<std::string> Decoder::problems() const {
  std::vector<std::string> found;
  const auto add = [&](const std::string& path, const std::string& problem) {
    if (!problem.empty()) found.push_back(path + ": " + problem);
  };
  add(spool_dir_ + "/lifecycle.spool", lifecycle_.problem);
  for (const AgentFile& agent : agents_) add(agent.path, agent.is_cut ? "" : agent.problem);  // told by itself
  if (merge_) {
    for (const auto& source : merge_->sources()) add(source->reader().path(), source->reader().problem());
  }
  std::ranges::move(counter_problems(), std::back_inserter(found));
  return found;
}

std::vector<std::string> Decoder::counter_problems() const {
  std::vector<std::string> found;
  for (const std::string& path : sched_paths_) {
    const RecordReader reader(path);
    if (!reader.problem().empty() || counted_by(reader) == counted_) continue;
    found.push_back(path + ": its header has other counters than those of most CPUs: its counts are left out");
  }
  return found;
}

uint64_t Decoder::late() const {
  uint64_t late = 0;
  for (const auto& source : merge_->sources()) late += source->late();
  return late;
}

}  // namespace headway
