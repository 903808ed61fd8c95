// The workload `turns`: a conversation whose reasoning the template leaves out, with pauses.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "lab/bench/bench_result.h"
#include "lab/bench/bench_server.h"
#include "lab/client/seeded_text.h"
#include "lab/load/load_parts.h"

namespace cairn {
namespace load {
namespace {

constexpr size_t kTurnsSystemTokens = 2000;
constexpr size_t kTurnsMessageTokens = 200;
constexpr size_t kReasoningWords = 40;
constexpr size_t kContentWords = 20;

std::string Words(SeededText* text, size_t count) {
  std::string words = "So";
  for (size_t i = 0; i < count; ++i) words += " " + text->Word();
  return words + ".";
}

// Returns the same answer in every turn and repetition, so that all servers get equal prompts.
ChatMessage DecidedAnswer(const LoadOptions& options) {
  SeededText text(options.seed, "turns: the answer");
  ChatMessage answer{"assistant", ""};
  answer.reasoning = Words(&text, kReasoningWords);
  answer.content = Words(&text, kContentWords);
  return answer;
}

// A server that follows the text never reaches this limit: a token has at least one byte.
size_t TokensMax(const ChatMessage& answer) {
  constexpr size_t kMarks = 64;
  return answer.reasoning.size() + answer.content.size() + kMarks;
}

// Returns GBNF. The words are letters, so no escaping is needed.
std::string GrammarOf(const ChatMessage& answer) {
  return "root ::= \"<think>\\n" + answer.reasoning + "\\n</think>\\n\\n" + answer.content + "\"";
}

class Turns {
 public:
  Turns(const LoadOptions& options, const LoadClient& client, LoadRun* run)
      : options_(options), client_(client), server_(options.url), faults_(run), run_(run) {}

  void Play() {
    std::vector<ChatMessage> messages = {
        {"system", NewText(options_, "turns: system", Scaled(options_, kTurnsSystemTokens, 64))}};
    for (size_t turn = 0; turn < options_.turns; ++turn) {
      if (turn > 0) SleepMs(options_.pause_ms);
      const std::string text = NewText(options_, "turns: message " + std::to_string(turn),
                                       Scaled(options_, kTurnsMessageTokens, 16));
      messages.push_back({"user", text});
      LoadAsk ask;
      ask.messages = messages;
      ask.params.tokens_max = TokensMax(DecidedAnswer(options_));
      ask.params.grammar = GrammarOf(DecidedAnswer(options_));
      const LoadReply reply = client_.Ask(ask);
      if (!faults_.Accept(reply)) {
        run_->error = "turn " + std::to_string(turn + 1) + ": " + reply.fault;
        return;
      }
      Take(reply, text);
      messages.push_back({"assistant", reply.answer.content, reply.answer.reasoning});
    }
    Count();
  }

 private:
  void Take(const LoadReply& reply, const std::string& text) {
    const ChatMessage decided = DecidedAnswer(options_);
    const ChatAnswer& answer = reply.answer;
    // Servers differ in the blank lines around reasoning.
    if (answer.content != decided.content ||
        answer.reasoning.find(decided.reasoning) == std::string::npos) {
      ++run_->faults["an answer that was not decided beforehand"];
    }
    const auto tokens = server_.Tokenize(text, /*add_special=*/false);
    run_->turns.push_back({tokens ? tokens->size() : 0, answer.prompt_tokens, answer.read_tokens(),
                           answer.first_token_ms});
  }

  // Skips the first turn, which prefills the whole prompt and shows nothing about reuse.
  void Count() {
    std::vector<double> message;
    std::vector<double> read;
    std::vector<double> ratio;
    std::vector<double> first_token_ms;
    for (size_t i = 1; i < run_->turns.size(); ++i) {
      const LoadTurn& turn = run_->turns[i];
      read.push_back(static_cast<double>(turn.read_tokens));
      first_token_ms.push_back(turn.first_token_ms);
      if (turn.message_tokens == 0) continue;
      message.push_back(static_cast<double>(turn.message_tokens));
      ratio.push_back(RatioOf(read.back(), message.back()));
    }
    if (read.empty()) return;
    run_->figures["read_tokens"] = Percentile(read, 0.5);
    const Spread times = SpreadOf(first_token_ms);
    run_->figures["first_token_p50_ms"] = times.p50;
    run_->figures["first_token_max_ms"] = times.max;
    run_->samples["first_token"] = first_token_ms;
    if (message.empty()) return;
    run_->figures["message_tokens"] = Percentile(message, 0.5);
    run_->figures["read_over_message"] = Percentile(ratio, 0.5);
  }

  const LoadOptions& options_;
  const LoadClient& client_;
  const BenchServer server_;
  Faults faults_;
  LoadRun* const run_;
};

}  // namespace

void PlayTurns(const LoadOptions& options, const LoadClient& client, LoadRun* run) {
  Turns(options, client, run).Play();
}

}  // namespace load

std::string TurnsScript(const LoadOptions& options) {
  const ChatMessage answer = load::DecidedAnswer(options);
  const Json script = {
      {"rules", {{{"answer", {{"reasoning", answer.reasoning}, {"content", answer.content}}}}}}};
  return script.dump(2) + "\n";
}

}  // namespace cairn
