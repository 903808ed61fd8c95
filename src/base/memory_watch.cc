#include "base/memory_watch.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/check.h"

namespace cairn {
namespace {

// The memory held back for the handler that the language calls when an allocation fails; a process
// has only one such handler.
std::atomic<void*> kept_back{nullptr};
std::atomic<size_t> kept_back_bytes{0};
std::atomic<bool> allocation_refused{false};

void OnNoMemory() {
  allocation_refused = true;
  void* const block = kept_back.exchange(nullptr);
  if (block == nullptr) throw std::bad_alloc();
  // The allocation is retried.
  munmap(block, kept_back_bytes);
}

void KeepBack() {
  if (kept_back_bytes == 0 || kept_back != nullptr) return;
  void* const block = mmap(nullptr, kept_back_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block != MAP_FAILED) kept_back = block;
}

// Returns the number in a file; nullopt if the content is not a number ("max").
std::optional<uint64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

// Returns the number that follows `word` at the beginning of a line.
std::optional<uint64_t> NumberOf(const std::string& word, const std::string& path) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    uint64_t number = 0;
    if (words >> name >> number && name == word) return number;
  }
  return std::nullopt;
}

struct Limit {
  uint64_t bytes = UINT64_MAX;
  uint64_t used = 0;
  std::string_view why;
};

void Take(const Limit& limit, MemoryRoom* room) {
  const uint64_t left = limit.bytes - std::min(limit.bytes, limit.used);
  room->limit_bytes = std::min(room->limit_bytes, limit.bytes);
  if (left >= room->left_bytes) return;
  room->left_bytes = left;
  room->why = limit.why;
}

// The folder and the file names of one kind of cgroup hierarchy.
struct Hierarchy {
  std::string root;
  std::vector<std::string> limits;
  std::string used;
  std::string file_cache;  // a key of memory.stat
};

void LookAtGroup(const Hierarchy& kind, const std::string& folder, MemoryRoom* room) {
  Limit limit = {UINT64_MAX, 0, "the control group's memory limit"};
  for (const std::string& name : kind.limits) {
    limit.bytes = std::min(limit.bytes, NumberIn(folder + "/" + name).value_or(UINT64_MAX));
  }
  if (limit.bytes == UINT64_MAX) return;
  const uint64_t used = NumberIn(folder + "/" + kind.used).value_or(0);
  const uint64_t cached = NumberOf(kind.file_cache, folder + "/memory.stat").value_or(0);
  limit.used = used - std::min(used, cached);
  Take(limit, room);
}

// `path` is the group's path in /proc. In a container its upper part may not be visible.
void LookAtGroups(const Hierarchy& kind, std::string path, MemoryRoom* room) {
  while (true) {
    LookAtGroup(kind, kind.root + path, room);
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return;
    path.resize(slash);
  }
}

class SystemMemoryWatch final : public MemoryWatch {
 public:
  SystemMemoryWatch(MemorySources sources, size_t keep_back_bytes) : sources_(std::move(sources)) {
    if (keep_back_bytes == 0) return;
    CHECK(kept_back_bytes == 0);
    kept_back_bytes = keep_back_bytes;
    KeepBack();
    std::set_new_handler(OnNoMemory);
    keeps_back_ = true;
  }
  ~SystemMemoryWatch() override {
    if (!keeps_back_) return;
    std::set_new_handler(nullptr);
    if (void* const block = kept_back.exchange(nullptr)) munmap(block, kept_back_bytes);
    kept_back_bytes = 0;
  }
  SystemMemoryWatch(const SystemMemoryWatch&) = delete;
  SystemMemoryWatch& operator=(const SystemMemoryWatch&) = delete;

  MemoryRoom Look() override {
    MemoryRoom room;
    LookAtMachine(&room);
    std::ifstream groups(sources_.proc + "/self/cgroup");
    std::string line;
    while (std::getline(groups, line)) LookAtLine(line, &room);
    LookAtProcess(&room);
    if (!keeps_back_) return room;
    room.refused = allocation_refused.exchange(false);
    // The memory that was handed out is held back again once there is more than enough room for it.
    if (room.left_bytes / 2 > kept_back_bytes) KeepBack();
    return room;
  }

  void GiveBack() override { ReturnFreedMemory(); }

 private:
  void LookAtMachine(MemoryRoom* room) const {
    constexpr uint64_t kKib = 1024;
    const std::string path = sources_.proc + "/meminfo";
    const auto total = NumberOf("MemTotal:", path);
    const auto available = NumberOf("MemAvailable:", path);
    if (!total || !available) return;
    const uint64_t used = *total - std::min(*total, *available);
    Take({*total * kKib, used * kKib, "the machine's memory"}, room);
  }

  // `line` is "0::/a/b", or "7:cpu,memory:/a/b" with cgroups v1.
  void LookAtLine(const std::string& line, MemoryRoom* room) const {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) return;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (kinds == ",,") {
      LookAtGroups(
          {sources_.cgroups, {"memory.max", "memory.high"}, "memory.current", "inactive_file"},
          path, room);
    } else if (kinds.find(",memory,") != std::string::npos) {
      LookAtGroups({sources_.cgroups + "/memory",
                    {"memory.limit_in_bytes"},
                    "memory.usage_in_bytes",
                    "total_inactive_file"},
                   path, room);
    }
  }

  void LookAtProcess(MemoryRoom* room) const {
    if (sources_.address_bytes_max == UINT64_MAX && sources_.data_bytes_max == UINT64_MAX) return;
    // In pages: total, resident, shared, program text, unused, data and stack.
    std::ifstream file(sources_.proc + "/self/statm");
    std::vector<uint64_t> pages(6);
    for (uint64_t& count : pages) {
      if (!(file >> count)) return;
    }
    const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const auto idle = static_cast<uint64_t>(mallinfo2().fordblks);
    const auto used = [&](uint64_t count) {
      return count * page_bytes - std::min(count * page_bytes, idle);
    };
    if (sources_.address_bytes_max != UINT64_MAX) {
      Take({sources_.address_bytes_max, used(pages[0]), "ulimit -v"}, room);
    }
    if (sources_.data_bytes_max != UINT64_MAX) {
      Take({sources_.data_bytes_max, used(pages[5]), "ulimit -d"}, room);
    }
  }

  const MemorySources sources_;
  bool keeps_back_ = false;
};

uint64_t LimitOf(decltype(RLIMIT_AS) resource) {
  rlimit limit = {};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

}  // namespace

MemorySources SystemMemorySources() {
  MemorySources sources;
  sources.address_bytes_max = LimitOf(RLIMIT_AS);
  sources.data_bytes_max = LimitOf(RLIMIT_DATA);
  return sources;
}

void ReturnFreedMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

uint64_t HeapUsedBytes() {
  const auto heap = mallinfo2();
  return static_cast<uint64_t>(heap.uordblks) + static_cast<uint64_t>(heap.hblkhd);
}

uint64_t MappedFileBytes(const MemorySources& sources) {
  return NumberOf("RssFile:", sources.proc + "/self/status").value_or(0);
}

std::unique_ptr<MemoryWatch> MakeMemoryWatch(MemorySources sources, size_t keep_back_bytes) {
  return std::make_unique<SystemMemoryWatch>(std::move(sources), keep_back_bytes);
}

}  // namespace cairn
