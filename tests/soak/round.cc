#include "soak/round.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "lab/maker/llama_model_maker.h"
#include "lab/maker/model_recipe.h"
#include "soak/client.h"
#include "soak/damage.h"

namespace cairn::soak {
namespace {

namespace stdfs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr double kShareOfKills = 0.5;  // of a round's time; the rest is one life
constexpr size_t kBurst = 12;
constexpr size_t kConnectionsHeld = 32;  // more than clients and a burst have at once
// Samples of the resident set, 100 ms each, from which on its growth is judged.
constexpr size_t kSamplesOfResidentMin = 600;

Status MakeModel(const std::string& architecture, const std::string& path) {
  ModelShape shape;
  shape.architecture = architecture;
  const auto recipe = MakeRecipe(shape);
  if (!recipe) return tl::unexpected<Error>(recipe.error());
  const auto written = WriteModel(*recipe, path, {});
  if (!written) return tl::unexpected<Error>(written.error());
  return {};
}

// Returns the value of a metric without labels on the page of /metrics; nullopt if it is not there.
std::optional<double> MetricIn(const std::string& page, const std::string& name) {
  const size_t found = page.find("\n" + name + " ");
  if (found == std::string::npos) return std::nullopt;
  return std::strtod(page.c_str() + found + name.size() + 2, nullptr);
}

std::string MetricsOf(const Life& life) {
  std::string page;
  return Send(life.url, kKeys[0], "GET", "/metrics", "", &page) == 200 ? page : "";
}

class Round {
 public:
  Round(const RoundPlan& plan, const RoundOptions& options)
      : plan_(plan),
        options_(options),
        dice_(plan.seed, "what befalls it"),
        began_(steady_clock::now()) {}

  RoundResult Play();

 private:
  Status Prepare();
  void PlayLives(Company* company);
  // The neighbour is killed and restarted independently, while the other server runs on.
  bool StartNeighbour(Company* company);
  void EndNeighbour(Company* company, bool kill);
  void PlayLastLife(Company* company);
  void Befall(Company* company);
  void EndLife(Company* company);
  void DamageWhileDown();
  void WriteKeys(size_t more) const;
  bool StartLife(Company* company);
  bool Alive(Company* company);
  bool SampleUntil(double share, Company* company, std::vector<uint64_t>* series);
  void CheckCache(Company* company, const Life& life);
  std::optional<ProcessSample> SampleQuiet(Company* company, const ProcessSample* like);
  bool ComesToRest();
  void JudgeLastLife(Company* company, const std::vector<uint64_t>& series);
  void JudgeGrowth(const std::vector<uint64_t>& series);
  void WriteSeries(const std::vector<uint64_t>& series) const;
  void CheckFolder();
  void WatchForInterruption(const Company& company);
  void Say(const std::string& what);

  double Elapsed() const {
    return std::chrono::duration<double>(steady_clock::now() - began_).count();
  }
  bool Interrupted() const { return options_.interrupted->load(); }
  // Failures during an interruption do not count.
  void Fail(const std::string& what, const std::string& detail = "") {
    if (Interrupted()) return;
    tally_.Fail("round " + std::to_string(plan_.number) + " (" + plan_.model.architecture +
                    "), life " + std::to_string(lives_) + ": " + what,
                detail);
  }

