#include "cmd/serve/start_grid.h"

#include <limits>
#include <memory>
#include <utility>

namespace cairn {
namespace {

constexpr SeqId kProbeSeq = 0;

}  // namespace

StartGrid::StartGrid(Fs* fs, const std::string& folder, bool exact, const Clock* clock, LogSink log)
    : grids_(folder.empty() ? std::nullopt : std::optional<MeasuredGrids>({fs, folder})),
      exact_(exact),
      clock_(clock),
      log_(std::move(log)) {}

void StartGrid::Fill(LlamaOptions* llama) {
  given_ = llama->grid_tokens > 0;
  llama->measure_grid = exact_;
  llama->grid_probe_ms_max = std::numeric_limits<double>::infinity();
  if (grids_) {
    llama->find_grid = [this](const std::string& facts) {
      const MeasuredGrid known = grids_->Find(facts);
      return GridProbe{known.tokens, known.at_messages};
    };
  }
  if (!exact_ || !log_) return;
  llama->probe_progress = [this, said = std::make_shared<bool>(false)](float) {
    if (std::exchange(*said, true)) return;
    log_(LogLevel::kInfo,
         "--reuse exact: measuring the exactness grid before the start; the cache folder keeps it "
         "for the next start, and --grid 64 skips the measurement");
  };
}

IdleWork* StartGrid::AfterLoad(Engine* engine, const std::function<Result<std::string>()>& facts) {
  if (given_ || !grids_) return nullptr;
  auto found = facts();
  if (!found) return nullptr;
  engine_ = engine;
  facts_ = *std::move(found);
  const MemoryTraits& traits = engine->traits();
  if (traits.grid_measured) {
    const MeasuredGrid measured{traits.grid_tokens, traits.cuts_at_messages};
    if (measured.tokens > 0 && grids_->Find(facts_) != measured) Keep(measured);
    return nullptr;
  }
  if (exact_) return nullptr;
  begin_ms_ = clock_->NowMs();
  search_.emplace(engine, kProbeSeq, GridProbeOptions{});
  engine_->StopDecodesIf(&interrupted_);
  return this;
}

bool StartGrid::Step() {
  return search_->Step();
}

void StartGrid::End() {
  engine_->StopDecodesIf(nullptr);
  engine_->Clear(kProbeSeq);
  const GridProbe probe = search_->result();
  if (!probe.finished) return;
  if (probe.grid_tokens > 0) Keep({probe.grid_tokens, probe.at_messages});
  if (!log_) return;
  const size_t assumed_tokens = engine_->traits().grid_tokens;
  std::string found = probe.grid_tokens == 0
                          ? "no exactness grid was found"
                          : "exactness grid " + std::to_string(probe.grid_tokens) + " tokens";
  if (probe.grid_tokens > 0 && !probe.at_messages) found += ", not from message boundaries on";
  if (probe.grid_tokens == assumed_tokens && probe.at_messages) {
    const auto seconds = static_cast<int>((clock_->NowMs() - begin_ms_) / 1000);
    log_(LogLevel::kInfo, found + ": measured while idle, in " + std::to_string(seconds) + " s");
  } else {
    log_(LogLevel::kWarning, found + ", and " + std::to_string(assumed_tokens) +
                                 " were assumed at the start: answers after a cached prefix may "
                                 "differ in the last bits; the next start uses the measured grid");
  }
}

void StartGrid::Keep(const MeasuredGrid& grid) const {
  const Status kept = grids_->Keep(facts_, grid);
  if (kept || !log_) return;
  log_(LogLevel::kDebug,
       "the exactness grid could not be saved and will be measured again at the next start: " +
           kept.error().message);
}

}  // namespace cairn
