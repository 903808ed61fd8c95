#include "cmd/serve/models/serve_models.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "api/json.h"
#include "api/wall_clock.h"
#include "base/clock.h"
#include "base/memory_watch.h"
#include "base/mutex.h"
#include "base/process/spawn.h"
#include "base/process/threads.h"
#include "base/text.h"
#include "cmd/llama_flags/environment.h"
#include "cmd/serve/base/cache_flags.h"
#include "cmd/serve/base/key_flags.h"
#include "cmd/serve/base/models_flags.h"
#include "cmd/serve/base/server_log.h"
#include "cmd/serve/models/cached_models.h"
#include "cmd/serve/stop/run_server.h"
#include "fleet/router/children/cache_shares.h"
#include "fleet/router/children/model_set.h"
#include "fleet/router/presets/models_folder.h"
#include "fleet/router/proxy.h"
#include "fleet/router/router_routes.h"
#include "http/connections/socket.h"
#include "http/server.h"
#include "routes/page.h"
#include "routes/predict_route.h"
#include "routes/request_routes.h"
#include "routes/routes.h"

namespace cairn {
namespace {

std::string JoinKeys(std::vector<std::string> keys, const Environment& environment,
                     std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) keys.push_back(found->second);
  }
  std::string joined;
  for (const std::string& key : keys) joined += (joined.empty() ? "" : ",") + key;
  return joined;
}

bool IsPassedOn(const std::string& name) {
  return !name.starts_with("LLAMA_ARG_") && !name.starts_with("CAIRN_ROUTER_") &&
         !name.starts_with("AIP_") && name != "CAIRN_API_KEY" && name != "LLAMA_API_KEY" &&
         name != "CAIRN_API_KEY_ADMIN";
}

// How long the models' processes wait for handlers that were told to end.
constexpr double kHandlersMsMax = 5'000;

// The parts of a running router in the order of their construction.
class RouterRun {
 public:
  RouterRun(const ServeOptions& options, const std::vector<GivenFlag>& given)
      : options_(options),
        given_(given),
        logger_(MakeServerLog(options)),
        environment_(ProcessEnvironment()),
        cache_bytes_(CacheRamBytes(options)) {}
  ~RouterRun() {
    if (http_) http_->Stop();
    if (http_thread_.joinable()) http_thread_.join();
    shares_now_ = nullptr;
    shares_.reset();  // it holds leases of the models
  }

  const ServerLog& log() const { return logger_; }
  // The models' processes stop after the answers, each within its own limit.
  EndLimits end_limits() const {
    return {static_cast<double>(options_.shutdown_timeout_s) * 1000 + children_stop_ms_ +
            kHandlersMsMax + kStopGraceMs};
  }

  Status Run() {
    const double started_ms = clock_.NowMs();
    auto read = ReadModels(given_, options_);
    if (!read) return tl::unexpected(read.error());
    LogFlagNotes(options_.flag_notes, logger_.sink());
    SayModels(*read);
    if (Status keys = ReadKeys(); !keys) return keys;
    auto certificate = CertificateOf(options_);
    if (!certificate) return tl::unexpected(certificate.error());
    WarnOfReaders(logger_, "--ssl-key-file", options_.ssl_key_file);
    certificate_ = std::move(*certificate);
    if (Status bound = StartHttp(std::move(read->models)); !bound) return bound;
    // With --port 0 this line has the port, so it is logged at every level.
    logger_.always()->info("ready after {:.1f} s: {}", (clock_.NowMs() - started_ms) / 1000,
                           UrlOf(certificate_ != nullptr, options_.host, http_->port()));
    is_ready_ = true;
    stop_asked_.get_future().wait();
    const double answers_ms_max = static_cast<double>(options_.shutdown_timeout_s) * 1000;
    if (!models_->Drain(answers_ms_max)) {
      logger_->warn("--shutdown-timeout of {} s ended before all answers did",
                    options_.shutdown_timeout_s);
    }
    http_->Stop();
    // A handler that never returns must not keep the models' processes, which have states to save.
    http_ended_.get_future().wait_for(std::chrono::duration<double, std::milli>(kHandlersMsMax));
    models_->StopAll();
    return {};
  }

  // May be called repeatedly, on one thread.
  void StopOnSignal(int signal) {
    if (!is_ready_) std::_Exit(128 + signal);
    if (std::exchange(stopping_, true)) {
      if (signal != SIGINT) return;
      logger_->warn("interrupted again: exiting now; unsaved state is lost");
      models_->Kill();
      std::_Exit(128 + signal);
    }
    logger_->info(
        "stopping: waiting for answers and for the models to save their cache; Ctrl-C "
        "again exits at once");
    stop_asked_.set_value();
  }