  const RoundPlan plan_;
  const RoundOptions options_;
  SeededText dice_;
  const steady_clock::time_point began_;
  Tally tally_;
  std::unique_ptr<Oracle> oracle_;
  std::unique_ptr<Subject> subject_;
  std::unique_ptr<Subject> neighbour_;  // nullptr: there is none
  size_t lives_ = 0;
  size_t neighbour_lives_ = 0;
  double said_at_ = 0;
  // From /metrics, four times a second; the series have one at each sample of the last life.
  uint64_t cache_now_ = 0;
  uint64_t other_now_ = 0;  // of the heap, without the cache
  std::vector<uint64_t> cache_bytes_;
  std::vector<uint64_t> other_bytes_;
  RoundResult result_;
};

Status Round::Prepare() {
  std::error_code error;
  stdfs::remove_all(options_.folder, error);
  for (const char* name : {"/cache", "/slots"}) {
    stdfs::create_directories(options_.folder + name, error);
    if (error) {
      return cairn::Fail(ErrorCode::kUnavailable, options_.folder + name + ": " + error.message());
    }
  }
  const std::string model = options_.folder + "/" + plan_.model.architecture + ".gguf";
  if (Status made = MakeModel(plan_.model.architecture, model); !made) return made;
  WriteKeys(0);
  auto oracle =
      Oracle::Start(options_.program, model, plan_, options_.folder + "/without_cache.log");
  if (!oracle) return tl::unexpected<Error>(oracle.error());
  oracle_ = std::move(*oracle);
  SubjectOptions subject = {options_.program,           model,
                            options_.folder + "/cache", options_.folder + "/slots",
                            options_.folder + "/keys",  options_.folder + "/server.log"};
  subject_ = std::make_unique<Subject>(subject);
  if (!plan_.neighbour) return {};
  subject.log_path = options_.folder + "/neighbour.log";
  neighbour_ = std::make_unique<Subject>(subject);
  return {};
}

void Round::WriteKeys(size_t more) const {
  const std::string path = options_.folder + "/keys";
  std::ofstream file(path + ".new");
  for (size_t i = 0; i < more; ++i) file << "guest" << i << " soak-guest-" << i << "\n";
  // The first one may flush the cache.
  for (const char* key : kKeys) file << (key == kKeys[0] ? "admin soak " : "") << key << "\n";
  file.close();
  std::error_code error;
  stdfs::permissions(path + ".new", stdfs::perms::owner_read | stdfs::perms::owner_write, error);
  stdfs::rename(path + ".new", path, error);
}

void Round::Say(const std::string& what) {
  constexpr double kEveryS = 5;
  if (Elapsed() - said_at_ < kEveryS) return;
  said_at_ = Elapsed();
  options_.say("round " + std::to_string(plan_.number) + " " + plan_.model.architecture + ", " +
               std::to_string(static_cast<int>(Elapsed())) + " s, " + what + ": " +
               std::to_string(tally_.Of("answers checked")) + " answers checked, " +
               std::to_string(tally_.Of("killed")) + " kills, " +
               std::to_string(tally_.fault_count()) + " faults");
}

bool Round::StartLife(Company* company) {
  ++lives_;
  Flags flags = FlagsOfLife(plan_, lives_);
  const Status started = subject_->Start(flags);
  if (started) return true;
  Fail("the server does not start: " + started.error().message);
  company->stopped.store(true);
  return false;
}

bool Round::StartNeighbour(Company* company) {
  if (neighbour_ == nullptr) return true;
  const Status started = neighbour_->Start(FlagsOfNeighbour(plan_, ++neighbour_lives_));
  if (started) return true;
  Fail("the neighbour does not start: " + started.error().message);
  company->stopped.store(true);
  return false;
}

void Round::EndNeighbour(Company* company, bool kill) {
  if (neighbour_ == nullptr || neighbour_->Current() == nullptr) return;
  const int code = neighbour_->End(kill ? SIGKILL : SIGTERM);
  tally_.Count(kill ? "neighbours killed" : "neighbours ended");
  if (kill || code == 0) return;
  Fail("SIGTERM ended the neighbour with code " + std::to_string(code), neighbour_->LastLines());
  company->stopped.store(true);
}

bool Round::Alive(Company* company) {
  for (Subject* one : {subject_.get(), neighbour_.get()}) {
    if (one == nullptr || one->Current() == nullptr) continue;
    const auto died = one->Died();
    if (!died) continue;
    Fail((one == subject_.get() ? "the server" : "the neighbour") +
             std::string(" ended by itself with code ") + std::to_string(*died),
         one->LastLines());
    company->stopped.store(true);
    return false;
  }
  return true;
}

void Round::Befall(Company* company) {
  const uint64_t what = dice_.Number(160);
  const auto life = subject_->Current();
  if (what < 4) {
    WriteKeys(dice_.Number(3));
    subject_->Signal(SIGHUP);
    tally_.Count("SIGHUP");
  } else if (what == 4) {
    Burst(company, *life, kBurst, dice_.Number(UINT64_MAX));
  }
}

void Round::EndLife(Company* company) {
  const bool kill = dice_.Number(100) < 60;
  if (kill && dice_.Number(2) == 0) {  // possibly in the middle of a write
    for (int i = 0; i < 200; ++i) {
      if (CountFiles(options_.folder + "/cache").unfinished > 0) {
        tally_.Count("killed while writing");
        break;
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  const int code = subject_->End(kill ? SIGKILL : SIGTERM);
  if (kill) {
    tally_.Count("killed");
  } else if (code != 0) {
    Fail("SIGTERM ended it with code " + std::to_string(code), subject_->LastLines());
    company->stopped.store(true);
  } else {
    tally_.Count("ended and started again");
  }
}

void Round::DamageWhileDown() {
  for (uint64_t times = dice_.Number(4); times > 0; --times) {
    const std::string what = DamageFolder(options_.folder + "/cache", &dice_);
    if (what.empty()) return;
    tally_.Count("damaged files");
    tally_.Count("damaged: " + what);
  }
}

void Round::PlayLives(Company* company) {
  if (!StartNeighbour(company)) return;
  while (!company->stopped.load() && !Interrupted() && Elapsed() < plan_.seconds * kShareOfKills) {
    if (!StartLife(company)) return;
    const double until = Elapsed() + 0.3 + static_cast<double>(dice_.Number(4000)) / 1000;
    while (Elapsed() < until && !Interrupted() && Alive(company)) {
      Befall(company);
      std::this_thread::sleep_for(milliseconds(50));
    }
    if (company->stopped.load()) return;
    EndLife(company);
    DamageWhileDown();
    if (neighbour_ != nullptr && dice_.Number(3) == 0) {
      EndNeighbour(company, dice_.Number(2) == 0);
      if (!StartNeighbour(company)) return;
    }
    Say("killing");
  }
}

bool Round::SampleUntil(double share, Company* company, std::vector<uint64_t>* series) {
  double looked_at = 0;
  while (Elapsed() < plan_.seconds * share) {
    if (company->stopped.load() || Interrupted() || !Alive(company)) return false;
    Befall(company);
    const auto sample = subject_->Sample();
    if (sample && series != nullptr) {
      series->push_back(sample->own_bytes);
      cache_bytes_.push_back(cache_now_);
      other_bytes_.push_back(other_now_);
    }
    if (Elapsed() - looked_at > 0.25) {
      looked_at = Elapsed();
      CheckCache(company, *subject_->Current());
    }
    Say("counting");
    std::this_thread::sleep_for(milliseconds(100));
  }
  return true;
}

void Round::CheckCache(Company* company, const Life& life) {
  const std::string page = MetricsOf(life);
  const auto bytes = MetricIn(page, "cairn_cache_bytes");
  const auto limit = MetricIn(page, "cairn_cache_limit_bytes");
  const auto heap = MetricIn(page, "cairn_heap_used_bytes");
  if (!bytes || !limit || !heap) {
    Fail("/metrics does not say how large the cache and the heap are");
    company->stopped.store(true);
  } else if (*bytes > *limit) {
    Fail("the cache has " + std::to_string(*bytes) + " of " + std::to_string(*limit) + " bytes");
    company->stopped.store(true);
  } else {
    cache_now_ = static_cast<uint64_t>(*bytes);
    other_now_ = static_cast<uint64_t>(std::max(*heap - *bytes, 0.0));
  }
}

// Samples the server without clients, once everything is saved and the model is loaded. With
// `like`, waits some seconds for the process to return to that sample: connections close slowly.
std::optional<ProcessSample> Round::SampleQuiet(Company* company, const ProcessSample* like) {
  WaitUntilQuiet(*company);
  const auto life = subject_->Current();
  const std::string wake = R"({"prompt":"wake up","n_predict":1,"temperature":0})";
  Send(life->url, kKeys[0], "POST", "/cairn/cache/flush", "", nullptr);
  constexpr int kTries = 40;
  std::optional<ProcessSample> before;
  for (int i = 0; i < kTries; ++i) {
    Send(life->url, kKeys[0], "POST", "/completion", wake, nullptr);
    std::this_thread::sleep_for(milliseconds(200));
    auto now = subject_->Sample();
    if (!now) return std::nullopt;
    const ProcessSample* const wanted = like != nullptr ? like : before ? &*before : nullptr;
    if (wanted != nullptr && CompareHeld(*wanted, *now).empty()) return now;
    before = now;
  }
  return before;
}

// Prefetches for the next turns may go on for a while.
bool Round::ComesToRest() {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const Life& life = *subject_->Current();
    const std::string page = MetricsOf(life);
    if (MetricIn(page, "cairn_requests_waiting") == 0 && MetricIn(page, "cairn_slots_busy") == 0) {
      return true;
    }
    std::this_thread::sleep_for(milliseconds(100));
  }
  return false;
}

void Round::PlayLastLife(Company* company) {
  if (!StartLife(company)) return;
  constexpr double kPrefetch = kShareOfKills + 0.1;
  constexpr double kUntil = 0.95;
  if (!HoldConnections(*subject_->Current(), kConnectionsHeld)) {
    Fail("of " + std::to_string(kConnectionsHeld) + " connections not all were answered");
  }
  Burst(company, *subject_->Current(), kBurst, dice_.Number(UINT64_MAX));
  if (!SampleUntil(kPrefetch, company, nullptr)) return;
  company->paused.store(true);
  const auto begin = SampleQuiet(company, nullptr);
  company->paused.store(false);
  if (!begin) return;
  result_.begin = *begin;
  std::vector<uint64_t> series;
  cache_bytes_.clear();
  other_bytes_.clear();
  if (!SampleUntil(kUntil, company, &series)) return;
  company->paused.store(true);
  JudgeLastLife(company, series);
  company->stopped.store(true);
  const int code = subject_->End(SIGTERM);
  if (code != 0) {
    Fail("SIGTERM ended it with code " + std::to_string(code), subject_->LastLines());
  }
  EndNeighbour(company, false);
  CheckFolder();
}

// A line per 100 ms, so that someone can see where memory went.
void Round::WriteSeries(const std::vector<uint64_t>& series) const {
  std::ofstream file(options_.folder + "/memory.tsv");
  file << "resident_bytes\tcache_bytes\tother_heap_bytes\n";
  for (size_t i = 0; i < series.size(); ++i) {
    file << series[i] << '\t' << cache_bytes_[i] << '\t' << other_bytes_[i] << '\n';
  }
}

// The heap is judged in every round, because a leak shows in it at once. The resident set also has
// what the allocator keeps; it reaches its level in the first minute.
void Round::JudgeGrowth(const std::vector<uint64_t>& series) {
  const uint64_t queue_bytes = QueueBytesMax(FlagsOfLife(plan_, lives_));
  result_.growth_bytes = GrowthBytes(other_bytes_);
  result_.growth_allowed = GrowthAllowed(other_bytes_) + queue_bytes;
  if (result_.growth_bytes > result_.growth_allowed) {
    Fail("memory grew by " + std::to_string(result_.growth_bytes >> 10U) + " KiB");
  }
  if (series.size() < kSamplesOfResidentMin) return;
  const uint64_t resident = GrowthBytes(series);
  // The cache may fill up to --cache-ram.
  if (resident > GrowthAllowed(series) + GrowthBytes(cache_bytes_) + queue_bytes) {
    Fail("the resident set grew by " + std::to_string(resident >> 10U) + " KiB");
  }
}

void Round::JudgeLastLife(Company* company, const std::vector<uint64_t>& series) {
  const auto end = SampleQuiet(company, &result_.begin);
  if (!end) {
    Alive(company);
    return;
  }
  result_.end = *end;
  const std::string changed = CompareHeld(result_.begin, *end);
  if (!changed.empty()) Fail(changed);
  result_.samples = series.size();
  WriteSeries(series);
  JudgeGrowth(series);
  if (!ComesToRest()) Fail("requests are left where nobody asks");
}

void Round::CheckFolder() {
  const FolderFiles files = CountFiles(options_.folder + "/cache");
  if (files.object_bytes > plan_.disk_bytes) {
    Fail("the folder has " + std::to_string(files.object_bytes) + " of " +
         std::to_string(plan_.disk_bytes) + " bytes");
  }
  if (files.unfinished > 0) {
    Fail(std::to_string(files.unfinished) + " files that were being written are left");
  }
  tally_.Count("files at the end", files.objects);
}

// Ends all waiting for answers once the user interrupts.
void Round::WatchForInterruption(const Company& company) {
  while (!company.stopped.load() && !Interrupted()) std::this_thread::sleep_for(milliseconds(50));
  if (!Interrupted()) return;
  oracle_->Kill();
  subject_->Kill();
  if (neighbour_ != nullptr) neighbour_->Kill();
}

RoundResult Round::Play() {
  result_.plan = plan_;
  if (const Status prepared = Prepare(); !prepared) {
    Fail("it cannot begin: " + prepared.error().message);
  } else {
    Company company{.plan = plan_,
                    .subject = *subject_,
                    .neighbour = neighbour_.get(),
                    .oracle = *oracle_,
                    .tally = tally_,
                    .interrupted = *options_.interrupted,
                    .folder = options_.folder};
    std::thread watcher([&] { WatchForInterruption(company); });
    std::vector<std::thread> clients;
    for (size_t i = 0; i < plan_.clients; ++i) clients.emplace_back(RunClient, &company, i);
    PlayLives(&company);
    AgeUnfinished(options_.folder + "/cache");
    if (!company.stopped.load() && !Interrupted()) PlayLastLife(&company);
    company.stopped.store(true);
    if (subject_->Current() != nullptr) subject_->End(SIGTERM);
    EndNeighbour(&company, false);
    for (std::thread& client : clients) client.join();
    watcher.join();
  }
  // A slow machine may answer no more than this where there is something to reuse, and some of it
  // was lost with a killed server.
  constexpr uint64_t kAnswersMin = 20;
  const bool reused = tally_.Of("prompt tokens reused") > 0 ||
                      tally_.Of("answers behind a known header") < kAnswersMin;
  if (!Interrupted() && tally_.fault_count() == 0 && !reused) {
    Fail("nothing was ever reused");
  }
  const auto changed = static_cast<double>(tally_.Of("answers that live reuse changed"));
  const auto same = static_cast<double>(tally_.Of("answers checked"));
  if (changed > kLiveDifferMin + kLiveDifferShare * (changed + same)) {
    Fail("live reuse changed more answers than nearly equal tokens explain");
  }
  result_.counts = tally_.counts();
  result_.faults = tally_.faults();
  result_.lives = lives_;
  subject_ = nullptr;
  neighbour_ = nullptr;
  oracle_ = nullptr;
  std::error_code error;
  if (result_.faults.empty()) stdfs::remove_all(options_.folder, error);
  return std::move(result_);
}

}  // namespace

RoundResult PlayRound(const RoundPlan& plan, const RoundOptions& options) {
  return Round(plan, options).Play();
}

}  // namespace cairn::soak
