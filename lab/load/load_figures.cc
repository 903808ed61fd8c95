#include "lab/load/load_figures.h"

#include <algorithm>

#include "lab/bench/bench_summary.h"

namespace cairn {
namespace {

using Unit = LoadFigureInfo::Unit;
using Better = LoadFigureInfo::Better;

constexpr std::array<LoadWorkloadInfo, 5> kWorkloads = {{
    {"speed", "Speed",
     "New prompts of 4,000 tokens, of which nothing can be reused, for one token each; then "
     "answers "
     "of 512 tokens to short prompts. One client, and four at once. The speed of several clients "
     "is "
     "that of all together: of prompts until the last first token, of answers while all stream."},
    {"mixed", "Long prompts beside chats",
     "Six people chat with growing conversations and pause between their turns, while every few "
     "seconds somebody sends a new prompt of 4,000 to 8,000 tokens. The schedule comes from the "
     "seed. A person whose answer is late asks later, so a slow server is asked less densely."},
    {"gaps", "Answers while a very long prompt is read",
     "Answers stream, and after a while one very long prompt comes. A gap is the time between two "
     "pieces of one answer; *before* and *during* say whether the long prompt was being read. An "
     "answer that stands still until the long prompt is read has a gap of that whole time."},
    {"turns", "Turns whose reasoning is left out",
     "A conversation whose answers reason. The template leaves the reasoning out once a new "
     "question "
     "comes, so each prompt parts from what the server holds where the answer began. Between two "
     "turns the client pauses. What a server reads in that pause is not counted: it is nobody's "
     "waiting time."},
    {"streams", "Many streams",
     "Many clients, each asking again as soon as it has its answer. A server may refuse with 503 "
     "and "
     "Retry-After: then the client comes back after that time or longer. Every stream must be "
     "whole: all tokens, a finish reason, `[DONE]`."},
}};

constexpr auto kFigures = std::to_array<LoadFigureInfo>({
    {"speed", "prompt_1", "prompt tokens/s, 1 client, as the server says", Unit::kPerSecond,
     Better::kMore},
    {"speed", "prompt_1_seen", "prompt tokens/s, 1 client, as it saw", Unit::kPerSecond,
     Better::kMore},
    {"speed", "prompt_n_seen", "prompt tokens/s, all clients, as they saw", Unit::kPerSecond,
     Better::kMore},
    {"speed", "answer_1", "answer tokens/s, 1 client, as the server says", Unit::kPerSecond,
     Better::kMore},
    {"speed", "answer_1_seen", "answer tokens/s, 1 client, as it saw", Unit::kPerSecond,
     Better::kMore},
    {"speed", "answer_n_seen", "answer tokens/s, all clients, as they saw", Unit::kPerSecond,
     Better::kMore},
    {"speed", "clients", "clients at once", Unit::kCount, Better::kNeither},

    {"mixed", "first_token_p50_ms", "first token, all, median", Unit::kMs, Better::kLess},
    {"mixed", "first_token_p99_ms", "first token, all, p99", Unit::kMs, Better::kLess},
    {"mixed", "chat_first_token_p50_ms", "first token, chats, median", Unit::kMs, Better::kLess},
    {"mixed", "chat_first_token_p99_ms", "first token, chats, p99", Unit::kMs, Better::kLess},
    {"mixed", "long_first_token_p50_ms", "first token, long prompts, median", Unit::kMs,
     Better::kLess},
    {"mixed", "long_first_token_p99_ms", "first token, long prompts, p99", Unit::kMs,
     Better::kLess},
    {"mixed", "answer_tokens_per_s", "answer tokens/s, over all the time", Unit::kPerSecond,
     Better::kMore},
    {"mixed", "read_tokens", "prompt tokens read", Unit::kCount, Better::kLess},
    {"mixed", "total_ms", "until all was answered", Unit::kMs, Better::kLess},
    {"mixed", "requests", "requests", Unit::kCount, Better::kNeither},
    {"mixed", "busy", "503 with Retry-After", Unit::kCount, Better::kLess},

    {"gaps", "before_p50_ms", "gap before, median", Unit::kMs, Better::kLess},
    {"gaps", "before_p99_ms", "gap before, p99", Unit::kMs, Better::kLess},
    {"gaps", "before_max_ms", "gap before, longest", Unit::kMs, Better::kLess},
    {"gaps", "during_p50_ms", "gap during, median", Unit::kMs, Better::kLess},
    {"gaps", "during_p99_ms", "gap during, p99", Unit::kMs, Better::kLess},
    {"gaps", "during_max_ms", "gap during, longest", Unit::kMs, Better::kLess},
    {"gaps", "p99_over_p50", "p99 during over median before", Unit::kRatio, Better::kLess},
    {"gaps", "p99_over_p99", "p99 during over p99 before", Unit::kRatio, Better::kLess},
    {"gaps", "before_tokens_per_s", "answer tokens/s before, all answers", Unit::kPerSecond,
     Better::kMore},
    {"gaps", "during_tokens_per_s", "answer tokens/s during, all answers", Unit::kPerSecond,
     Better::kMore},
    {"gaps", "speed_kept", "answer tokens/s during over before", Unit::kRatio, Better::kMore},
    {"gaps", "long_tokens", "tokens of the long prompt", Unit::kCount, Better::kNeither},
    {"gaps", "long_first_token_ms", "first token of the long prompt", Unit::kMs, Better::kLess},
    {"gaps", "watched", "share of the read in which answers still streamed", Unit::kRatio,
     Better::kNeither},

    {"turns", "message_tokens", "tokens of a new message, median", Unit::kCount, Better::kNeither},
    {"turns", "read_tokens", "tokens read a turn, median", Unit::kCount, Better::kLess},
    {"turns", "read_over_message", "read over new message, median", Unit::kRatio, Better::kLess},
    {"turns", "first_token_p50_ms", "first token, median", Unit::kMs, Better::kLess},
    {"turns", "first_token_max_ms", "first token, longest", Unit::kMs, Better::kLess},

    {"streams", "whole", "whole streams", Unit::kCount, Better::kMore},
    {"streams", "broken", "broken streams", Unit::kCount, Better::kLess},
    {"streams", "busy", "503 with Retry-After", Unit::kCount, Better::kNeither},
    {"streams", "unserved", "clients refused to the very end", Unit::kCount, Better::kLess},
    {"streams", "failed", "other errors", Unit::kCount, Better::kLess},
    {"streams", "answer_tokens_per_s", "answer tokens/s", Unit::kPerSecond, Better::kMore},
    {"streams", "first_token_p50_ms", "first token, median", Unit::kMs, Better::kLess},
    {"streams", "first_token_p99_ms", "first token, p99", Unit::kMs, Better::kLess},
    {"streams", "waited_p50_ms", "first token, refusals included, median", Unit::kMs,
     Better::kLess},
    {"streams", "waited_p99_ms", "first token, refusals included, p99", Unit::kMs, Better::kLess},
    {"streams", "memory_before_mib", "memory of the server before", Unit::kMib, Better::kLess},
    {"streams", "memory_peak_mib", "memory of the server, peak", Unit::kMib, Better::kLess},
});

}  // namespace

const std::array<LoadWorkloadInfo, 5>& LoadWorkloads() {
  return kWorkloads;
}

std::span<const LoadFigureInfo> LoadFigures() {
  return kFigures;
}

std::optional<double> LoadMedian(const LoadServer& server, std::string_view workload,
                                 std::string_view key) {
  std::vector<double> values;
  for (const LoadRun& run : server.runs) {
    const auto found = run.figures.find(std::string(key));
    if (run.workload != workload || !run.error.empty() || found == run.figures.end()) continue;
    values.push_back(found->second);
  }
  if (values.empty()) return std::nullopt;
  return Percentile(std::move(values), 0.5);
}

LoadResult MergeLoadResults(const std::vector<LoadResult>& results) {
  LoadResult merged;
  if (results.empty()) return merged;
  merged.scale = results.front().scale;
  merged.seed = results.front().seed;
  for (const LoadResult& result : results) {
    for (const LoadServer& server : result.servers) {
      auto known = std::find_if(merged.servers.begin(), merged.servers.end(),
                                [&](const LoadServer& other) { return other.name == server.name; });
      if (known == merged.servers.end()) {
        known = merged.servers.insert(merged.servers.end(), server);
        known->runs.clear();
      }
      for (LoadRun run : server.runs) {
        run.repetition = static_cast<size_t>(
            std::count_if(known->runs.begin(), known->runs.end(),
                          [&](const LoadRun& other) { return other.workload == run.workload; }));
        known->runs.push_back(std::move(run));
      }
    }
  }
  return merged;
}

}  // namespace cairn