  // May be called repeatedly, on one thread. An invalid file changes nothing.
  void Reload() {
    if (!is_ready_) return;
    ReloadCertificate(logger_, options_, certificate_.get());
    if (options_.api_key_file.empty()) return;
    const auto texts = KeysOf(options_);
    const Status replaced = texts ? keys_->Replace(*texts) : Status(tl::unexpected(texts.error()));
    if (!replaced) {
      logger_->warn("SIGHUP: keeping the previous API keys: {}", replaced.error().message);
      return;
    }
    logger_->info("SIGHUP: reloaded, {} API keys", keys_->size());
    WarnOfReaders(logger_, "--api-key-file", options_.api_key_file);
    models_->Reload();
  }

 private:
  void SayModels(const PresetModels& read) const {
    std::vector<std::string> names;
    for (const ModelEntry& model : read.models) names.push_back(model.name);
    logger_->info("{} models: {}", names.size(), JoinNames(names));
    if (!read.ignored.empty()) {
      logger_->info("{}: these keys of llama-server have no effect here", JoinNames(read.ignored));
    }
  }

  Status ReadKeys() {
    const auto texts = KeysOf(options_);
    if (!texts) return tl::unexpected(texts.error());
    auto keys = ApiKeys::Make(*texts);
    if (!keys) return tl::unexpected(keys.error());
    WarnOfReaders(logger_, "--api-key-file", options_.api_key_file);
    keys_ = std::move(*keys);
    return {};
  }

  Status StartHttp(std::vector<ModelEntry> models) {
    HttpServerOptions http = ToHttpOptions(options_, keys_, certificate_, logger_);
    const auto predict = PredictOptionsOf(environment_);
    if (!predict) return tl::unexpected(predict.error());
    if (*predict) http.port = (*predict)->port.value_or(http.port);
    http.answer_headers = [this](std::string_view path) {
      return std::vector{RequestIdHeader(path, started_unix_s_, ++requests_)};
    };
    refusals_.SetLog(logger_.sink());
    refusals_.SetIdTag("router-");
    http.on_refusal = NoteIn(&refusals_);
    http_ = std::make_unique<HttpServer>(std::move(http));
    proxy_ = std::make_unique<Proxy>(keys_);
    MakeModels(std::move(models));
    parts_ = {models_.get(),
              proxy_.get(),
              keys_,
              options_.models.models_max,
              options_.models.autoload,
              CAIRN_VERSION,
              &refusals_,
              [this] { return ReloadModels(); }};
    AddRouterRoutes(http_.get(), &parts_);
    if (options_.page) AddPageRoutes(http_.get(), BuiltPage());
    if (*predict) AddPredictRoute(http_.get(), **predict);
    if (Status bound = http_->Bind(); !bound) return bound;
    if (options_.insecure && keys_->empty()) {
      logger_->warn("--insecure: everyone who can reach {} can send requests to all models",
                    options_.host);
    }
    models_->Begin();
    http_thread_ = std::thread([this] {
      static_cast<void>(TryWork([this] { http_->Serve(); }));
      http_ended_.set_value();
    });
    return {};
  }

  // Reads the presets and the folders again.
  Status ReloadModels() {
    const MutexLock lock(reload_mutex_);
    ServeOptions now = options_;
    if (!now.models.cached.empty()) now.models.cached = CachedModels();
    auto read = ReadModels(given_, now);
    if (!read) return tl::unexpected(read.error());
    SayModels(*read);
    NoteStopLimits(read->models);
    models_->SetModels(std::move(read->models));
    return {};
  }

  void NoteStopLimits(const std::vector<ModelEntry>& models) {
    for (const ModelEntry& model : models) {
      children_stop_ms_ = std::max(children_stop_ms_.load(), model.stop_timeout_s * 1000);
    }
  }

  void MakeModels(std::vector<ModelEntry> models) {
    ModelSetOptions set;
    NoteStopLimits(models);
    set.models = std::move(models);
    if (options_.models.models_max > 0) set.limits.models = options_.models.models_max;
    set.limits.bytes = ModelsMemoryBytes();
    set.expected_bytes = FileBytes;
    set.clock = &clock_;
    set.log = logger_.sink();
    set.start = [this](const ModelEntry& model, size_t running, ChildCallbacks callbacks) {
      return std::make_unique<ChildProcess>(
          CommandOf(model, ++children_, ShareMib(running), options_, environment_),
          std::move(callbacks));
    };
    set.on_change = [this] {
      if (CacheShares* const shares = shares_now_.load(); shares != nullptr) shares->Update();
    };
    set.child_log = [format = logger_.format()](const std::string& model, std::string_view line) {
      const std::string text = PrefixedLine(format, model, line) + "\n";
      std::fwrite(text.data(), 1, text.size(), stderr);
    };
    models_ = std::make_unique<ModelSet>(std::move(set));
    shares_ = std::make_unique<CacheShares>(models_.get(), cache_bytes_, keys_, logger_.sink());
    shares_now_ = shares_.get();
  }

