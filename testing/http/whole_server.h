// For tests: a complete server except for the program and the model, in one process: sockets, keys,
// routes, chats, scheduler, cache, slot files, and a folder that outlives it, over a FakeEngine.
//
// Computation takes no time, so the clock advances on its own: prefill must cost something, or
// reuse would be worth nothing.

#ifndef CAIRN_TESTING_HTTP_WHOLE_SERVER_H_
#define CAIRN_TESTING_HTTP_WHOLE_SERVER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/service/chat_service.h"
#include "base/check.h"
#include "chat/template/builtin_templates.h"
#include "http/server.h"
#include "policy/eviction.h"
#include "policy/placement.h"
#include "routes/request_routes.h"
#include "routes/routes.h"
#include "sched/scheduler.h"
#include "sched/slot_files.h"
#include "store/disk/disk_store.h"
#include "store/snapshot_store.h"
#include "testing/base/memory_fs.h"
#include "testing/engine/fake_engine.h"

namespace cairn::test {

class TickingClock final : public Clock {
 public:
  double NowMs() const override { return static_cast<double>(++ticks_) / 4; }

 private:
  mutable std::atomic<uint64_t> ticks_ = 0;
};

class EmbedderOfOnes final : public Embedder {
 public:
  size_t size() const override { return 4; }
  size_t tokens_max() const override { return 4096; }
  Result<TextVectors> Embed(TokenSpan) override { return TextVectors{{1, 0, 0, 0}}; }
};

class WholeServer {
 public:
  struct Options {
    MemoryClass memory_class = MemoryClass::kHybrid;
    std::vector<std::string> keys;
    uint64_t life = 0;  // counts the servers on the same folder
    size_t context_tokens = 4096;
    std::vector<std::string> admins = {};  // further keys, or some of them; they stay
  };

