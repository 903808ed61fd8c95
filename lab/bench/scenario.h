// A scenario: what a client does with its conversations, as a list of steps. Data only; the bench
// runner plays it against a server. docs/scenarios.md has a section for each.
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

// Conversations have numbers; one that has not been spoken of is empty. Messages count from 0.

// Messages are put at the end. Nothing is sent.
struct AddStep {
  size_t conversation = 0;
  std::vector<ChatMessage> messages;
};

// A message gets another text.
struct RewriteStep {
  size_t conversation = 0;
  size_t message = 0;
  std::string content;
};

// Messages [begin, begin + count) are taken out.
struct EraseStep {
  size_t conversation = 0;
  size_t begin = 0;
  size_t count = 0;
};

// Only the first `keep` messages stay.
struct CutStep {
  size_t conversation = 0;
  size_t keep = 0;
};

// Another conversation begins with all that this one has, tools too.
struct CopyStep {
  size_t from = 0;
  size_t to = 0;
};

struct ToolsStep {
  size_t conversation = 0;
  std::string tools_json;
};

// What the client makes of an answer.
enum class Keep {
  kAnswer,   // it is appended as it came
  kContent,  // without its reasoning; `instead` for a model that did not reason or say anything
  kInstead,  // `instead` is appended: an answer that this model would not give
  kDiscard,  // nothing is
};

enum class Cancel {
  kNever,
  kReading,    // once half of what is new in the prompt has been read, or the answer begins
  kAnswering,  // once there is some of the answer
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
  double scale = 1;  // of all lengths
  uint64_t seed = 0;
  size_t repetition = 0;
  double bytes_per_token = 4;  // of made-up text, by the tokenizer of the server played against
  std::string trace;           // the lines of a text trace; empty: there is none
};

struct ScenarioInfo {
  std::string_view name;
  std::string_view what;  // half a line, for people
};

// All of them, in the order in which `all` plays them.
std::span<const ScenarioInfo> Scenarios();
// Whether it needs a way to restart the server, or a trace.
bool NeedsRestart(std::string_view name);
bool NeedsTrace(std::string_view name);

// The same steps for the same params. Every conversation begins with a text that no other scenario,
// seed or repetition begins with, so that runs on one server do not help each other.
//
// kNotFound: there is no scenario of that name; the message lists them. kInvalidArgument,
// kCorrupt: the trace is missing or cannot be read.
Result<Scenario> MakeScenario(std::string_view name, const ScenarioParams& params);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_SCENARIO_H_