  uint64_t ModelsMemoryBytes() const {
    if (options_.models.memory_mib == 0) return UINT64_MAX;
    if (options_.models.memory_mib) {
      return static_cast<uint64_t>(*options_.models.memory_mib) << 20;
    }
    const uint64_t machine_bytes = MakeMemoryWatch(SystemMemorySources())->Look().limit_bytes;
    const uint64_t usable_bytes = machine_bytes / 10 * 9;
    return usable_bytes - std::min<uint64_t>(usable_bytes / 2, cache_bytes_);
  }

  int64_t ShareMib(size_t running) const {
    if (cache_bytes_ == SIZE_MAX) return -1;
    return static_cast<int64_t>(CacheShare(cache_bytes_, running) >> 20);
  }

  const ServeOptions& options_;
  const std::vector<GivenFlag>& given_;
  const ServerLog logger_;
  const Environment environment_;
  const SteadyClock clock_;
  const int64_t started_unix_s_ = NowUnixS();
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<size_t> children_ = 0;
  bool stopping_ = false;  // of the signal thread
  std::atomic<bool> is_ready_ = false;
  std::atomic<double> children_stop_ms_ = 0;  // the longest limit of a model's process
  std::promise<void> stop_asked_;
  Mutex reload_mutex_;  // guards no member: one reload at a time
  std::shared_ptr<ApiKeys> keys_;
  std::shared_ptr<TlsCertificate> certificate_;     // null for plain HTTP
  const size_t cache_bytes_;                        // for all models together; SIZE_MAX: no limit
  std::atomic<CacheShares*> shares_now_ = nullptr;  // the same as shares_, for other threads
  std::unique_ptr<ModelSet> models_;
  std::unique_ptr<CacheShares> shares_;
  std::unique_ptr<const Proxy> proxy_;
  Refusals refusals_{&clock_};  // of the router itself
  RouterParts parts_;
  std::unique_ptr<HttpServer> http_;
  std::thread http_thread_;
  std::promise<void> http_ended_;
};

}  // namespace

ChildCommand CommandOf(const ModelEntry& model, size_t number, int64_t cache_ram_mib,
                       const ServeOptions& options, const Environment& environment) {
  ChildCommand command;
  command.argv = {OwnProgram()};
  command.argv.insert(command.argv.end(), model.arguments.begin(), model.arguments.end());
  if (!HasOwnBudget(model)) {
    command.argv.push_back("--cache-ram=" + std::to_string(cache_ram_mib));
  }
  command.argv.insert(command.argv.end(), {"--host=127.0.0.1", "--port=0"});
  if (!options.api_key_file.empty()) {
    command.argv.push_back("--api-key-file=" + options.api_key_file);
  }
  for (const auto& [name, value] : environment) {
    if (IsPassedOn(name)) command.environment.push_back(name + "=" + value);
  }
  const std::string keys =
      JoinKeys(options.api_keys, environment, {"CAIRN_API_KEY", "LLAMA_API_KEY"});
  if (!keys.empty()) command.environment.push_back("CAIRN_API_KEY=" + keys);
  const std::string admins = JoinKeys(options.admin_keys, environment, {"CAIRN_API_KEY_ADMIN"});
  if (!admins.empty()) command.environment.push_back("CAIRN_API_KEY_ADMIN=" + admins);
  for (std::string& variable : RoutedChildVariables(number)) {
    command.environment.push_back(std::move(variable));
  }
  return command;
}

std::string PrefixedLine(LogFormat format, const std::string& model, std::string_view line) {
  if (format != LogFormat::kJson || !line.starts_with('{') || line.size() < 3) {
    return "[" + model + "] " + std::string(line);
  }
  return "{\"model\":" + ToText(Json(model)) + "," + std::string(line.substr(1));
}

int RunServeModels(const ServeOptions& options, const std::vector<GivenFlag>& given) {
  RouterRun run(options, given);
  return RunServer(&run);
}

}  // namespace cairn
