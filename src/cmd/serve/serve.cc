#include "cmd/serve/serve.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "api/llama_server/model_sampling.h"
#include "api/prompt/message_starts.h"
#include "api/service/answer_script.h"
#include "api/service/chat_service.h"
#include "api/wall_clock.h"
#include "base/fs.h"
#include "base/mutex.h"
#include "base/process/threads.h"
#include "base/text.h"
#include "cache/resume.h"
#include "cmd/lib/cache_folder.h"
#include "cmd/lib/progress_line.h"
#include "cmd/llama_flags/environment.h"
#include "cmd/rpc/rpc_server.h"
#include "cmd/serve/adapters/adapter_flags.h"
#include "cmd/serve/answer_flags.h"
#include "cmd/serve/base/cache_flags.h"
#include "cmd/serve/base/disk_cache.h"
#include "cmd/serve/base/key_flags.h"
#include "cmd/serve/base/models_flags.h"
#include "cmd/serve/base/server_log.h"
#include "cmd/serve/draft_flags.h"
#include "cmd/serve/events/kv_event_flags.h"
#include "cmd/serve/media/served_media.h"
#include "cmd/serve/remote/remote_flags.h"
#include "cmd/serve/serve_policies.h"
#include "cmd/serve/served_model.h"
#include "cmd/serve/source/source_flags.h"
#include "cmd/serve/start_grid.h"
#include "cmd/serve/stop/run_server.h"
#include "cmd/serve/trace/served_traces.h"
#include "engine/embed/embedding_architectures.h"
#include "engine/llama/llama_engine.h"
#include "http/connections/socket.h"
#include "http/server.h"
#include "routes/page.h"
#include "routes/predict_route.h"
#include "routes/request_routes.h"
#include "routes/routes.h"
#include "sched/request/adapter_name_space.h"
#include "sched/scheduler.h"

namespace cairn {
namespace {

// The part of --shutdown-timeout for answers if there is something to save after them.
constexpr double kAnswersShare = 2.0 / 3;
// If allocations can fail, small ones use this reserve until the cache has freed memory.
constexpr size_t kMemoryKeptBack = size_t{16} << 20;

// The parts of a running server in the order of their construction.
class ServeRun {
 public:
  explicit ServeRun(const ServeOptions& options)
      : options_(options), logger_(MakeServerLog(options)) {}
  // Handlers use all members below, so they end first. The disk thread wakes the scheduler, and
  // ends after it because of the order of the members.
  ~ServeRun() {
    graceful_stop_.reset();
    if (http_) http_->Stop();
    if (http_thread_.joinable()) http_thread_.join();
    media_.rows.reset();  // its thread wakes the scheduler
    for (DiskStore* store : Stores()) store->Stop();
  }

  const ServerLog& log() const { return logger_; }
  EndLimits end_limits() const {
    return {static_cast<double>(options_.shutdown_timeout_s) * 1000 + kStopGraceMs};
  }