  // `fs` outlives the server and holds its files.
  WholeServer(MemoryFs* fs, const Options& options)
      : engine_(EngineOptions(options.memory_class, options.context_tokens)),
        template_(ParseTemplate()),
        admins_(options.admins),
        keys_(*ApiKeys::Make(ApiKeys::Texts{options.keys, options.admins})),
        disk_(OpenDisk(fs)),
        cache_(CacheOptions{.ram_bytes_max = 128 << 10}, *MakePlacement("auto"),
               *MakeEviction("value"), MakeTieredStore(disk_.get())),
        scheduler_(&engine_, &cache_, &clock_, Scheduling(options.life)),
        service_(&engine_, template_.get(), &scheduler_, ServiceOptions()),
        server_(HttpOptions()) {
    CHECK(fs->MakeFolders(kSlotFolder).has_value());
    cache_.SetSavedAs(SavedAsOf(*keys_));
    slot_files_ =
        std::make_unique<SlotFiles>(fs, &scheduler_.slots(), &clock_,
                                    SlotFilesOptions{kSlotFolder, SavedAsOf(*keys_), Codec::kRaw,
                                                     engine_.traits().NeedsSnapshots()});
    served_.slot_files = slot_files_.get();
    served_.embedder = &embedder_;
    served_.responses =
        std::make_unique<StoredResponses>(&clock_, StoredResponsesOptions{size_t{1} << 20U, 1e9});
    served_.model.alias = "m";
    served_.model.started_unix_s = 1000 + static_cast<int64_t>(options.life);
    served_.request_log.SetLog([this](std::string_view line, const Json& fields) {
      const std::lock_guard lock(log_mutex_);
      log_ += std::string(line) + "\n" + fields.dump() + "\n";
    });
    served_.service.store(&service_);
    AddRoutes(&server_, &served_);
    wakes_ = &scheduler_;
    context_thread_ = std::thread([this] { scheduler_.Run(); });
    const Status bound = server_.Bind();
    CHECK(bound.has_value());
    http_thread_ = std::thread([this] { server_.Serve(); });
  }
  // Saves on shutdown what is worth it, as a server does.
  ~WholeServer() {
    server_.Stop();
    http_thread_.join();
    scheduler_.Stop();
    context_thread_.join();
    EXPECT_TRUE(scheduler_.SaveAll(1e9));
    EXPECT_TRUE(disk_->Drain(60'000));
    cache_.CheckInvariants();
    wakes_ = nullptr;
  }
  WholeServer(const WholeServer&) = delete;
  WholeServer& operator=(const WholeServer&) = delete;

  // As on SIGHUP. One thread at a time.
  void ReplaceKeys(const std::vector<std::string>& keys) {
    CHECK(keys_->Know({keys, admins_}).has_value());
    slot_files_->SetNameSpaces(SavedAsOf(*keys_).name_spaces);
    static_cast<void>(
        service_.Look([this](CheckpointCache* cache) { cache->SetSavedAs(SavedAsOf(*keys_)); }));
    CHECK(keys_->Replace(ApiKeys::Texts{keys, admins_}).has_value());
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  SchedulerStats stats() const { return scheduler_.stats(); }
  std::string log() const {
    const std::lock_guard lock(log_mutex_);
    return log_;
  }

  static FakeEngineOptions EngineOptions(MemoryClass memory_class, size_t context_tokens = 4096) {
    FakeEngineOptions engine;
    engine.memory_class = memory_class;
    engine.context_tokens = context_tokens;
    engine.slots = 3;
    engine.grid_tokens = 16;
    engine.chunk_tokens_max = 64;
    engine.recurrent_bytes = 512;
    return engine;
  }
  static std::unique_ptr<ChatTemplate> ParseTemplate() {
    return *ChatTemplate::Parse(std::string(*BuiltinTemplate("chatml")), "", "<|endoftext|>");
  }

 private:
  static constexpr const char* kSlotFolder = "/slots";

  static SavedAs SavedAsOf(const ApiKeys& keys) {
    SavedAs saved_as{{7, 7}, {{0, 0}}};
    for (const ApiKeys::Known& key : keys.known()) {
      saved_as.name_spaces.Add(key.number, key.saved_name);
    }
    return saved_as;
  }
  static ChatServiceOptions ServiceOptions() {
    ChatServiceOptions options;
    options.warm = true;
    return options;
  }
  static SchedulerOptions Scheduling(uint64_t life) {
    SchedulerOptions options;
    options.slots.first_lineage = (life + 1) << 20U;
    options.slots.unused_ms = 50;
    options.warm_start = true;
    return options;
  }
  std::unique_ptr<DiskStore> OpenDisk(MemoryFs* fs) {
    DiskStoreOptions disk;
    disk.folder = "/cache";
    disk.fingerprint = {7, 7};
    disk.reserve_bytes = 0;
    disk.now_ns = [] {
      return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
    };
    disk.wake = [this] {
      if (Scheduler* const scheduler = wakes_.load()) scheduler->Wake();
    };
    return DiskStore::Open(fs, std::move(disk));
  }
  HttpServerOptions HttpOptions() {
    HttpServerOptions http;
    http.port = 0;
    http.keys = keys_;
    http.error_body = HttpErrorBody;
    http.answer_headers = [this](std::string_view path) { return AnswerHeaders(&served_, path); };
    http.on_refusal = NoteIn(&served_.refusals);
    return http;
  }

  std::atomic<Scheduler*> wakes_ = nullptr;
  TickingClock clock_;
  FakeEngine engine_;
  EmbedderOfOnes embedder_;
  const std::unique_ptr<ChatTemplate> template_;
  const std::vector<std::string> admins_;
  const std::shared_ptr<ApiKeys> keys_;
  const std::unique_ptr<DiskStore> disk_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  ChatService service_;
  std::unique_ptr<SlotFiles> slot_files_;
  Served served_;
  HttpServer server_;
  mutable std::mutex log_mutex_;
  std::string log_;  // guarded by log_mutex_
  std::thread context_thread_;
  std::thread http_thread_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_HTTP_WHOLE_SERVER_H_
