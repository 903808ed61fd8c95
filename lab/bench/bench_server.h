// BenchServer: what a benchmark asks a server beside chats: what it is, how it tokenises, how much
// it has read.

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

  // Everything but the name and the runs, as far as the server says. kUnavailable: nobody listens.
  Result<ServerFigures> Describe() const;

  // Token ids of a text; special tokens' texts become those. Nothing when the server cannot tell.
  std::optional<std::vector<int32_t>> Tokenize(const std::string& text, bool add_special) const;
  // The prompt that a conversation (see ConversationBody) becomes. Nothing: as above.
  std::optional<std::string> Prompt(const std::string& conversation_body) const;

  // Prompt tokens that the server has read since it was started, once that number stands still:
  // what it does ahead, in idle time, is waited for. Nothing when the server does not say.
  std::optional<size_t> TokensRead() const;

  // kUnavailable: it did not answer 200 to GET /health in that time.
  Status WaitUntilReady(double timeout_ms) const;

  const std::string& url() const { return http_.url(); }

 private:
  const HttpClient http_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_SERVER_H_
