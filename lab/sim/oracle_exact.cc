#include "lab/sim/oracle_exact.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "tree/prompt_cuts.h"

namespace cairn {
namespace {

// Longer traces are only bounded: their prices converge slowly.
constexpr size_t kRequestsMax = 4096;
// Rounds in which the prices and the best known choice improve each other.
constexpr size_t kRefinements = 3;
constexpr size_t kRefineRounds = 500;
// The beam width of the first searches, which look for a good choice before the exhaustive search.
constexpr size_t kFewWays = 32;
constexpr size_t kFewPlaces = 4096;
// Bounds the rounding error of sums of prices, in tokens.
constexpr double kRoundingError = 1e-3;

// A resume point of a request.
struct Place {
  size_t position = 0;
  // The loss of savings at these prices against the request's best point, if the snapshot is kept
  // only since its tokens were last seen. The real loss is at least as large.
  double loss = 0;
};

// The resume points of the first requests: a partial choice.
struct Way {
  uint64_t saved = 0;
  double loss = 0;  // in tokens, against the prices' bound
  std::vector<size_t> chosen;
  std::vector<double> used;  // bytes from request i to the next: integers
};

// A snapshot from which a request may resume.
struct Want {
  size_t request = 0;
  size_t position = 0;
};

class ExactSearch {
 public:
  ExactSearch(const std::vector<OracleNeeds>& needs, const OracleInput& input,
              const OraclePrices& prices)
      : needs_(needs),
        input_(input),
        prices_(prices),
        memory_(std::min(input.memory_bytes, 0x1p62)) {}

  OracleSearch Run() {
    if (const auto all = SaveAll()) return {*all, static_cast<double>(*all), true};
    bool exact = false;
    if (FindPlaces()) {
      FindUnit();
      exact = Search(1);
      for (size_t i = 0; i < kRefinements && !exact; ++i) {
        prices_ = RefinePrices(needs_, input_, prices_, static_cast<double>(best_),
                               static_cast<double>(unit_), kRefineRounds);
        FindPlaces();
        exact = Search(kFewWays);
      }
      exact = exact || Search(SIZE_MAX);
    }
    return {best_, exact ? static_cast<double>(best_) : prices_.saved_tokens_max, exact};
  }

 private:
  // Resumes every request from its deepest point; nullopt if that does not fit into memory.
  std::optional<uint64_t> SaveAll() const {
    Way all;
    std::vector<double> more(needs_.size() + 1, 0);
    for (size_t j = 0; j < needs_.size(); ++j) {
      const size_t deepest = needs_[j].deepest;
      all.saved += deepest;
      ForEachKept(all, j, deepest, [&](size_t from, double bytes) {
        more[from] += bytes;
        more[j] -= bytes;
      });
      all.chosen.push_back(deepest);
    }
    double used = 0;
    for (const double bytes : more) {
      used += bytes;
      if (used > memory_) return std::nullopt;
    }
    return all.saved;
  }

  // Returns false if there are too many resume points to search.
  bool FindPlaces() {
    places_.clear();
    place_count_ = 0;
    if (needs_.size() > kRequestsMax) return false;
    for (size_t j = 0; j < needs_.size() && place_count_ < input_.steps_max; ++j) {
      places_.push_back(PlacesOf(j));
      place_count_ += places_.back().size();
    }
    return place_count_ < input_.steps_max;
  }

  std::vector<Place> PlacesOf(size_t j) const {
    const OracleNeeds& request = needs_[j];
    std::vector<Place> places = {{0, prices_.best[j]}};
    const PromptCuts cuts(input_.grid_tokens, request.prompt_tokens);
    const size_t on_grid_max = std::min(cuts.Last(), request.deepest);
    std::vector<size_t> positions = request.ends;
    for (size_t p = input_.grid_tokens; p <= on_grid_max; p += input_.grid_tokens) {
      positions.push_back(p);
    }
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    for (const size_t p : positions) places.push_back({p, prices_.best[j] - ValueOf(j, p)});
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.loss < b.loss; });
    return places;
  }

