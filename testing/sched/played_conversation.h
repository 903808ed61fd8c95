// For tests that play random conversations: a simulated person, the prompts that result, and an
// engine without scheduler and cache to compare answers with.

#ifndef CAIRN_TESTING_SCHED_PLAYED_CONVERSATION_H_
#define CAIRN_TESTING_SCHED_PLAYED_CONVERSATION_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/tokens.h"
#include "engine/engine.h"
#include "policy/prompt_shape.h"
#include "sched/request/prefill_chunks.h"
#include "sched/scheduler.h"
#include "tree/prompt_cuts.h"

namespace cairn::test {

struct PlayedMessage {
  char role = 'u';  // 's'ystem, 'u'ser, 'a'ssistant or 't'ool
  std::string reasoning = {};
  std::string content = {};
};

struct PlayedPrompt {
  Tokens tokens;
  PromptShape shape;
};

// The tokens around a message. Everything else in a played prompt has a token per byte.
struct MessageTokens {
  Token start;
  Token end;
};

// Renders as ChatML. `strips_reasoning`: as a template that keeps reasoning only after the last
// user message.
inline PlayedPrompt Render(const std::vector<PlayedMessage>& messages, bool strips_reasoning,
                           const MessageTokens& special) {
  size_t last_user = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == 'u') last_user = i;
  }
  PlayedPrompt prompt;
  const auto append = [&](const std::string& text) {
    prompt.tokens.insert(prompt.tokens.end(), text.begin(), text.end());
  };
  for (size_t i = 0; i < messages.size(); ++i) {
    const char role = messages[i].role;
    if (role == 'u' || role == 't') {
      prompt.shape.turns.push_back({prompt.tokens.size(), role == 'u'});
    }
    if (i == 1) prompt.shape.header_end = prompt.tokens.size();
    prompt.tokens.push_back(special.start);
    prompt.tokens.push_back(role);
    if (!strips_reasoning || i > last_user) append(messages[i].reasoning);
    append(messages[i].content);
    prompt.tokens.push_back(special.end);
  }
  prompt.shape.messages_end = prompt.tokens.size();
  prompt.shape.reply_follows = !strips_reasoning;
  prompt.tokens.push_back(special.start);
  prompt.tokens.push_back('a');
  prompt.shape.tokens = prompt.tokens.size();
  return prompt;
}

// The lengths of a person's messages, in letters.
struct PersonLetters {
  size_t system_max;
  size_t first_max;    // the first message
  size_t message_max;  // every later one
  size_t kept_max;     // the part of the last message that an edit keeps
  size_t edit_max;     // the text that an edit adds to that
};

// Person: decides what a simulated person writes and does next.
class Person {
 public:
  // `system`: a system prefix that all share; empty: one of its own.
  Person(uint64_t seed, const PersonLetters& letters, const std::string& system = "")
      : random_(seed), letters_(letters) {
    const std::string own = Words(letters.system_max);
    messages_ = {{'s', "", system.empty() ? own : system}, {'u', "", Words(letters.first_max)}};
  }

  const std::vector<PlayedMessage>& messages() const { return messages_; }

  // Takes the answer, its first `reasoning` letters as reasoning, and adds a turn.
  void Append(const std::string& answer, size_t reasoning) {
    messages_.push_back({'a', answer.substr(0, reasoning), answer.substr(reasoning)});
    messages_.push_back({random_() % 4 == 0 ? 't' : 'u', "", Words(letters_.message_max)});
  }
  // Mostly adds a turn; otherwise does one of the things that make prompts diverge.
  void Change(const std::string& answer) {
    past_.push_back(messages_);
    switch (random_() % 8) {
      case 0:  // repeat
        return;
      case 1: {  // edit the last message
        std::string& content = messages_.back().content;
        content = content.substr(0, random_() % letters_.kept_max) + Words(letters_.edit_max);
        return;
      }
      case 2:  // return to an earlier turn and continue differently
        messages_.resize(1 + random_() % (messages_.size() - 1));
        messages_.push_back({'u', "", Words(letters_.message_max)});
        return;
      case 3:  // undo, or redo what was undone
        messages_ = past_[random_() % past_.size()];
        return;
      default:
        Append(answer, answer.empty() ? 0 : random_() % answer.size());
    }
  }

 private:
  std::string Words(size_t letters_max) {
    std::string text(1 + random_() % letters_max, ' ');
    for (char& letter : text) letter = static_cast<char>('A' + random_() % 26);
    return text;
  }

  std::mt19937_64 random_;
  const PersonLetters letters_;
  std::vector<PlayedMessage> messages_;
  std::vector<std::vector<PlayedMessage>> past_;
};