  Status Run() {
    auto policies = MakePolicies(options_);
    if (!policies) return tl::unexpected(policies.error());
    LogFlagNotes(options_.flag_notes, logger_.sink());
    auto script = ReadScript(options_.script_path);
    if (!script) return tl::unexpected(script.error());
    script_ = std::move(*script);
    if (Status opened = traces_.Open(); !opened) return opened;
    if (Status read = ReadKeys(); !read) return read;
    if (Status read = ReadCertificate(); !read) return read;
    if (Status read = remote_.Open(options_, logger_.sink()); !read) return read;
    if (Status listening = StartHttp(); !listening) return listening;
    if (Status started = StartEvents(); !started) return started;
    const double started_ms = clock_.NowMs();
    if (Status fetched = Fetch(); !fetched) return fetched;
    if (Status loaded = LoadModel(); !loaded) return loaded;
    FitCacheToMemory(&options_);
    if (Status parsed = ParseTemplate(); !parsed) return parsed;
    FallBackWithoutGrid(&*policies);
    SchedulerOptions scheduling = ToSchedulerOptions(options_, policies->reuse);
    scheduling.leave_grid = options_.cut_at_messages;
    if (Status loaded = LoadDraft(); !loaded) return loaded;
    auto drafts = MakeDraftOptions(options_, policies->reuse, engine_.get(), draft_);
    if (!drafts) return tl::unexpected(drafts.error());
    scheduling.drafts = *drafts;
    if (options_.cut_at_messages) {
      scheduling.message_starts = FindMessageStarts(*engine_, *template_);
      scheduling.boundary_gap_divisor = BoundaryGapDivisor(engine_->traits(), policies->reuse);
    }
    DiskCallbacks callbacks = Callbacks();
    callbacks.tries_folders = true;
    remote_.Watch(&callbacks);
    auto disk = OpenDiskCache(options_, *keys(), engine_.get(), policies->reuse,
                              CutRulesOf(*engine_, scheduling), std::move(callbacks));
    if (!disk) return tl::unexpected(disk.error());
    disk_ = std::move(*disk);
    disk_.saved_as.name_spaces = Names(*keys());
    remote_.Start(options_, disk_, &clock_, [this] { Wake(); }, traces_.events());
    scheduling.remote = remote_.lookup();
    StartEncoding(disk_, &clock_, [this] { Wake(); }, &media_);
    scheduling.media = media_.rows.get();
    cache_ = std::make_unique<CheckpointCache>(MakeCacheOptions(), std::move(policies->placement),
                                               std::move(policies->eviction),
                                               MakeStore(options_, disk_));
    cache_->SetSavedAs(disk_.saved_as);
    scheduling.observer = traces_.requests();
    scheduling.prefixes = kv_events_.get();
    scheduling.log = logger_.sink();
    memory_ = MakeMemoryWatch(SystemMemorySources(), kMemoryKeptBack);
    scheduling.memory = memory_.get();
    scheduling.cache_bytes_max = cache_->stats().bytes_max;
    served_.cache_beside_bytes = CacheRamBytes(options_) - scheduling.cache_bytes_max;
    scheduling.trace = traces_.events();
    if (disk_.outlives()) scheduling.slots.first_lineage = RandomLineage();
    scheduling.idle_work = grid_->AfterLoad(engine_.get(), [this] { return engine_->GridFacts(); });
    scheduler_ = std::make_unique<Scheduler>(engine_.get(), cache_.get(), &clock_, scheduling);
    MakeSlotFiles();
    MakeService(*policies);
    logger_->info("{}", engine_->info().devices_text);
    LogCacheBudget(logger_, options_, disk_);
    LogModelFacts(logger_, *engine_, options_, served_.model.reuse, scheduling.message_starts);
    BeginService();
    SayReady(clock_.NowMs() - started_ms);  // a router sends requests from then on
    scheduler_->Run();
    SaveToDisk();
    traces_.SayWritten();
    return {};
  }

  // May be called repeatedly, on one thread. SIGTERM answers running requests first, SIGINT ends
  // them. Before the model is loaded it exits the process: loading cannot be interrupted, and
  // nothing is lost.
  void StopOnSignal(int signal) {
    if (served_.service.load(std::memory_order_acquire) == nullptr) std::_Exit(128 + signal);
    if (!stop_began_ms_) stop_began_ms_ = clock_.NowMs();
    if (signal == SIGTERM) return AnswerAndStop();
    if (graceful_stop_->Now()) return;
    // Files are renamed into place when complete, so an exit while one is written does no harm.
    logger_->warn("interrupted again: exiting now; unsaved state is lost");
    std::_Exit(128 + signal);
  }

  // May be called repeatedly, on one thread. An invalid file changes nothing.
  void Reload() {
    const MutexLock lock(keys_mutex_);
    if (keys_ == nullptr) return;  // they will be loaded anyway
    ReloadCertificate(logger_, options_, certificate_.get());
    if (!options_.api_key_file.empty()) {
      ReloadKeys();
    } else if (certificate_ == nullptr) {
      logger_->info("SIGHUP: no --api-key-file was given, so there are no keys to reload");
    }
  }

 private:
  void AnswerAndStop() {
    const double ms =
        static_cast<double>(options_.shutdown_timeout_s) * 1000 * (disk_.store ? kAnswersShare : 1);
    graceful_stop_->Begin(ms);
    scheduler_->SetDraining(true);
    const size_t requests = served_.drain.state().requests;
    if (requests == 0) return;
    logger_->info("draining: {} running requests may take {:.0f} s; Ctrl-C ends them", requests,
                  ms / 1000);
  }

  void MakeService(const Policies& policies) {
    ChatServiceOptions service = ToServiceOptions(options_, policies);
    service.media = media_.rules;
    service.on_adapters = [this](NamespaceId name_space) { NameAdapters(name_space); };
    service.prompt.media = media_.layouts.get();
    service.script = script_.get();
    service.prompt.find_boundaries = traces_.requests() != nullptr;
    service.warm = options_.warm && KeepsCheckpoints(options_);
    service.prompt.log = logger_.sink();
    service_ =
        std::make_unique<ChatService>(engine_.get(), template_.get(), scheduler_.get(), service);
  }

