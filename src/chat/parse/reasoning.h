// ReasoningSplitter: splits a model's answer into reasoning and content while it is generated.
//
//   <think>\nLet me see.\n</think>\n\nForty-two.   ->  "Let me see." | "Forty-two."

#ifndef CAIRN_CHAT_PARSE_REASONING_H_
#define CAIRN_CHAT_PARSE_REASONING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat/learn/reasoning_tags.h"
#include "chat/template/rendered_text.h"

namespace cairn {

// One per answer; not thread-safe. Bytes pass through unchanged: a delta may end inside a character
// if the pushed text did.
//
// Reasoning is the text between an opening tag at the very start of the answer (after optional
// white space) and the first closing tag; any other tag is ordinary text. Blank lines at the start
// of the reasoning and of the content after it, and white space at the end of the reasoning, are
// dropped. However much white space is held back, each byte is looked at a fixed number of times.
class ReasoningSplitter {
 public:
  struct Piece {
    bool reasoning = false;
    std::string text;  // never empty
  };

  // `starts_inside`: the generation prompt has already opened the reasoning; see OpensReasoning.
  ReasoningSplitter(ReasoningTags tags, bool starts_inside);

  // Returns what the text so far determines. Holds back only white space that may be dropped, and
  // what may be the beginning of a tag.
  std::vector<Piece> Push(std::string_view text);
  // Returns the rest. Push must not be called afterwards.
  std::vector<Piece> Finish();

  // How many bytes were compared so far, but for those of tags.
  uint64_t looked_at_bytes() const { return looked_at_bytes_; }

 private:
  enum class State {
    kStart,           // only white space so far: the opening tag may follow
    kReasoningStart,  // inside, only white space so far
    kReasoning,
    kContentStart,  // after the closing tag, only white space so far
    kContent,
  };

  bool Step(bool finished, std::vector<Piece>* pieces);
  bool StepStart(bool finished);
  bool StepReasoning(bool finished, std::vector<Piece>* pieces);
  bool DropBlankLines(State next);
  // Returns where the first text after the white space at the front begins; npos if there is none.
  size_t FindText();
  // Returns the size of the first `size` held bytes without white space at their end.
  size_t TrimmedSize(size_t size);
  void Emit(bool reasoning, size_t size, std::vector<Piece>* pieces);

  const ReasoningTags tags_;
  State state_;
  std::string held_;
  size_t white_ = 0;  // so many bytes at the front of held_ are white space, and hold no tag
  uint64_t looked_at_bytes_ = 0;
};

// Whether a generation prompt ends with an opening tag.
bool OpensReasoning(const ReasoningTags& tags, std::string_view generation_prompt);

// Returns GBNF rules for an answer with reasoning before content that follows the rule "root"; the
// complete answer is the rule kAnswerRule. `starts_inside` is as for ReasoningSplitter; if it is
// false, reasoning in its tags is optional.
inline constexpr std::string_view kAnswerRule = "answer-with-reasoning";
std::string GrammarWithReasoning(const ReasoningTags& tags, std::string_view content_rules,
                                 bool starts_inside);

// Finds the reasoning in a rendered prompt, tags included: from each opening tag that is closed
// again before the next one opens. Tags that a person writes count as well; the only effect is that
// no checkpoint is taken inside.
std::vector<TextRange> FindReasoning(const ReasoningTags& tags, std::string_view text);

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_REASONING_H_
