// events: the cost of KV events when a conversation has grown by 1,000 tokens. "report" is what the
// thread that computes does; the rest is work of the thread that publishes. The cost must depend on
// what changed, and not on what the cache holds: each is measured in a full cache and in one with a
// tenth of the conversations.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "benchmark.h"
#include "filled_cache.h"
#include "fleet/events/block_tree.h"
#include "fleet/events/kv_event.h"
#include "fleet/events/pseudonymous_ids.h"
#include "made_engine.h"
#include "sched/scheduler.h"

namespace cairn::bench {
namespace {

constexpr size_t kContextTokens = 1024;

class Collected final : public PrefixWatcher {
 public:
  void OnChanges(std::vector<PrefixChange> changes) override { last = std::move(changes); }

  std::vector<PrefixChange> last;
};

class Published {
 public:
  Published(const BenchSizes& sizes, Engine* engine, const TokenIds& ids)
      : sizes_(sizes), filled_(sizes, "value", FilledCache::Room::kPlenty), tree_(ids) {
    SchedulerOptions options;
    options.prefixes = &collected_;
    scheduler_ = std::make_unique<Scheduler>(engine, &filled_.cache(), &clock_, options);
    all_ms_ = TimeMs([&] {
      scheduler_->ReportPrefixes();
      Publish();
    });
  }

  // Adds a conversation of `tokens` new tokens behind the system prefix. Returns the times to
  // report it and to publish it.
  std::pair<double, double> Grow(size_t run, size_t tokens) {
    const size_t begin = sizes_.header_tokens;
    const Tokens prompt = filled_.Diverged(run, begin, begin + tokens);
    Provenance provenance;
    provenance.clean = prompt.size();
    const Status inserted = filled_.cache().InsertSegment(kNamespace, prompt, provenance,
                                                          {begin, prompt.size(), 0}, Bytes(64));
    CHECK(inserted.has_value());
    collected_.last.clear();
    const double report_ms = TimeMs([&] { scheduler_->ReportPrefixes(); });
    CHECK(collected_.last.size() == 1);
    return {report_ms, TimeMs([&] { Publish(); })};
  }
  double Nothing() {
    return TimeMs([&] { scheduler_->ReportPrefixes(); });
  }
  double all_ms() const { return all_ms_; }
  size_t blocks() const { return tree_.blocks(); }
  size_t bytes() const { return bytes_; }

 private:
  void Publish() {
    for (const PrefixChange& change : collected_.last) parts_.Apply(change);
    bytes_ = PackEvents(0, tree_.NextEvents(SIZE_MAX)).size();
  }

  const BenchSizes sizes_;
  const SteadyClock clock_;
  FilledCache filled_;
  Collected collected_;
  BlockTree tree_;
  PartTable parts_{&tree_};
  std::unique_ptr<Scheduler> scheduler_;
  double all_ms_ = 0;
  size_t bytes_ = 0;  // of the last batch
};

void MeasureEvents(const BenchSizes& sizes, Engine* engine, const std::string& what,
                   const TokenIds& ids, std::vector<Row>* rows) {
  constexpr size_t kNewTokens = 1000;
  Published published(sizes, engine, ids);
  Row all{what + ", the whole set", {published.all_ms()}, ""};
  all.note = std::to_string(published.blocks()) + " blocks, " + std::to_string(published.bytes()) +
             " bytes";
  Row nothing{what + ", report nothing", {}, ""};
  Row report{what + ", report", {}, "1000 new tokens"};
  Row publish{what + ", publish", {}, ""};
  for (size_t run = 0; run < sizes.runs; ++run) {
    const auto [report_ms, publish_ms] = published.Grow(run, kNewTokens);
    report.ms.push_back(report_ms);
    publish.ms.push_back(publish_ms);
    nothing.ms.push_back(published.Nothing());
  }
  publish.note = std::to_string(published.bytes()) + " bytes";
  for (Row* row : {&all, &nothing, &report, &publish}) rows->push_back(std::move(*row));
}

}  // namespace

Result<std::vector<Row>> BenchEvents(const BenchSizes& sizes) {
  auto engine = LoadMade({.architecture = "llama"}, kContextTokens, sizes.threads);
  if (!engine) return tl::unexpected(engine.error());
  BenchSizes tenth = sizes;
  tenth.conversations = (sizes.conversations + 9) / 10;
  std::vector<Row> rows;
  MeasureEvents(sizes, engine->get(), "full", {}, &rows);
  MeasureEvents(tenth, engine->get(), "tenth", {}, &rows);
  MeasureEvents(sizes, engine->get(), "full, secret", PseudonymousIds("a secret of some length"),
                &rows);
  return rows;
}

}  // namespace cairn::bench