  // Called once, on any thread.
  void Stop() {
    logger_->info("stopping{}",
                  disk_.store ? ": saving the cache to disk; Ctrl-C again exits at once" : "");
    http_->Stop();
    scheduler_->Stop();
  }

  std::shared_ptr<ApiKeys> keys() const {
    const MutexLock lock(keys_mutex_);
    return keys_;
  }
  std::shared_ptr<TlsCertificate> certificate() const {
    const MutexLock lock(keys_mutex_);
    return certificate_;
  }

  void ReloadKeys() REQUIRES(keys_mutex_) {
    const auto keys = KeysOf(options_);
    Status replaced = keys ? keys_->Know(*keys) : Status(tl::unexpected(keys.error()));
    if (replaced) {
      // Objects of a new key need a name from its first request on.
      NameKeys();
      replaced = keys_->Replace(*keys);
    }
    if (!replaced) {
      logger_->warn("SIGHUP: keeping the previous API keys: {}", replaced.error().message);
      return;
    }
    logger_->info("SIGHUP: reloaded, {} API keys", keys_->size());
    WarnOfReaders(logger_, "--api-key-file", options_.api_key_file);
  }

  Status ReadCertificate() {
    auto certificate = CertificateOf(options_);
    if (!certificate) return tl::unexpected(certificate.error());
    WarnOfReaders(logger_, "--ssl-key-file", options_.ssl_key_file);
    const MutexLock lock(keys_mutex_);
    certificate_ = std::move(*certificate);
    return {};
  }

  Status ReadKeys() {
    // Now, and not when the model is loaded.
    const auto sealed = MakeCacheFs(options_.cache_key_file, {});
    if (!sealed) return tl::unexpected(sealed.error());
    WarnOfReaders(logger_, "--cache-key-file", options_.cache_key_file);
    const auto texts = KeysOf(options_);
    if (!texts) return tl::unexpected(texts.error());
    auto keys = ApiKeys::Make(*texts);
    if (!keys) return tl::unexpected(keys.error());
    WarnOfReaders(logger_, "--api-key-file", options_.api_key_file);
    const MutexLock lock(keys_mutex_);
    keys_ = std::move(*keys);
    return {};
  }

  void NameKeys() REQUIRES(keys_mutex_) {
    if (served_.service.load(std::memory_order_acquire) == nullptr || !disk_.outlives()) return;
    SavedAs saved_as = disk_.saved_as;
    saved_as.name_spaces = Names(*keys_);
    NameOthers(saved_as.name_spaces);
    // The signal thread must not wait for the context thread, which may be blocked by a hanging
    // disk. When the server is stopping, no more requests come.
    static_cast<void>(
        scheduler_->PostLook([this, saved_as = std::move(saved_as)](CheckpointCache* cache) {
          cache->SetSavedAs(saved_as);
          NameDraftKeys(saved_as.name_spaces);
        }));
  }

  SavedNames Names(const ApiKeys& keys) const {
    return SavedNames(adapter_names_.NamesOf(keys, engine_->adapter_sets()));
  }

  // Any thread.
  void NameAdapters(NamespaceId name_space) {
    const MutexLock lock(keys_mutex_);
    // Before the names: a set that is asked for again has the same name under another number.
    const bool freed = adapter_names_.ForgetFreed(engine_->adapter_sets());
    if (freed) DropFreedSets();
    if (adapter_names_.Add(name_space) || freed) NameKeys();
  }

  // Drops the states of sets of adapters that were freed. No request finds them any more.
  void DropFreedSets() {
    static_cast<void>(scheduler_->PostLook([this](CheckpointCache* cache) {
      const auto is_gone = [this](NamespaceId name_space) {
        return !engine_->adapter_sets()->Keeps(AdapterSetOf(name_space));
      };
      cache->DropNameSpaces(is_gone);
      if (draft_.cache != nullptr) draft_.cache->DropNameSpaces(is_gone);
    }));
  }

  // Those that any thread may name them to.
  void NameOthers(const SavedNames& name_spaces) {
    if (slot_files_ != nullptr) slot_files_->SetNameSpaces(name_spaces);
    if (media_.saved != nullptr) media_.saved->SetNameSpaces(name_spaces);
  }

