// The workload `speed`: prefill and decode measured separately.

#include <algorithm>
#include <string>
#include <vector>

#include "lab/bench/bench_result.h"
#include "lab/load/load_parts.h"

namespace cairn::load {
namespace {

constexpr size_t kSpeedPromptTokens = 4000;
constexpr size_t kSpeedQuestionTokens = 64;
constexpr size_t kSpeedAnswerTokens = 512;
constexpr size_t kRounds = 2;

class Speed {
 public:
  Speed(const LoadOptions& options, const LoadClient& client, LoadRun* run)
      : options_(options), client_(client), faults_(run), run_(run) {}

  void Play() {
    // The first computations of a process are slower: buffers are allocated, the model is paged in.
    Round("warm up", 1, kSpeedQuestionTokens, Scaled(options_, kSpeedAnswerTokens / 8, 8));
    for (size_t round = 0; round < kRounds; ++round) {
      for (const size_t clients : {size_t{1}, options_.clients}) {
        const std::string name =
            std::to_string(clients) + " at once, round " + std::to_string(round);
        Read(name, clients);
        Answer(name, clients);
      }
    }
    run_->figures["clients"] = static_cast<double>(options_.clients);
    for (const auto& [key, values] : run_->samples) run_->figures[key] = Percentile(values, 0.5);
  }

 private:
  std::vector<LoadReply> Round(const std::string& name, size_t clients, size_t prompt_tokens,
                               size_t answer_tokens) {
    std::vector<LoadAsk> asks;
    for (size_t i = 0; i < clients; ++i) {
      const std::string text =
          NewText(options_, "speed: " + name + ", client " + std::to_string(i), prompt_tokens);
      asks.push_back(AskFor({{"user", text}}, answer_tokens));
    }
    std::vector<LoadReply> replies = AskAtOnce(client_, asks);
    std::erase_if(replies, [this](const LoadReply& reply) { return !faults_.Accept(reply); });
    if (replies.size() < clients) replies.clear();  // the load would be smaller than intended
    return replies;
  }

  void Add(const std::string& key, double tokens, double ms) {
    if (tokens > 0 && ms > 0) run_->samples[key].push_back(tokens * 1000 / ms);
  }

  void Read(const std::string& name, size_t clients) {
    const auto replies =
        Round("a prompt, " + name, clients, Scaled(options_, kSpeedPromptTokens, 64), 1);
    if (replies.empty()) return;
    double tokens = 0;
    double begin_ms = replies.front().asked_ms;
    double end_ms = 0;
    for (const LoadReply& reply : replies) {
      tokens += static_cast<double>(reply.answer.read_tokens());
      begin_ms = std::min(begin_ms, reply.asked_ms);
      end_ms = std::max(end_ms, reply.asked_ms + reply.answer.first_token_ms);
    }
    Add(clients == 1 ? "prompt_1_seen" : "prompt_n_seen", tokens, end_ms - begin_ms);
    if (clients == 1) Add("prompt_1", tokens, replies.front().answer.prompt_ms);
  }

  void Answer(const std::string& name, size_t clients) {
    const auto replies = Round("a question, " + name, clients, kSpeedQuestionTokens,
                               Scaled(options_, kSpeedAnswerTokens, 64));
    if (replies.empty()) return;
    std::vector<PieceTimes> pieces;
    pieces.reserve(replies.size());
    for (const LoadReply& reply : replies) pieces.push_back(reply.pieces);
    const double speed = TokensPerSecond(pieces, TimeOfAll(pieces));
    if (speed > 0) run_->samples[clients == 1 ? "answer_1_seen" : "answer_n_seen"].push_back(speed);
    const ChatAnswer& answer = replies.front().answer;
    if (clients == 1) Add("answer_1", static_cast<double>(answer.answer_tokens), answer.answer_ms);
  }

  const LoadOptions& options_;
  const LoadClient& client_;
  Faults faults_;
  LoadRun* const run_;
};

}  // namespace

void PlaySpeed(const LoadOptions& options, const LoadClient& client, LoadRun* run) {
  Speed(options, client, run).Play();
}

}  // namespace cairn::load