  void FindUnit() {
    unit_ = input_.grid_tokens;
    for (const OracleNeeds& request : needs_) {
      for (const size_t end : request.ends) unit_ = std::gcd(unit_, end);
    }
  }

  double SnapshotBytes() const { return static_cast<double>(input_.snapshot_bytes); }
  bool NeedsSnapshot(size_t position) const {
    return input_.snapshot_bytes > 0 && position > input_.free_tokens;
  }

  // Returns the savings of a resume point at these prices, its snapshot kept for the least time.
  double ValueOf(size_t j, size_t position) const {
    const auto kv = static_cast<double>(input_.kv_bytes_per_token);
    double value = 0;
    size_t begin = 0;
    for (const OracleRun& run : needs_[j].runs) {
      const size_t end = std::min(run.end_tokens, position);
      const double price = prices_.PriceOf(run.last_seen, j);
      value += static_cast<double>(end - begin) * (1 - kv * price);
      begin = end;
      if (end < position) continue;
      if (NeedsSnapshot(position)) value -= SnapshotBytes() * price;
      break;
    }
    return value;
  }

  size_t LastSeen(size_t j, size_t position) const {
    const std::vector<OracleRun>& runs = needs_[j].runs;
    const auto found = std::find_if(
        runs.begin(), runs.end(), [&](const OracleRun& run) { return run.end_tokens >= position; });
    CHECK(found != runs.end());
    return found->last_seen;
  }

  // Returns the last request before j that left or used a snapshot at `position`: of the requests
  // that hold the position, the last one that did not resume beyond it.
  size_t SnapshotFrom(const Way& way, size_t j, size_t position) const {
    size_t from = LastSeen(j, position);
    while (way.chosen[from] > position) from = LastSeen(from, position);
    return from;
  }

  // Calls keep(since, bytes) for each item that must be kept until j so that j can resume there.
  template <typename Function>
  void ForEachKept(const Way& way, size_t j, size_t position, const Function& keep) const {
    size_t begin = 0;
    for (const OracleRun& run : needs_[j].runs) {
      if (begin >= position) break;
      const size_t end = std::min(run.end_tokens, position);
      keep(run.last_seen, static_cast<double>((end - begin) * input_.kv_bytes_per_token));
      begin = end;
    }
    if (position > 0 && NeedsSnapshot(position)) {
      keep(SnapshotFrom(way, j, position), SnapshotBytes());
    }
  }

  // Extends all choices that may beat the best known one, request by request. Where there are more
  // than `ways_max`, only the most promising are followed. Returns true if none was left out.
  // Merges equal futures only where that pays: with many resume points, detecting them costs more
  // than following a few choices twice.
  bool Search(size_t ways_max) {
    bool all = true;
    std::vector<Way> ways(1);
    for (size_t j = 0; j < needs_.size(); ++j) {
      std::vector<Way> next;
      merges_ = ways_max == SIZE_MAX || place_count_ <= kFewPlaces;
      if (merges_) FindWants(j + 1);
      for (const Way& way : ways) Extend(way, j, &next);
      if (steps_ > input_.steps_max) return false;
      if (next.size() > ways_max) {
        all = false;
        const auto end = next.begin() + static_cast<std::ptrdiff_t>(ways_max);
        std::nth_element(next.begin(), end, next.end(),
                         [](const Way& a, const Way& b) { return a.loss < b.loss; });
        next.erase(end, next.end());
      }
      ways = std::move(next);
    }
    for (const Way& way : ways) best_ = std::max(best_, way.saved);
    return all;
  }

