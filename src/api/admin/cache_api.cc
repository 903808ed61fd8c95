#include "api/admin/cache_api.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "api/answer/answer_reader.h"
#include "api/json.h"
#include "api/openai/completion.h"
#include "api/request/chat_request.h"
#include "base/memory_watch.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cache/cache_overview.h"

namespace cairn {
namespace {

constexpr size_t kTreeUsual = 100;
constexpr size_t kTreeMax = 500;
// Tokens of the text between a checkpoint and its parent to show, in a list and for one checkpoint.
constexpr size_t kShownTokens = 24;
constexpr size_t kShownAloneTokens = 256;
constexpr int kFlushMsMax = 10'000;
constexpr int kFlushPauseMs = 20;

ApiResult<uint64_t> ParseId(std::string_view text) {
  const auto id = ParseNumber(text);
  if (id) return *id;
  return tl::unexpected(
      ToApiError({ErrorCode::kNotFound, "there is no checkpoint '" + ToValidUtf8(text) + "'"}));
}

std::string ShownText(const Engine& engine, const Tokens& tokens) {
  std::string text;
  for (const Token token : tokens) text += engine.Piece(token, true);
  return ToValidUtf8(text);
}

std::string_view TierName(bool in_memory) {
  return in_memory ? "ram" : "disk";
}

Json HeldJson(const Engine& engine, const HeldCheckpoint& held, double now_ms) {
  const Checkpoint& checkpoint = held.checkpoint;
  Json told = {{"id", std::to_string(checkpoint.id)},
               {"parent", held.parent == 0 ? Json(nullptr) : Json(std::to_string(held.parent))},
               {"position", checkpoint.position},
               {"class", CheckpointClassName(checkpoint.checkpoint_class)},
               {"tier", TierName(held.in_memory)},
               {"bytes", checkpoint.bytes},
               {"uses", held.uses},
               {"pinned", held.kept},
               {"kv_stored", checkpoint.kv_stored},
               {"exact", checkpoint.on_grid()},
               {"text", ShownText(engine, held.tokens)}};
  if (checkpoint.created_ms >= 0) {
    told["age_ms"] = std::max(0.0, std::round(now_ms - checkpoint.created_ms));
  }
  return told;
}

// Runs `act` on one checkpoint and returns the checkpoint's state after it.
ApiResult<std::string> WithCheckpoint(
    const ChatService& service, std::string_view text, NamespaceId name_space,
    const std::function<Status(CheckpointCache*, CheckpointId)>& act) {
  const auto id = ParseId(text);
  if (!id) return tl::unexpected(id.error());
  Result<HeldCheckpoint> held;
  double now_ms = 0;
  const Status looked = service.Look([&](CheckpointCache* cache) {
    if (Status acted = act(cache, *id); !acted) {
      held = tl::unexpected(acted.error());
      return;
    }
    held = CacheOverview(cache).FindHeld(name_space, *id, kShownAloneTokens);
    now_ms = cache->objects()->now_ms();
  });
  if (!looked) return tl::unexpected(ToApiError(looked.error()));
  if (!held) return tl::unexpected(ToApiError(held.error()));
  return ToText(HeldJson(service.engine(), *held, now_ms));
}

// A prompt that is prefilled without an answer.
using StartedReading = ApiResult<std::shared_ptr<Generation>>;

StartedReading ReadChat(const ChatService& service, const Json& body, NamespaceId name_space,
                        const std::function<bool()>& gone) {
  auto request = ParseChatRequest(body, GenerationParams{}, service.MediaRulesUntil(gone));
  if (!request) return tl::unexpected(request.error());
  request->params.tokens_max = 0;
  request->options.answers = 1;
  auto chat = service.Start(std::move(*request), name_space);
  if (!chat) return tl::unexpected(chat.error());
  return std::move(chat->generation);
}

StartedReading ReadText(const ChatService& service, const Json& body, NamespaceId name_space,
                        const std::function<bool()>& gone) {
  auto request = ParseCompletion(service, body, {}, CompletionDialect::kNative, name_space, gone);
  if (!request) return tl::unexpected(request.error());
  if (!request->more_prompts.empty()) {
    return tl::unexpected(FieldError("prompt", "one prompt, not several"));
  }
  const auto adapted = service.WithAdaptersOf(request->options, name_space);
  if (!adapted) return tl::unexpected(adapted.error());
  GenerationRequest reading;
  reading.name_space = *adapted;
  reading.shape = std::move(request->shape);
  reading.media = PiecesOf(request->media);
  reading.prompt = std::move(request->prompt);
  reading.params.tokens_max = 0;
  return service.Submit(std::move(reading));
}

StartedReading BringBack(const ChatService& service, const Json& body, NamespaceId name_space,
                         const std::function<bool()>& /*gone*/) {
  const Json& named = body.at("checkpoint");
  if (!named.is_string()) {
    return tl::unexpected(
        FieldError("checkpoint", "the id of a checkpoint, a string from /cairn/cache/tree"));
  }
  if (body.contains("messages") || body.contains("prompt")) {
    return tl::unexpected(FieldError("checkpoint", "without 'messages' and 'prompt'"));
  }
  const auto id = ParseId(named.text());
  if (!id) return tl::unexpected(id.error());
  Result<Tokens> path;
  const Status looked = service.Look(
      [&](CheckpointCache* cache) { path = CacheOverview(cache).PathOfHeld(name_space, *id); });
  if (!looked) return tl::unexpected(ToApiError(looked.error()));
  if (!path) return tl::unexpected(ToApiError(path.error()));
  GenerationRequest reading;
  reading.name_space = name_space;
  reading.shape.tokens = path->size();
  reading.prompt = std::move(*path);
  reading.params.tokens_max = 0;
  reading.preloads = true;
  return service.Submit(std::move(reading));
}

Json PrefetchedJson(const GenerationEvent& end) {
  const ReuseReport nothing;
  const ReuseReport& report = end.report ? *end.report : nothing;
  return {{"tokens", end.cost.prompt_tokens},      {"computed_tokens", end.cost.prefill_tokens()},
          {"reused_tokens", report.reused_tokens}, {"live_tokens", report.live_tokens},
          {"ram_tokens", report.ram_tokens},       {"disk_tokens", report.disk_tokens}};
}

Json HeldJson(const HeldStats& held) {
  return {{"count", held.ram.things + held.disk.things},
          {"bytes", held.ram.bytes + held.disk.bytes}};
}

}  // namespace

ApiResult<std::string> CacheBody(const ChatService& service) {
  CacheStats seen;
  bool saves = false;
  const Status looked = service.Look([&](CheckpointCache* cache) {
    seen = cache->FullStats();
    saves = cache->saves();
  });
  if (!looked) return tl::unexpected(ToApiError(looked.error()));
  const SchedulerStats stats = service.stats();
  const bool limited = seen.bytes_max < SIZE_MAX;
  const bool day_limited = stats.saved.day_bytes_max > 0;
  Json told;
  told["tiers"]["ram"] = {{"bytes", seen.bytes},
                          {"bytes_max", limited ? Json(seen.bytes_max) : Json(nullptr)}};
  told["tiers"]["disk"] = nullptr;
  if (saves) {
    told["tiers"]["disk"] = {
        {"bytes", stats.saved.bytes},
        {"bytes_max", stats.saved.bytes_max},
        {"objects", stats.saved.objects},
        {"written_bytes", stats.saved.written_bytes},
        {"day_written_bytes", stats.saved.day_bytes},
        {"day_written_bytes_max", day_limited ? Json(stats.saved.day_bytes_max) : Json(nullptr)}};
  }
  told["classes"] = Json::array();
  for (const bool in_memory : {true, false}) {
    for (const auto& [checkpoint_class, held] : seen.checkpoints_held) {
      const HeldStats::Tier& tier = in_memory ? held.ram : held.disk;
      if (tier.things == 0) continue;
      told["classes"].push_back({{"class", CheckpointClassName(checkpoint_class)},
                                 {"tier", TierName(in_memory)},
                                 {"checkpoints", tier.things},
                                 {"bytes", tier.bytes}});
    }
  }
  told["segments"] = HeldJson(seen.segments_held);
  told["full_states"] = HeldJson(seen.full_states_held);
  told["slots"] = Json::array();
  for (const SlotStats& slot : stats.slots) {
    told["slots"].push_back(
        {{"id", told["slots"].size()}, {"tokens", slot.tokens}, {"busy", slot.busy}});
  }
  return ToText(told);
}

ApiResult<std::string> CacheTreeBody(const ChatService& service,
                                     const std::multimap<std::string, std::string>& params,
                                     NamespaceId name_space) {
  const auto number = [&](const char* name, uint64_t otherwise) -> std::optional<uint64_t> {
    const auto found = params.find(name);
    return found == params.end() ? otherwise : ParseNumber(found->second);
  };
  const auto limit = number("limit", kTreeUsual);
  if (!limit || *limit < 1 || *limit > kTreeMax) {
    return tl::unexpected(FieldError("limit", "a number from 1 to 500"));
  }
  const auto after = number("after", 0);
  if (!after) return tl::unexpected(FieldError("after", "the id of a checkpoint"));
  std::vector<HeldCheckpoint> held;
  double now_ms = 0;
  const Status looked = service.Look([&](CheckpointCache* cache) {
    held = CacheOverview(cache).HeldBy(name_space, *after, *limit + 1, kShownTokens);
    now_ms = cache->objects()->now_ms();
  });
  if (!looked) return tl::unexpected(ToApiError(looked.error()));
  Json told = {{"nodes", Json::array()}, {"more", nullptr}};
  if (held.size() > *limit) {
    held.pop_back();
    told["more"] = std::to_string(held.back().checkpoint.id);
  }
  for (const auto& one : held) told["nodes"].push_back(HeldJson(service.engine(), one, now_ms));
  return ToText(told);
}

ApiResult<std::string> CheckpointBody(const ChatService& service, std::string_view id,
                                      NamespaceId name_space) {
  return WithCheckpoint(service, id, name_space,
                        [](CheckpointCache*, CheckpointId) -> Status { return {}; });
}

ApiResult<std::string> PinCheckpointBody(const ChatService& service, std::string_view id,
                                         std::string_view body, NamespaceId name_space) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  FieldReader fields(*json, "");
  bool pinned = false;
  if (fields.Find("pinned") == nullptr) fields.Fail("pinned", "true or false");
  fields.Bool("pinned", &pinned);
  if (fields.error()) return tl::unexpected(*fields.error());
  return WithCheckpoint(service, id, name_space,
                        [&](CheckpointCache* cache, CheckpointId found) -> Status {
                          Status kept = CacheOverview(cache).KeepHeld(name_space, found, pinned);
                          // Too many pins are an error of the client, not of the server.
                          if (!kept && kept.error().code == ErrorCode::kNoSpace) {
                            return Fail(ErrorCode::kInvalidArgument, kept.error().message);
                          }
                          return kept;
                        });
}

