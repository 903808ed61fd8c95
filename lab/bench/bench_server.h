// BenchServer: reads from a server everything a benchmark needs besides chats: its description, its
// tokenizer, and its count of prefilled tokens.

#ifndef CAIRN_LAB_BENCH_BENCH_SERVER_H_
#define CAIRN_LAB_BENCH_BENCH_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/http_client.h"
#include "lab/bench/bench_result.h"

namespace cairn {

// Returns how many prompt tokens the model has prefilled, for requests or ahead of them, from a
// page of metrics in Prometheus' text format: cairn_prompt_tokens_by_source_total of the source
// "computed" plus cairn_prefetched_tokens_total, or llamacpp:prompt_tokens_total. Returns nullopt
// when the page has neither.
std::optional<size_t> TokensReadIn(std::string_view metrics);

// Thread-safe.
class BenchServer {
 public:
  explicit BenchServer(std::string url) : http_(std::move(url)) {}

  // Returns all fields but the name and the runs, as far as known. kUnavailable: no server listens.
  Result<ServerFigures> Describe() const;

  // Returns the token ids of a text; special tokens are parsed. nullopt if the server cannot tell.
  std::optional<std::vector<int32_t>> Tokenize(const std::string& text, bool add_special) const;
  // Returns the prompt of a conversation (see ConversationBody), or nullopt as above.
  std::optional<std::string> Prompt(const std::string& conversation_body) const;

  // Returns the prompt tokens prefilled since the server's start, once the count stands still, so
  // that prefetches in idle time are included. nullopt if the server does not report the count.
  std::optional<size_t> TokensRead() const;

  // Polls GET /health until it answers 200. kUnavailable: it did not within that time.
  Status WaitUntilReady(double timeout_ms) const;

  const std::string& url() const { return http_.url(); }

 private:
  const HttpClient http_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_SERVER_H_