  void Extend(const Way& way, size_t j, std::vector<Way>* next) {
    for (const Place& place : places_[j]) {
      if (++steps_ > input_.steps_max || !CanBeat(way.loss + place.loss)) return;
      Way longer;
      longer.loss = way.loss + place.loss;
      if (place.position > 0 && NeedsSnapshot(place.position)) {
        const size_t from = SnapshotFrom(way, j, place.position);
        longer.loss += SnapshotBytes() * prices_.PriceOf(from, LastSeen(j, place.position));
        if (!CanBeat(longer.loss)) continue;
      }
      longer.used = way.used;
      longer.used.push_back(0);
      steps_ += j;
      if (!Keep(way, j, place.position, &longer.used)) continue;
      longer.saved = way.saved + place.position;
      longer.chosen = way.chosen;
      longer.chosen.push_back(place.position);
      if (merges_) {
        Merge(std::move(longer), next);
      } else {
        next->push_back(std::move(longer));
      }
    }
  }

  // Returns false if the kept items exceed the memory.
  bool Keep(const Way& way, size_t j, size_t position, std::vector<double>* used) {
    bool fits = true;
    ForEachKept(way, j, position, [&](size_t from, double bytes) {
      for (size_t i = from; i < j; ++i) {
        (*used)[i] += bytes;
        fits = fits && (*used)[i] <= memory_;
      }
      steps_ += j - from;
    });
    return fits;
  }

  // Keeps, among choices with the same future, only the one that saved most.
  void Merge(Way way, std::vector<Way>* next) {
    const auto [found, is_new] = merged_.try_emplace(FutureOf(way), next->size());
    if (is_new) {
      next->push_back(std::move(way));
    } else if ((*next)[found->second].saved < way.saved) {
      (*next)[found->second] = std::move(way);
    }
  }

  // Collects the snapshots that requests from `now` on may want of earlier requests.
  void FindWants(size_t now) {
    merged_.clear();
    wants_.clear();
    wanted_since_ = now;
    for (size_t j = now; j < needs_.size(); ++j) {
      for (const OracleRun& run : needs_[j].runs) {
        if (run.last_seen < now) wanted_since_ = std::min(wanted_since_, run.last_seen);
      }
      steps_ += places_[j].size();
      for (const Place& place : places_[j]) {
        if (place.position == 0 || !NeedsSnapshot(place.position)) continue;
        const size_t last_seen = LastSeen(j, place.position);
        if (last_seen < now && CanBeat(place.loss)) wants_.push_back({j, place.position});
      }
    }
  }

  // Encodes everything that later requests depend on: since when the wanted snapshots exist, and
  // the memory used since the first moment that matters.
  std::string FutureOf(const Way& way) {
    std::vector<double> future;
    size_t first = wanted_since_;
    for (const Want& want : wants_) {
      const size_t from = SnapshotFrom(way, want.request, want.position);
      future.push_back(static_cast<double>(from));
      first = std::min(first, from);
    }
    future.insert(future.end(), way.used.begin() + static_cast<std::ptrdiff_t>(first),
                  way.used.end());
    steps_ += future.size();
    std::string bytes(future.size() * sizeof(double), '\0');
    if (!future.empty()) std::memcpy(bytes.data(), future.data(), bytes.size());
    return bytes;
  }

  // Returns whether a choice with this loss may be better than the best so far.
  bool CanBeat(double loss) const {
    const auto unit = static_cast<double>(unit_);
    const double saved = prices_.saved_tokens_max - loss + kRoundingError;
    return std::floor(saved / unit) * unit > static_cast<double>(best_);
  }

  const std::vector<OracleNeeds>& needs_;
  const OracleInput& input_;
  OraclePrices prices_;
  const double memory_;
  std::vector<std::vector<Place>> places_;  // of each request, the best first
  size_t place_count_ = 0;
  size_t unit_ = 1;  // every resume point is a multiple of it
  uint64_t best_ = 0;
  size_t steps_ = 0;
  bool merges_ = false;  // whether to merge equal futures
  // State of the current request.
  std::vector<Want> wants_;
  size_t wanted_since_ = 0;
  std::unordered_map<std::string, size_t> merged_;  // choices by FutureOf()
};

}  // namespace

OracleSearch SearchBest(const std::vector<OracleNeeds>& needs, const OracleInput& input,
                        const OraclePrices& prices) {
  return ExactSearch(needs, input, prices).Run();
}

}  // namespace cairn