  void NameDraftKeys(const SavedNames& name_spaces) {
    if (draft_.cache == nullptr) return;
    draft_.disk.saved_as.name_spaces = name_spaces;
    draft_.cache->SetSavedAs(draft_.disk.saved_as);
  }

  // From here on requests are answered, and NameKeys() names new keys.
  void BeginService() {
    const MutexLock lock(keys_mutex_);
    if (disk_.outlives()) {
      disk_.saved_as.awaits_names = engine_->adapter_sets() != nullptr;
      disk_.saved_as.name_spaces = Names(*keys_);
      cache_->SetSavedAs(disk_.saved_as);
      NameDraftKeys(disk_.saved_as.name_spaces);
      NameOthers(disk_.saved_as.name_spaces);
    }
    graceful_stop_.emplace(&served_.drain, [this] { Stop(); });
    if (const auto line = UseModelSampling(engine_->info(), &served_.defaults); !line.empty()) {
      logger_->info("{}", line);
    }
    served_.service.store(service_.get(), std::memory_order_release);
  }

  Status StartHttp() {
    auto grammar = AnswerGrammarOf(options_);
    if (!grammar) return tl::unexpected(grammar.error());
    served_.grammar = std::move(*grammar);
    served_.grammar_is_format = options_.grammar.empty() && options_.grammar_file.empty();
    HttpServerOptions http = ToHttpOptions(options_, keys(), certificate(), logger_);
    const auto predict = PredictOptionsOf(ProcessEnvironment());
    if (!predict) return tl::unexpected(predict.error());
    if (*predict) http.port = (*predict)->port.value_or(http.port);
    http.answer_headers = [this](std::string_view path) { return AnswerHeaders(&served_, path); };
    http.on_refusal = NoteIn(&served_.refusals);
    http_ = std::make_unique<HttpServer>(std::move(http));
    served_.defaults = options_.defaults;
    if (options_.predict >= 0) served_.defaults.tokens_max = static_cast<size_t>(options_.predict);
    served_.model.alias = ModelNameOf(options_);
    served_.model.aliases = NamesIn(options_.alias);
    served_.model.tags = NamesIn(options_.tags);
    served_.model.version = CAIRN_VERSION;
    served_.model.id_tag = BeginRoutedChild();
    served_.refusals.SetIdTag(served_.model.id_tag);
    served_.model.placement = PlacementNames(options_);
    served_.model.reuse = options_.reuse;
    served_.model.started_unix_s = NowUnixS();
    served_.sse_ping_interval_s = options_.sse_ping_interval_s;
    served_.shows_slots = options_.slots_route;
    served_.drain.SetDelay(static_cast<double>(options_.drain_delay_s) * 1000);
    if (options_.responses_store_mib > 0 && options_.responses_ttl_s > 0) {
      served_.responses = std::make_unique<StoredResponses>(
          &clock_, StoredResponsesOptions{options_.responses_store_mib << 20U,
                                          static_cast<double>(options_.responses_ttl_s) * 1000});
    }
    served_.request_log.SetLog(logger_.request_sink());
    served_.request_log.SetHintLog(logger_.sink(), TellsVolatileLate(options_));
    served_.refusals.SetLog(logger_.sink());
    AddRoutes(http_.get(), &served_);
    if (options_.page) AddPageRoutes(http_.get(), BuiltPage());
    if (*predict) AddPredictRoute(http_.get(), **predict);
    if (Status bound = http_->Bind(); !bound) return bound;
    if (options_.insecure && keys()->empty()) {
      logger_->warn(
          "--insecure: everyone who can reach {} can send requests and see other clients' requests",
          options_.host);
    }
    http_thread_ = std::thread([this] {
      static_cast<void>(TryWork([this] { http_->Serve(); }));
      http_ended_.set_value();
    });
    return {};
  }

  Status StartEvents() {
    const KvEventServer server = {options_.host, http_->port(), served_.model.alias};
    auto events = StartKvEvents(options_.kv_events, server, logger_.sink());
    if (!events) return tl::unexpected(events.error());
    kv_events_ = *std::move(events);
    served_.kv_events = kv_events_.get();
    return {};
  }

  // The draft model's cache and the rows of media take their parts of the budget.
  CacheOptions MakeCacheOptions() const {
    CacheOptions options = ToCacheOptions(options_);
    if (options.ram_bytes_max == SIZE_MAX) return options;
    if (draft_.cache != nullptr) options.ram_bytes_max -= draft_.cache->stats().bytes_max;
    options.ram_bytes_max -= media_.rows_bytes_max;
    return options;
  }

