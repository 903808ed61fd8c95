// The workload `crowds`: ever more clients ask at the same moment, with new prompts and then with
// the next turns of the same conversations.

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "lab/load/load_parts.h"

namespace cairn::load {
namespace {

constexpr std::array<size_t, 5> kCrowds = {1, 4, 8, 16, 32};
constexpr size_t kCrowdPromptTokens = 125;
constexpr size_t kNextTokens = 60;
constexpr size_t kCrowdAnswerTokens = 64;

class Crowds {
 public:
  Crowds(const LoadOptions& options, const LoadClient& client, LoadRun* run)
      : options_(options), client_(client), faults_(run), run_(run) {}

  void Play() {
    // The first computations of a process are slower.
    const std::string text = NewText(options_, "crowds: warm up", Scaled(options_, 64, 16));
    client_.Ask(AskFor({{"user", text}}, 8));
    for (const size_t clients : kCrowds) {
      if (clients > options_.crowd_max) break;
      PlayOne(clients);
      if (!run_->error.empty()) return;
    }
  }

 private:
  using Conversation = std::vector<ChatMessage>;

  void PlayOne(size_t clients) {
    const std::string of = std::to_string(clients);
    std::vector<Conversation> conversations(clients);
    for (const bool is_new : {true, false}) {
      std::vector<LoadAsk> asks;
      for (size_t i = 0; i < clients; ++i) {
        const std::string name = "crowds: " + of + " clients, " + (is_new ? "first" : "next") +
                                 " message of " + std::to_string(i);
        const size_t tokens = Scaled(options_, is_new ? kCrowdPromptTokens : kNextTokens, 16);
        conversations[i].push_back({"user", NewText(options_, name, tokens)});
        asks.push_back(AskFor(conversations[i], Scaled(options_, kCrowdAnswerTokens, 4)));
      }
      const auto replies = AskAtOnce(client_, asks);
      for (size_t i = 0; i < clients; ++i) {
        if (!faults_.Accept(replies[i])) {
          run_->error = of + " clients: not all were answered";
          return;
        }
        conversations[i].push_back({"assistant", replies[i].answer.content});
      }
      Count((is_new ? "new_" : "next_") + of, replies);
    }
  }

  void Count(const std::string& key, const std::vector<LoadReply>& replies) {
    double begin_ms = replies.front().asked_ms;
    double end_ms = 0;
    double tokens = 0;
    std::vector<double> first_ms;
    double gap_ms = 0;
    for (const LoadReply& reply : replies) {
      const std::vector<double>& at_ms = reply.pieces.at_ms;
      begin_ms = std::min(begin_ms, reply.asked_ms);
      if (!at_ms.empty()) end_ms = std::max(end_ms, at_ms.back());
      for (size_t i = 1; i < at_ms.size(); ++i) gap_ms = std::max(gap_ms, at_ms[i] - at_ms[i - 1]);
      tokens += static_cast<double>(reply.answer.answer_tokens);
      first_ms.push_back(reply.answer.first_token_ms);
    }
    const Spread first = SpreadOf(first_ms);
    run_->figures[key + "_tokens_per_s"] = RatioOf(tokens * 1000, end_ms - begin_ms);
    run_->figures[key + "_first_p50_ms"] = first.p50;
    run_->figures[key + "_first_max_ms"] = first.max;
    run_->figures[key + "_gap_max_ms"] = gap_ms;
  }

  const LoadOptions& options_;
  const LoadClient& client_;
  Faults faults_;
  LoadRun* const run_;
};

}  // namespace

void PlayCrowds(const LoadOptions& options, const LoadClient& client, LoadRun* run) {
  Crowds(options, client, run).Play();
}

}  // namespace cairn::load
