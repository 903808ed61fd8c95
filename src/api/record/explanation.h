// Explanation: explains why a prompt was not reused completely. The scheduler reports token counts
// (sched/answer/reuse_report.h); the messages of the prompt tell where it diverged.
//
//   stored   … <|im_start|>user\nWhat is 17 times 23?<|im_end|> …
//   prompt   … <|im_start|>user\nWhat is 18 times 23?<|im_end|> …
//                                         ^ messages[2] (user), character 9
//
// All texts belong to the client's own namespace: the report holds no others.
//
// Pure; any thread.

#ifndef CAIRN_API_RECORD_EXPLANATION_H_
#define CAIRN_API_RECORD_EXPLANATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/media/medium_preview.h"
#include "api/media/placed_medium.h"
#include "base/provenance.h"
#include "chat/parse/reasoning.h"
#include "chat/spans/late_values.h"
#include "chat/spans/token_map.h"
#include "chat/text/message.h"
#include "engine/engine.h"
#include "media/medium.h"
#include "sched/answer/reuse_report.h"

namespace cairn {

// The parts of a prompt, kept until it is explained.
struct ExplainedPrompt {
  std::string text = {};
  Tokens tokens = {};
  std::vector<PlacedMedium> media = {};
  bool adds_bos = false;  // the first token is no part of the text
  // Bytes before the first user message; 0 if unknown.
  size_t header_end = 0;
  // The messages as rendered; empty for a prompt that came as text.
  std::vector<Message> messages = {};
  // The byte range of each message (chat/spans/message_ranges.h); the same number.
  std::vector<std::optional<TextRange>> message_ranges = {};
  // Token map of the text. If null, it is built when needed, which costs a walk over all tokens.
  std::shared_ptr<const TokenMap> map = {};
  // Number of messages that were dropped after the system messages because the context was full.
  size_t dropped_messages = 0;
  Tools tools = {};
  size_t grid_tokens = 64;
  // Keywords of the request's schemas that are not enforced, by their places.
  std::vector<std::string> loosened = {};
  // Conversation::left_out, those of tools too.
  std::vector<std::string> left_out = {};
  std::string cache_key = {};  // `prompt_cache_key`
  // Tokens before the last place that the client wants to be kept; 0 if there is none.
  size_t marked_tokens = 0;
  // Values of its messages that are kept, and told at a later message.
  std::vector<LateValue> late_values = {};
};

struct Explanation {
  enum class Why : uint8_t {
    kAllKnown,      // only the last tokens or the new messages were prefilled
    kNotAllowed,    // the request disabled reuse
    kNewPrompt,     // no cached prompt begins like this one
    kDiverged,      // the closest cached prompt has another text there
    kNoCheckpoint,  // the text is cached, but no state near its end
  };
  // The place where the prompt diverges from the closest cached prompt.
  struct Place {
    enum class Part : uint8_t { kContent, kReasoning, kToolCalls, kTools, kTemplate };
    // Index in the conversation, system messages included. Nullopt if the prompt came as text.
    std::optional<size_t> message = {};
    Role role = Role::kUser;
    Part part = Part::kTemplate;
    size_t character = 0;  // offset in the content or in the reasoning; otherwise in the prompt
  };

  // A message of the prompt.
  struct MessageTokens {
    size_t message = 0;  // as in Place
    Role role = Role::kUser;
    // Token range in the prompt. Nullopt if it is uncertain.
    std::optional<TokenRange> tokens = {};
  };

  // An image or a recording of the prompt.
  struct MediumTokens {
    MediumKind kind = MediumKind::kImage;
    // The part of the request that has its file: "messages[2].content[1]". If several have it, the
    // first.
    std::string part = {};
    // As in Place. Nullopt if no message is certain to have it.
    std::optional<size_t> message = {};
    TokenRange tokens = {};
    MediumPreview preview = {};
  };

  Why why = Why::kAllKnown;
  std::optional<Place> place = {};
  // The texts of this prompt and of the cached one at that place, shortened.
  std::string prompt_excerpt = {};
  std::string stored_excerpt = {};
  std::string sentence = {};
  std::string advice = {};  // empty if there is none
  // The argument of --pin-volatile that would have kept the prefix. Empty if there is none.
  std::string volatile_pattern = {};
  // In order; empty for a prompt that came as text.
  std::vector<MessageTokens> messages = {};
  std::vector<MediumTokens> media = {};  // in order
};

std::string_view WhyName(Explanation::Why why);
std::string_view PartName(Explanation::Place::Part part);

Explanation Explain(const ReuseReport& report, const ExplainedPrompt& prompt, const Engine& engine);

}  // namespace cairn

#endif  // CAIRN_API_RECORD_EXPLANATION_H_
