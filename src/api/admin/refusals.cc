#include "api/admin/refusals.h"

#include <algorithm>
#include <utility>

#include "api/wall_clock.h"
#include "base/utf8.h"

namespace cairn {
namespace {

constexpr int kUnavailable = 503;
// Texts of clients may be long.
constexpr size_t kShownMax = 300;

// Returns text of a client's in a form that a line can hold: valid, short, on one line.
std::string Shown(std::string_view text) {
  std::string shown(text.substr(0, kShownMax));
  if (shown.size() < text.size()) shown += "...";
  shown = ToValidUtf8(shown);
  std::replace_if(
      shown.begin(), shown.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  return shown;
}

// Whoever asks again and again whether the server is there is told so by the status.
bool IsWaiting(const Refusal& refusal) {
  return refusal.status == kUnavailable && (refusal.method == "GET" || refusal.method == "HEAD");
}

}  // namespace

void Refusals::Note(const Refusal& refusal) {
  std::string lines;
  {
    const MutexLock lock(mutex_);
    const std::string route(refusal.route.empty() ? "none" : refusal.route);
    ++counts_[{refusal.status, route}];
    if (IsWaiting(refusal)) return;
    Json row = {{"id", "refused-" + id_tag_ + std::to_string(++noted_)},
                {"api", Shown(refusal.path)},
                {"begun", NowUnixS()},
                {"state", "refused"},
                {"method", Shown(refusal.method)},
                {"status", refusal.status},
                {"message", Shown(refusal.message)}};
    std::deque<Json>& listed = listed_[refusal.name_space];
    listed.push_front(std::move(row));
    if (listed.size() > kListedMax) listed.pop_back();
    if (!log_) return;
    lines = Lines(refusal);
  }
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = lines.find('\n', begin);
    log_(LogLevel::kInfo, std::string_view(lines).substr(begin, end - begin));
    begin = end + 1;
  }
}

std::string Refusals::Lines(const Refusal& refusal) {
  Window& window = windows_[refusal.status];
  const double now_ms = clock_->NowMs();
  std::string lines;
  if (now_ms - window.began_ms >= kWindowMs) {
    if (window.unsaid > 0) {
      lines = "refused: " + std::to_string(window.unsaid) + " more with " +
              std::to_string(refusal.status) + "; cairn_http_refused_total counts all\n";
    }
    window = {now_ms, 0, 0};
  }
  if (++window.lines > kLinesMax) {
    ++window.unsaid;
    return lines;
  }
  lines += "refused:";
  if (!refusal.path.empty()) lines += " " + Shown(refusal.method) + " " + Shown(refusal.path);
  return lines + " " + std::to_string(refusal.status) + " (" + Shown(refusal.remote) + ") " +
         Shown(refusal.message) + "\n";
}

RefusalCounts Refusals::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

Json Refusals::List(NamespaceId name_space) const {
  const MutexLock lock(mutex_);
  Json rows = Json::array();
  const auto listed = listed_.find(name_space);
  if (listed == listed_.end()) return rows;
  for (const Json& row : listed->second) rows.push_back(row);
  return rows;
}

Json Refusals::Find(std::string_view id, NamespaceId name_space) const {
  const MutexLock lock(mutex_);
  const auto listed = listed_.find(name_space);
  if (listed == listed_.end()) return {};
  for (const Json& row : listed->second) {
    if (row.at("id").text() == id) return row;
  }
  return {};
}

void AddRefusals(const RefusalCounts& counts, MetricsPage* page) {
  page->BeginCounter("cairn_http_refused_total",
                     "Requests that were refused with an error, by status and route.");
  for (const auto& [of, count] : counts) {
    page->Sample({{"status", std::to_string(of.first)}, {"route", of.second}},
                 static_cast<double>(count));
  }
}

}  // namespace cairn
