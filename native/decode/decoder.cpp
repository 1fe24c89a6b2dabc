#include "decode/decoder.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace headway {
namespace {

// Rows of activity that a recording with so many changes may have: a table of counts must not outgrow what it counts.
size_t activity_limit(uint64_t changes) {
  constexpr size_t kLeast = 1 << 14;
  return std::max<size_t>(kLeast, changes / 64);
}

// Where the agent that writes DIR/agent-NAME.spool keeps its sums: DIR/locks-NAME.table.
std::string table_of(const std::string& agent_path) {
  const std::filesystem::path path(agent_path);
  const std::string name = path.stem().string();
  return (path.parent_path() / ("locks" + name.substr(name.find('-')) + ".table")).string();
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

Decoder::Decoder(std::string spool_dir)
    : spool_dir_(std::move(spool_dir)),
      sched_paths_(files_of(spool_dir_, "sched-cpu")),
      lifecycle_(read_lifecycle(spool_dir_)),
      losses_(lifecycle_.losses) {
  std::vector<LockFile> locks;
  for (const std::string& path : files_of(spool_dir_, "agent-")) {
    LockFile& file = locks.emplace_back();
    file.path = path;
    agents_.push_back(read_agent_file(path, &file.records));
    file.table = read_lock_table(table_of(path));
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
                    size_t max_activity_rows) {
  end_ns_ = std::max(start_ns, end_ns);
  losses_ = lifecycle_.losses;
  std::vector<std::unique_ptr<SchedSource>> sources;
  is_perf_ = false;
  cpu_gaps_ = std::make_unique<CpuGaps>(start_ns, end_ns_);
  for (const std::string& path : sched_paths_) {
    const SchedSource& source = *sources.emplace_back(std::make_unique<SchedSource>(path, &losses_));
    is_perf_ = is_perf_ || source.is_perf();
    cpu_gaps_->begins(source.cpu(), source.reader().header().created_ns);
  }
  merge_ = std::make_unique<Merge>(std::move(sources), lifecycle_.events);
  kinds.resize(lifecycle_.lives.size(), 0);
  sweep_ = std::make_unique<Sweep>(SweepOptions{start_ns, end_ns_, bin_ns, start_ns, max_activity_rows}, kinds);
  transitions_ = std::make_unique<Transitions>(sweep_.get());
  machine_ =
      std::make_unique<Machine>(lifecycle_, kinds, start_ns, end_ns_, tick_ns, is_perf_, transitions_.get(), &slices_);
  if (!is_perf_) machine_->tell_wakings(locks_->wakers());
  done_ = false;
}

bool Decoder::next(size_t rows, SliceBatch* slices) {
  slices_ = {};
  if (!done_) {
    slices_.reserve(rows);
    const bool more = merge_->run([&](const Event& event) {
      if (event.ts_ns > end_ns_) {
        done_ = true;
        if (event.type == EventType::kSwitch) cpu_gaps_->on_switch(event);
        return false;
      }
      if (event.type != EventType::kSwitch || cpu_gaps_->on_switch(event)) machine_->on_event(event);
      return slices_.size() < rows;
    });
    done_ = done_ || !more;
    if (done_) finish();
  }
  *slices = std::move(slices_);
  return !done_;
}

void Decoder::finish() {
  machine_->finish();
  sweep_->finish(activity_limit(sweep_->changes()));
  if (KernelWakers* wakers = locks_->wakers()) wakers->finish();
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
  for (const AgentFile& agent : agents_) add(agent.path, agent.problem);
  if (merge_) {
    for (const auto& source : merge_->sources()) add(source->reader().path(), source->reader().problem());
  }
  return found;
}

uint64_t Decoder::late() const {
  uint64_t late = 0;
  for (const auto& source : merge_->sources()) late += source->late();
  return late;
}

}  // namespace headway
