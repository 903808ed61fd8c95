// Explanation: why a prompt was read again, in words. The scheduler tells tokens
// (sched/answer/reuse_report.h); the chat layer knows which message they are of.
//
//   stored   … <|im_start|>user\nWhat is 17 times 23?<|im_end|> …
//   prompt   … <|im_start|>user\nWhat is 18 times 23?<|im_end|> …
//                                         ^ messages[2] (user), character 9
//
// Texts are only ever those of the client's own namespace: the report holds no other.
//
// Pure; any thread.

#ifndef CAIRN_API_ADMIN_EXPLANATION_H_
#define CAIRN_API_ADMIN_EXPLANATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/provenance.h"
#include "chat/message.h"
#include "chat/parse/reasoning.h"
#include "chat/spans/token_map.h"
#include "engine/engine.h"
#include "sched/answer/reuse_report.h"

namespace cairn {

// What a prompt was made of, kept until somebody asks.
struct ExplainedPrompt {
  std::string text = {};
  Tokens tokens = {};
  bool adds_bos = false;  // the first token is no part of the text
  // Before the first user message, in bytes; 0: not known.
  size_t header_end = 0;
  // As they were rendered; empty for a prompt that came as text.
  std::vector<Message> messages = {};
  // The bytes each of them takes (chat/spans/message_ranges.h); as many.
  std::vector<std::optional<TextRange>> message_ranges = {};
  // Of the text; null: made when it is wanted, which costs a walk over all tokens.
  std::shared_ptr<const TokenMap> map = {};
  // Left out behind the system messages, for want of room.
  size_t dropped_messages = 0;
  bool has_tools = false;
  size_t grid_tokens = 64;
};

struct Explanation {
  enum class Why : uint8_t {
    kAllKnown,      // nothing was read but the last tokens, or the new message
    kNotAllowed,    // the request did not want reuse
    kNewPrompt,     // nothing that is known begins so
    kDiverged,      // another text stood there
    kNoCheckpoint,  // the text is known, the state at its end is not
  };
  // Where the prompt parts from the nearest that is known.
  struct Place {
    enum class Part : uint8_t { kContent, kReasoning, kToolCalls, kTools, kTemplate };
    // In the conversation, system messages counted too; nothing: the prompt came as text.
    std::optional<size_t> message = {};
    Role role = Role::kUser;
    Part part = Part::kTemplate;
    size_t character = 0;  // in the content, or in the reasoning; else in the prompt
  };

  // A message of the prompt.
  struct MessageTokens {
    size_t message = 0;  // as in Place
    Role role = Role::kUser;
    // Of the prompt; nothing: its place is not known for certain.
    std::optional<TokenRange> tokens = {};
  };

  Why why = Why::kAllKnown;
  std::optional<Place> place = {};
  // What stands there and what stood there, shortened.
  std::string prompt_excerpt = {};
  std::string stored_excerpt = {};
  std::string sentence = {};
  std::string advice = {};  // empty: there is nothing to do about it
  // The argument of --pin-volatile that would have kept the prompt; empty: none would.
  std::string volatile_pattern = {};
  // In order; none of a prompt that came as text.
  std::vector<MessageTokens> messages = {};
};

std::string_view WhyName(Explanation::Why why);
std::string_view PartName(Explanation::Place::Part part);

Explanation Explain(const ReuseReport& report, const ExplainedPrompt& prompt, const Engine& engine);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_EXPLANATION_H_