// PlainPlayer: an engine without scheduler or cache. The engine must outlive it.
class PlainPlayer {
 public:
  // `starts`: the message-start token behind which the server cuts; -1: none. `gap_divisor`: that
  // of its CutRules.
  explicit PlainPlayer(Engine* engine, Token starts = -1, size_t gap_divisor = 0)
      : engine_(engine), starts_(starts), gap_divisor_(gap_divisor) {}
  // A copy of `other` on `engine`, a copy of its engine.
  PlainPlayer(const PlainPlayer& other, Engine* engine)
      : engine_(engine),
        starts_(other.starts_),
        gap_divisor_(other.gap_divisor_),
        held_(other.held_),
        chunk_ends_(other.chunk_ends_),
        clean_(other.clean_),
        chat_start_(other.chat_start_),
        reply_follows_(other.reply_follows_),
        passes_end_(other.passes_end_) {}

  void Forget() {
    engine_->Clear(0);
    held_.clear();
    chunk_ends_.clear();
    clean_ = 0;
  }
  // Whether a chunk ended there, so that a snapshot may have been taken.
  bool EndsChunkAt(size_t position) const {
    return std::binary_search(chunk_ends_.begin(), chunk_ends_.end(), position);
  }
  // Drops all tokens but the first `tokens`. REQUIRES: the model can be truncated there, or a chunk
  // ended there.
  void KeepFront(size_t tokens) {
    const Tokens held = std::exchange(held_, {});
    if (engine_->CanTruncate(0, tokens)) {
      EXPECT_TRUE(engine_->Truncate(0, tokens).has_value());
      held_.assign(held.begin(), held.begin() + static_cast<ptrdiff_t>(tokens));
      std::erase_if(chunk_ends_, [tokens](size_t end) { return end > tokens; });
    } else {
      engine_->Clear(0);
      for (const size_t end : std::exchange(chunk_ends_, {})) {
        if (end <= tokens) PrefillChunk(held, end);
      }
    }
    clean_ = std::min(clean_, tokens);
  }
  const Tokens& held() const { return held_; }
  // The prompts are a chat's, whose generation prompts are two tokens, and `live` prefills them: a
  // short turn after an answer is one chunk (sched/request/prefill_chunks.h). `reply_follows`: see
  // PromptShape. `passes_end`: where the model can be truncated anywhere, the generation prompt
  // ends no chunk, whatever follows.
  void PlayLiveChat(Token message_start, bool reply_follows, bool passes_end) {
    chat_start_ = message_start;
    reply_follows_ = reply_follows;
    passes_end_ = passes_end && !engine_->traits().NeedsSnapshots();
  }
  // Whether `prompt` repeats all that is held, including the last answer, and continues.
  bool Continues(const Tokens& prompt) const {
    return held_.size() < prompt.size() && CommonPrefix(held_, prompt) == held_.size();
  }
  // Prefills the rest of `prompt` in a cold run's chunks: first up to a cut, if it begins elsewhere
  // (by at least a full step where the model can be truncated anywhere); then full chunks
  // up to the last cut before each boundary and before the end, and the rest. Where the model can
  // be truncated anywhere, full chunks alone behind an answer or an edit. See PlayLiveChat.
  // REQUIRES: Continues(prompt).
  void Read(const Tokens& prompt) {
    std::vector<size_t> boundaries = {0};
    for (size_t i = 0; i < prompt.size(); ++i) {
      if (prompt[i] == starts_ && i + 1 - boundaries.back() >= GapAt(i + 1)) {
        boundaries.push_back(i + 1);
      }
    }
    const CutRules rules{engine_->traits().grid_tokens, starts_ < 0 ? Tokens{} : Tokens{starts_},
                         gap_divisor_};
    const PromptCuts cuts(rules, prompt);
    const size_t chunk_max = engine_->chunk_tokens_max();
    while (held_.size() < prompt.size()) {
      const size_t begin = held_.size();
      size_t end = prompt.size();
      if (!engine_->traits().NeedsSnapshots() &&
          (clean_ < begin || !IsCut(begin, boundaries, prompt.size()))) {
        PrefillChunk(prompt, std::min(end, begin + chunk_max));
        continue;
      }
      if (const size_t turn_end = ShortTurnEnd(prompt, boundaries); turn_end > 0) {
        end = turn_end;
      } else if (!IsCut(begin, boundaries, prompt.size())) {
        const size_t least = begin + OffCutMin();
        end = CutFrom(least, boundaries, prompt.size());
        if (end - begin > chunk_max) end = CutFrom(begin + 1, boundaries, prompt.size());
      } else {
        if (boundaries.back() > begin) {
          end = *std::upper_bound(boundaries.begin(), boundaries.end(), begin);
        }
        size_t last = end - 1;
        while (!IsCut(last, boundaries, prompt.size())) --last;
        if (begin < last) {
          end = last;
        } else if (PassesEnd(prompt, cuts) && end == boundaries.back()) {
          end = prompt.size();
        }
      }
      if (end - begin > chunk_max) {
        end = begin + chunk_max;
        while (!IsCut(end, boundaries, prompt.size())) --end;
      }
      PrefillChunk(prompt, end);
      clean_ = cuts.CleanAfter(clean_, {begin, end});
    }
  }
  // Returns the answer to the prompt just prefilled. REQUIRES: the model's tokens are bytes.
  std::string Generate(const GenerationParams& params) {
    std::string text;
    const auto sampler = engine_->MakeSampler(params.sampling);
    while (true) {
      const Token token = sampler->Sample(engine_->Logits());
      if (engine_->IsEndOfGeneration(token) && !params.ignore_end) return text;
      text += engine_->Piece(token, false);
      if (text.size() == params.tokens_max) return text;
      EXPECT_TRUE(engine_->Decode(0, held_.size(), {&token, 1}).has_value());
      held_.push_back(token);
      chunk_ends_.push_back(held_.size());
    }
  }

