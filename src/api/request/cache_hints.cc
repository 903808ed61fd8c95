#include "api/request/cache_hints.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "policy/prompt_shape.h"

namespace cairn {
namespace {

constexpr size_t kCacheKeyBytesMax = 1024;
constexpr int64_t kDayS = 86'400;
constexpr int64_t kUsualS = 1'800;
constexpr int64_t kUnsetS = 0;
// The names of times that OpenAI's reference has, and Anthropic's.
constexpr std::array<std::pair<std::string_view, int64_t>, 5> kTimes = {
    {{"5m", 300}, {"30m", kUsualS}, {"1h", 3'600}, {"12h", 43'200}, {"24h", kDayS}}};

void ReadRetention(FieldReader* fields, CacheHints* hints) {
  std::string retention;
  fields->String("prompt_cache_retention", &retention);
  if (retention == "24h") hints->keep_s = kDayS;
  if (retention.empty() || retention == "24h") return;
  if (retention == "in_memory" || retention == "in-memory") return;
  fields->Fail("prompt_cache_retention", "'in_memory' or '24h'");
}

// Returns the seconds of a time by its name; `unset` if there is none.
int64_t ReadTime(FieldReader* fields, int64_t unset) {
  std::string ttl;
  fields->String("ttl", &ttl);
  if (ttl.empty()) return unset;
  const auto* const time = std::find_if(kTimes.begin(), kTimes.end(),
                                        [&](const auto& known) { return known.first == ttl; });
  if (time != kTimes.end()) return time->second;
  fields->Fail("ttl", "'5m', '30m', '1h', '12h' or '24h'");
  return unset;
}

void ReadOptions(FieldReader* fields, CacheHints* hints) {
  const Json* const options = fields->Find("prompt_cache_options");
  if (options == nullptr) return;
  if (!options->is_object()) return fields->Fail("prompt_cache_options", "an object");
  FieldReader inner(*options, "prompt_cache_options.");
  std::string mode = "implicit";
  inner.String("mode", &mode);
  if (mode != "implicit" && mode != "explicit") inner.Fail("mode", "'implicit' or 'explicit'");
  hints->explicit_only = mode == "explicit";
  bool prewarm = false;
  inner.Bool("prewarm", &prewarm);
  if (prewarm) inner.Fail("prewarm", "absent: POST /cairn/cache/prefetch reads a prompt ahead");
  hints->keep_s = std::max(hints->keep_s.value_or(0), ReadTime(&inner, kUsualS));
  if (inner.error()) fields->Fail(*inner.error());
}

}  // namespace

ApiResult<CacheHints> ParseCacheHints(const Json& body) {
  CacheHints hints;
  FieldReader fields(body, "");
  fields.String("prompt_cache_key", &hints.key);
  if (hints.key.size() > kCacheKeyBytesMax) {
    fields.Fail("prompt_cache_key", "a text of at most 1024 bytes");
  }
  ReadRetention(&fields, &hints);
  ReadOptions(&fields, &hints);
  if (fields.error()) return tl::unexpected(*fields.error());
  return hints;
}

ApiResult<void> AddBreakpoint(const Json& part, const std::string& place, bool last,
                              std::vector<CacheMark>* marks) {
  const Json* const breakpoint = FieldReader(part, "").Find("prompt_cache_breakpoint");
  if (breakpoint == nullptr) return {};
  const std::string name = place + ".prompt_cache_breakpoint";
  if (!breakpoint->is_object()) return tl::unexpected(FieldError(name, "an object"));
  FieldReader fields(*breakpoint, name + ".");
  std::string mode = "explicit";
  fields.String("mode", &mode);
  if (mode != "explicit") fields.Fail("mode", "'explicit'");
  const CacheMark mark{.ttl_s = ReadTime(&fields, kUnsetS), .inside = !last};
  if (fields.error()) return tl::unexpected(*fields.error());
  marks->push_back(mark);
  return {};
}

void MarkToKeep(const CacheHints& hints, Conversation* conversation) {
  std::vector<Message>& messages = conversation->messages;
  if (messages.empty()) return;
  const int64_t keep_s = hints.keep_s.value_or(kUsualS);
  if (hints.keep_s && !hints.explicit_only) {
    const auto first = std::find_if(messages.begin(), messages.end(), [](const Message& message) {
      return message.role != Role::kSystem && message.role != Role::kDeveloper;
    });
    if (first != messages.begin() && first != messages.end()) {
      std::prev(first)->marks.push_back({.ttl_s = keep_s});
    }
    messages.back().marks.push_back({.ttl_s = keep_s});
  }
  size_t marks = conversation->tools_marks.size();
  for (Message& message : messages) {
    marks += message.marks.size();
    for (CacheMark& mark : message.marks) {
      if (mark.ttl_s == kUnsetS) mark.ttl_s = keep_s;
    }
  }
  for (Message& message : messages) {
    while (marks > kMarksMax && !message.marks.empty()) {
      message.marks.erase(message.marks.begin());
      --marks;
    }
  }
}

}  // namespace cairn