ApiResult<std::string> DropCheckpointBody(const ChatService& service, std::string_view id,
                                          NamespaceId name_space) {
  const auto parsed = ParseId(id);
  if (!parsed) return tl::unexpected(parsed.error());
  Status dropped;
  const Status looked = service.Look([&](CheckpointCache* cache) {
    dropped = CacheOverview(cache).DropHeld(name_space, *parsed);
  });
  if (!looked) return tl::unexpected(ToApiError(looked.error()));
  if (!dropped) return tl::unexpected(ToApiError(dropped.error()));
  return ToText({{"id", std::to_string(*parsed)}, {"deleted", true}});
}

ApiResult<std::string> PrefetchBody(const ChatService& service, std::string_view body,
                                    NamespaceId name_space, const std::function<bool()>& gone) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto has = [&](const char* field) { return json->is_object() && json->contains(field); };
  const auto start = has("checkpoint") ? BringBack : has("prompt") ? ReadText : ReadChat;
  const StartedReading reading = start(service, *json, name_space, gone);
  if (!reading) return tl::unexpected(reading.error());
  while (true) {
    if (gone()) (*reading)->Abandon();
    const auto next = NextEvent(reading->get());
    if (!next) return tl::unexpected(next.error());
    const auto& event = *next;
    if (event && event->kind == GenerationEvent::Kind::kDone) return ToText(PrefetchedJson(*event));
  }
}