  std::vector<DiskStore*> Stores() const {
    std::vector<DiskStore*> stores;
    for (const DiskCache* disk : {&disk_, &draft_.disk}) {
      if (disk->store) stores.push_back(disk->store.get());
    }
    return stores;
  }

  DiskCallbacks Callbacks() {
    return {[this] { Wake(); }, logger_.sink(), traces_.events()};
  }

  Status LoadDraft() {
    if (options_.draft_model_path.empty()) return {};
    auto draft = LoadDraftModel(options_, LlamaOptionsOf(), *engine_, *keys(), Callbacks());
    if (!draft) return tl::unexpected(draft.error());
    draft_ = std::move(*draft);
    logger_->info("draft model {}, {} bytes of KV per token, {} MiB of --cache-ram",
                  draft_.engine->info().description, draft_.engine->traits().kv_bytes_per_token,
                  draft_.cache->stats().bytes_max >> 20);
    return {};
  }

  void MakeSlotFiles() {
    if (disk_.slot_files.folder.empty()) return;
    disk_.slot_files.takes_media = media_.rules.takes_images || media_.rules.takes_audio;
    slot_files_ = std::make_unique<SlotFiles>(disk_.fs.get(), &scheduler_->slots(), &clock_,
                                              disk_.slot_files);
    slot_files_->RemoveLeftovers(NowUnixS() * int64_t{1'000'000'000});
    served_.slot_files = slot_files_.get();
  }

  // Called on the disk thread at any time.
  void Wake() {
    if (served_.service.load(std::memory_order_acquire) != nullptr) scheduler_->Wake();
  }

  void SaveToDisk() {
    if (!disk_.store) return;
    const double end_ms = stop_began_ms_.value_or(clock_.NowMs()) +
                          static_cast<double>(options_.shutdown_timeout_s) * 1000;
    const auto left_ms = [&] { return std::max(0.0, end_ms - clock_.NowMs()); };
    const bool all = scheduler_->SaveAll(left_ms());
    bool drained = true;
    for (DiskStore* store : Stores()) drained = store->Drain(left_ms()) && drained;
    remote_.Drain(left_ms());
    const SavedStats saved = disk_.store->stats();
    if (all && drained) {
      logger_->info("saved to {}: {} files, {} MiB", CacheFolderOf(options_), saved.objects,
                    saved.bytes >> 20);
    } else if (saved.at_day_limit) {
      logger_->warn(
          "--disk-write-gib-day of {} GiB is written: unsaved conversations will be prefilled "
          "again "
          "after the restart",
          options_.disk_write_gib_day);
    } else if (saved.refusing) {
      logger_->warn(
          "{} cannot be written: unsaved conversations will be prefilled again after the restart",
          CacheFolderOf(options_));
    } else {
      logger_->warn("--shutdown-timeout of {} s ended before everything was saved",
                    options_.shutdown_timeout_s);
    }
  }

  LlamaOptions LlamaOptionsOf() const {
    LlamaOptions llama = options_.llama;
    FillAdapters(options_.adapters, &llama);  // they were checked at the start
    llama.slots = SlotsOf(options_);
    llama.may_sleep = options_.sleep_idle_s >= 0;
    llama.rollback_states = RollbackStatesOf(options_);
    llama.mtp = MtpOf(options_);
    llama.unified = UnifiedOf(options_);
    // Errors while loading are reported once, by the error that Load returns.
    llama.log = [logger = logger_](LogLevel, std::string_view line) { logger->debug("{}", line); };
    llama.notes = logger_.sink();
    return llama;
  }

  // Sets the models' paths in options_, which no other thread reads.
  Status Fetch() {
    served_.not_ready = "Downloading model";
    Status fetched = FetchModels(&options_, logger_.sink(), logger_.format() == LogFormat::kHuman);
    served_.not_ready = "Loading model";
    return fetched;
  }

  Status LoadModel() {
    ChooseKernels(logger_, options_);
    LlamaOptions llama = LlamaOptionsOf();
    WatchRpcWorkers(llama.rpc_workers, logger_, [this] { return PartsForLostWorker(); });
    grid_.emplace(fs_.get(), KeepsOnDisk(options_) ? CacheFolderOf(options_) : "",
                  options_.reuse == "exact", &clock_, logger_.sink());
    grid_->Fill(&llama);
    llama.probe_progress = [this, told = std::move(llama.probe_progress)](float share) {
      served_.not_ready =
          "Loading model: --reuse exact waits for the exactness grid to be measured";
      if (told) told(share);
    };
    ProgressLine progress("Loading " + served_.model.alias);
    if (logger_.format() == LogFormat::kHuman) {
      llama.progress = [&progress](float share) { progress.Update(share); };
    }
    TraceSpan span(traces_.events(), "load");
    auto engine = LlamaEngine::Load(llama, ModelKinds::kAll);
    span.End();
    if (!engine) return tl::unexpected(engine.error());
    engine_ = std::move(*engine);
    if (Status fits = ServeTextsAlone(*engine_, &options_); !fits) return fits;
    auto media = LoadMedia(options_, llama, *engine_, logger_.sink());
    if (!media) return tl::unexpected(media.error());
    media_ = std::move(*media);
    if (media_.encoder != nullptr) {
      served_.encode_medium = [this](NamespaceId key, const Medium& medium) {
        return EncodeNow(media_, key, medium);
      };
    }
    return ServeTexts(options_, llama, *engine_, &text_models_, &served_);
  }

  // Called on any thread, at most once.
  LostWorkerParts PartsForLostWorker() {
    if (served_.service.load(std::memory_order_acquire) == nullptr) return {};
    return {scheduler_.get(), http_.get(), http_ended_.get_future(), Stores()};
  }

  Status ParseTemplate() {
    auto loaded = LoadTemplate(options_, engine_->info(), logger_.sink());
    if (!loaded) return tl::unexpected(loaded.error());
    template_ = *std::move(loaded);
    return {};
  }

  // If every split changes the bits, or restored states do, `live` guarantees no more than `any`.
  void FallBackWithoutGrid(Policies* policies) {
    const MemoryTraits& traits = engine_->traits();
    if (traits.grid_tokens > 0 || IsEncoder(engine_->info().architecture)) return;
    const std::string_view why = traits.restores_bits ? "no exactness grid was found"
                                                      : "restored states give other bits here";
    if (policies->reuse == ReuseMode::kLive) {
      policies->reuse = ReuseMode::kAny;
      served_.model.reuse = "any";
      logger_->warn("{}: --reuse falls back to any, so answers may differ", why);
    } else if (policies->reuse == ReuseMode::kExact) {
      logger_->warn("{}: --reuse exact reuses nothing", why);
    }
  }

  void SayReady(double load_ms) const {
    // With --port 0 this line has the port, so it is logged at every level.
    logger_.always()->info("ready after {:.1f} s: {}", load_ms / 1000,
                           UrlOf(certificate() != nullptr, options_.host, http_->port()));
  }

  ServeOptions options_;
  const ServerLog logger_;
  std::optional<double> stop_began_ms_;  // set once, by the signal thread, before Stop()
  const SteadyClock clock_;
  const std::unique_ptr<Fs> fs_ = MakeRealFs();
  ServedTraces traces_{&options_, &logger_, fs_.get(), &clock_};
  Served served_;
  mutable Mutex keys_mutex_;  // one reload at a time, and none during the start
  // Both are set once. The second is null for plain HTTP.
  std::shared_ptr<ApiKeys> keys_ GUARDED_BY(keys_mutex_);
  std::shared_ptr<TlsCertificate> certificate_ GUARDED_BY(keys_mutex_);
  std::optional<StartGrid> grid_;  // set when loading begins
  std::unique_ptr<LlamaEngine> engine_;
  ServedMedia media_;
  TextModels text_models_;
  std::unique_ptr<ChatTemplate> template_;
  std::unique_ptr<const AnswerScript> script_;
  DiskCache disk_;
  AdapterNames adapter_names_;
  ServedRemote remote_;
  std::unique_ptr<CheckpointCache> cache_;
  ServedDraft draft_;  // empty without a draft model
  std::unique_ptr<MemoryWatch> memory_;
  std::unique_ptr<KvEvents> kv_events_;  // null if none are published
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<SlotFiles> slot_files_;  // null if slots are not saved to files
  std::unique_ptr<ChatService> service_;
  std::unique_ptr<HttpServer> http_;
  std::thread http_thread_;
  std::promise<void> http_ended_;
  std::optional<GracefulStop> graceful_stop_;  // from BeginService() on
};

}  // namespace

int RunServe(const ServeOptions& options) {
  ServeRun run(options);
  return RunServer(&run);
}

}  // namespace cairn
