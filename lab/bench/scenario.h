// A scenario: a client's conversations as a list of steps. Data only; the bench runner plays it
// against a server. docs/scenarios.md has a section for each.
//
//   Add(0, user "…")  Ask(0)  Add(0, user "…")  Ask(0)  Cut(0, 3)  Add(0, user "…")  Ask(0)
//                                                       ^ back to the third message

#ifndef CAIRN_LAB_BENCH_SCENARIO_H_
#define CAIRN_LAB_BENCH_SCENARIO_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "lab/client/chat_client.h"

namespace cairn {

// Conversations have numbers; an unused one is empty. Messages count from 0.

// Appends messages. Sends nothing.
struct AddStep {
  size_t conversation = 0;
  std::vector<ChatMessage> messages;
};

// Replaces the text of a message.
struct RewriteStep {
  size_t conversation = 0;
  size_t message = 0;
  std::string content;
};

// Removes messages [begin, begin + count).
struct EraseStep {
  size_t conversation = 0;
  size_t begin = 0;
  size_t count = 0;
};

// Removes all but the first `keep` messages.
struct CutStep {
  size_t conversation = 0;
  size_t keep = 0;
};

// Makes the conversation `to` a copy of `from`, tools included.
struct CopyStep {
  size_t from = 0;
  size_t to = 0;
};

struct ToolsStep {
  size_t conversation = 0;
  std::string tools_json;
};

// How the client appends the answer to the conversation.
enum class Keep {
  kAnswer,   // as it came
  kContent,  // without reasoning; `instead` if the reasoning or the content is empty
  kInstead,  // `instead` is appended in the answer's place, as this model would not write it
  kDiscard,  // nothing is appended
};

enum class Cancel {
  kNever,
  kReading,    // once half of the prompt's new tokens are prefilled, or the answer begins
  kAnswering,  // once a part of the answer has come
};

struct Ask {
  size_t conversation = 0;
  std::string what;  // in a few words, for people
  size_t answer_tokens_max = 16;
  Keep keep = Keep::kAnswer;
  ChatMessage instead = {};
  Cancel cancel = Cancel::kNever;
};

// Requests that are sent at the same time; the next step waits for all of them.
struct AskStep {
  std::vector<Ask> asks;
};

// The server is restarted.
struct RestartStep {};

using Step = std::variant<AddStep, RewriteStep, EraseStep, CutStep, CopyStep, ToolsStep, AskStep,
                          RestartStep>;

struct Scenario {
  std::string name;
  std::vector<Step> steps;

  size_t requests() const;
};

struct ScenarioParams {
  double scale = 1;  // factor on all lengths
  uint64_t seed = 0;
  size_t repetition = 0;
  double bytes_per_token = 4;  // of made-up text, by the server's tokenizer
  std::string trace;           // the lines of a text trace; empty: none
  // Not 0: the client continues with a made-up answer of so many tokens in place of the generated
  // one, and no answer that it waits for is longer, so that all servers get the same prompts.
  size_t fixed_answer_tokens = 0;
};

struct ScenarioInfo {
  std::string_view name;
  std::string_view what;  // half a line, for people
};

// All scenarios, in the order in which `all` plays them.
std::span<const ScenarioInfo> Scenarios();
// Returns whether the scenario needs a command that restarts the server, or a trace.
bool NeedsRestart(std::string_view name);
bool NeedsTrace(std::string_view name);

// Makes the same steps for the same params. Every conversation begins with a text that is unique to
// the scenario, seed and repetition, so that runs on one server share no prefix.
//
// kNotFound: there is no scenario of that name; the message lists them. kInvalidArgument,
// kCorrupt: the trace is missing or cannot be read.
Result<Scenario> MakeScenario(std::string_view name, const ScenarioParams& params);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_SCENARIO_H_