ApiResult<std::string> FlushBody(const ChatService& service) {
  bool saves = false;
  const Status looked = service.Look([&](CheckpointCache* cache) { saves = cache->saves(); });
  if (!looked) return tl::unexpected(ToApiError(looked.error()));
  if (!saves) {
    return tl::unexpected(ToApiError(
        {ErrorCode::kUnsupported, "this server has no disk tier; start it with --cache-disk"}));
  }
  size_t left = 0;
  for (int waited_ms = 0; waited_ms < kFlushMsMax; waited_ms += kFlushPauseMs) {
    const auto flushed = service.Flush();
    if (!flushed) return tl::unexpected(ToApiError(flushed.error()));
    left = *flushed;
    const SavedStats saved = service.stats().saved;
    if (saved.unsynced_bytes == 0 && (left == 0 || saved.takes_nothing())) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(kFlushPauseMs));
  }
  const SavedStats saved = service.stats().saved;
  return ToText({{"unsaved_bytes", left + saved.unsynced_bytes}, {"objects", saved.objects}});
}

namespace {

// Memory of weights and context: the heap without the cache, and the mapped files.
uint64_t MemoryBytes(const ChatService& service) {
  const uint64_t heap_bytes = HeapUsedBytes();
  const uint64_t cache_bytes = service.stats().cache.bytes;
  return heap_bytes - std::min(heap_bytes, cache_bytes) + MappedFileBytes(SystemMemorySources());
}

}  // namespace

ApiResult<std::string> CacheLimitBody(const ChatService& service, std::string_view body,
                                      size_t beside_bytes) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  FieldReader fields(*json, "");
  int64_t bytes = 0;
  fields.Integer("bytes", 0, INT64_MAX, &bytes);
  if (fields.error()) return tl::unexpected(*fields.error());
  Json answer = {{"memory_bytes", MemoryBytes(service)}};
  if (fields.Find("bytes") != nullptr) {
    const auto limit =
        static_cast<size_t>(bytes) - std::min(static_cast<size_t>(bytes), beside_bytes);
    const auto freed = service.SetCacheLimit(limit);
    if (!freed) return tl::unexpected(ToApiError(freed.error()));
    answer["limit_bytes"] = limit;
    answer["freed_bytes"] = *freed;
  }
  return ToText(answer);
}

}  // namespace cairn
