// For tests of the disk store: objects to write, a clock that stands still, and a store whose I/O
// thread is the test.

#ifndef CAIRN_TESTING_STORE_DISK_FIXTURE_H_
#define CAIRN_TESTING_STORE_DISK_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/disk/disk_files.h"
#include "store/disk/disk_store.h"
#include "store/disk/disk_worker.h"
#include "store/object.h"
#include "testing/base/memory_fs.h"

namespace cairn::test {

inline constexpr int64_t kSecondNs = 1'000'000'000;
inline constexpr int64_t kStartNs = int64_t{1'800'000'000} * kSecondNs;
inline const std::string kFolder = "/cache";
inline constexpr Fingerprint kModel{0x1111, 0x2222};
inline constexpr Fingerprint kOtherModel{0x3333, 0x4444};

// Returns `count` tokens of the conversation `line`; the first `shared` of them are common to all
// conversations.
inline Tokens TokensOf(size_t count, Token line = 0, size_t shared = 0) {
  Tokens tokens(count);
  for (size_t i = 0; i < count; ++i) {
    tokens[i] = static_cast<Token>(i % 1000) + (i < shared ? 0 : 1000 * line);
  }
  return tokens;
}

inline ObjectHeader Snapshot(Tokens tokens, double worth_ms = 1000) {
  ObjectHeader header;
  header.kind = ObjectKind::kSnapshot;
  header.fingerprint = kModel;
  header.tokens = std::move(tokens);
  header.worth_ms = worth_ms;
  return header;
}

inline ObjectHeader Segment(Tokens tokens, size_t begin, ObjectName parent,
                            double worth_ms = 1000) {
  ObjectHeader header = Snapshot(std::move(tokens), worth_ms);
  header.kind = ObjectKind::kSegment;
  header.begin = begin;
  header.parent = parent;
  return header;
}

inline Bytes PayloadOf(size_t bytes, uint64_t seed = 1) {
  Bytes payload(bytes);
  for (uint8_t& byte : payload) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<uint8_t>(seed >> 56);
  }
  return payload;
}

inline std::shared_ptr<const Bytes> Shared(Bytes bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

inline std::string ModelPath(const Fingerprint& model = kModel) {
  return kFolder + "/" + ToText(model);
}

inline std::string PathOf(const ObjectName& name, const Fingerprint& model = kModel) {
  return ModelPath(model) + "/" + ObjectFileName(name);
}

// A process whose store on `fs` is stepped by hand.
class SteppedStore {
 public:
  explicit SteppedStore(MemoryFs* fs, const DiskStoreOptions& options)
      : fs_(fs), options_(options), worker_(fs, options) {}

  // The budget is practically unlimited; the clock is the machine's.
  static DiskStoreOptions Options(MemoryFs* fs) {
    DiskStoreOptions options;
    options.folder = kFolder;
    options.fingerprint = kModel;
    options.bytes_max = uint64_t{1} << 40;
    options.reserve_bytes = 0;
    options.now_ns = [fs] { return fs->now_ns(); };
    return options;
  }

  DiskWorker& operator*() { return worker_; }
  DiskWorker* operator->() { return &worker_; }

  // Steps until nothing is left to do now. Returns the seconds until the next step is due.
  double Settle() {
    double wait_s = 0;
    while (wait_s == 0) wait_s = worker_.Step();
    return wait_s;
  }
  // Advances the machine's clock to the next scan, and settles.
  void Rescan() {
    Advance(options_.scan_interval_s);
    Settle();
  }
  void Advance(double seconds) {
    fs_->SetNow(fs_->now_ns() + static_cast<int64_t>(seconds * static_cast<double>(kSecondNs)));
  }
  // Writes and settles. Returns whether it was written.
  bool Put(const ObjectHeader& header, Bytes bytes) {
    if (!worker_.Write(header, Shared(std::move(bytes)))) return false;
    Settle();
    const auto written = worker_.TakeEvents().written;
    return std::any_of(written.begin(), written.end(),
                       [&](const DiskStore::Written& one) { return one.name == NameOf(header); });
  }

 private:
  MemoryFs* const fs_;
  const DiskStoreOptions options_;
  DiskWorker worker_;
};

inline std::vector<ObjectName> NamesOf(const std::vector<DiskStore::Written>& written) {
  std::vector<ObjectName> names;
  for (const DiskStore::Written& one : written) names.push_back(one.name);
  return names;
}

inline std::vector<ObjectName> NamesOf(const std::vector<ListedObject>& headers) {
  std::vector<ObjectName> names;
  for (const ObjectHeader& header : headers) names.push_back(NameOf(header));
  return names;
}

class DiskStoreTest : public testing::Test {
 protected:
  DiskStoreTest() { fs_.SetNow(kStartNs); }

  DiskStoreOptions Options() {
    DiskStoreOptions options = SteppedStore::Options(&fs_);
    options.log = [this](LogLevel, std::string_view line) { log_.emplace_back(line); };
    return options;
  }
  uint64_t FileBytes(const ObjectName& name, const Fingerprint& model = kModel) const {
    return fs_.Stat(PathOf(name, model))->bytes;
  }
  bool IsThere(const ObjectName& name, const Fingerprint& model = kModel) const {
    return fs_.Stat(PathOf(name, model)).has_value();
  }

  MemoryFs fs_;
  std::vector<std::string> log_;
};

// The size of a front with few tokens.
inline constexpr uint64_t kFront = kFrontBytesMin;

}  // namespace cairn::test

#endif  // CAIRN_TESTING_STORE_DISK_FIXTURE_H_