 private:
  bool EndsInGenerationPrompt(const Tokens& prompt) const {
    return chat_start_ >= 0 && prompt.size() > 2 && prompt[prompt.size() - 2] == chat_start_;
  }
  // Whether the last boundary ends no chunk: that of the generation prompt, or of a short message
  // before it, but not that of the system prefix's end.
  bool PassesEnd(const Tokens& prompt, const PromptCuts& cuts) const {
    const size_t last = cuts.BoundaryAtOrBefore(prompt.size());
    if (passes_end_) return prompt.size() - last <= kTailTokensMax;
    if (!reply_follows_ || !EndsInGenerationPrompt(prompt)) return false;
    const auto second = std::find(prompt.begin() + 1, prompt.end(), chat_start_);
    return prompt.size() - last <= kTailTokensMax &&
           last > cuts.ForCheckpoint(static_cast<size_t>(second - prompt.begin()));
  }
  // Where the rest of the prompt ends a chunk if it is a short turn after an answer; 0: it is none.
  size_t ShortTurnEnd(const Tokens& prompt, const std::vector<size_t>& boundaries) const {
    const size_t begin = held_.size();
    if (chat_start_ < 0 || IsCut(begin, boundaries, prompt.size())) return 0;
    size_t end = prompt.size();
    if (!reply_follows_ && EndsInGenerationPrompt(prompt)) {
      size_t stop = prompt.size() - 1;
      if (boundaries.back() != stop) --stop;
      while (!IsCut(stop, boundaries, prompt.size())) --stop;
      if (stop > begin) end = stop;
    }
    const size_t steps = 4 * engine_->traits().grid_tokens;
    return end - begin <= std::min(steps, engine_->chunk_tokens_max()) ? end : 0;
  }
  size_t OffCutMin() const {
    const MemoryTraits& traits = engine_->traits();
    return traits.NeedsSnapshots() ? std::min<size_t>(8, traits.grid_tokens) : traits.grid_tokens;
  }
  size_t GapAt(size_t position) const {
    if (gap_divisor_ == 0) return 8;
    return std::min<size_t>(std::max<size_t>(position / gap_divisor_, 8), 1024);
  }
  // Whether a prompt of `size` tokens may be cut at `position`; `boundaries` begins with 0.
  bool IsCut(size_t position, const std::vector<size_t>& boundaries, size_t size) const {
    const size_t grid = engine_->traits().grid_tokens;
    const auto next = std::upper_bound(boundaries.begin(), boundaries.end(), position);
    return position < size && (position - *(next - 1)) % grid == 0;
  }
  // The first cut at or after `position`, or `size`.
  size_t CutFrom(size_t position, const std::vector<size_t>& boundaries, size_t size) const {
    while (position < size && !IsCut(position, boundaries, size)) ++position;
    return std::min(position, size);
  }
  void PrefillChunk(const Tokens& prompt, size_t end) {
    const TokenSpan piece = TokenSpan(prompt).subspan(held_.size(), end - held_.size());
    EXPECT_TRUE(engine_->Decode(0, held_.size(), piece).has_value());
    held_.insert(held_.end(), piece.begin(), piece.end());
    chunk_ends_.push_back(end);
  }

  Engine* const engine_;
  const Token starts_;
  const size_t gap_divisor_;
  Tokens held_;
  std::vector<size_t> chunk_ends_;
  size_t clean_ = 0;  // see Provenance
  Token chat_start_ = -1;
  bool reply_follows_ = false;
  bool passes_end_ = false;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_SCHED_PLAYED_CONVERSATION_H_
