// For tests that play random conversations: conversations that nobody interrupted, played on an
// engine without scheduler and cache.

#ifndef CAIRN_TESTING_SCHED_PLAYED_HISTORY_H_
#define CAIRN_TESTING_SCHED_PLAYED_HISTORY_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cache/resume.h"
#include "testing/engine/fake_engine.h"
#include "testing/sched/played_conversation.h"
#include "tree/prompt_cuts.h"

namespace cairn::test {

enum class Edit { kNone, kHere, kAtCut, kBackToCut, kBackToPrompt };

// A prompt of an uninterrupted conversation. One that does not continue what is held begins anew,
// unless it is an edit: then the conversation is truncated to where the prompt differs, or to the
// last cut before (kAtCut). Where the model cannot be truncated, it goes back to the last chunk's
// end before that is a cut, or the end of a prompt.
struct Turn {
  Tokens prompt;
  Edit edit = Edit::kNone;
  bool answered = true;

  friend auto operator<=>(const Turn&, const Turn&) = default;
};
using History = std::vector<Turn>;

// HistoryPlayer: plays a history turn by turn on an engine of its own. A copy can go on another
// way.
class HistoryPlayer {
 public:
  HistoryPlayer(const FakeEngineOptions& options, bool reply_follows, bool is_live)
      : rules_{options.grid_tokens, options.message_starts, options.boundary_gap_divisor},
        engine_(options),
        player_(&engine_, options.message_starts.empty() ? -1 : options.message_starts.front(),
                options.boundary_gap_divisor) {
    player_.PlayLiveChat(FakeEngine::kMessageStart, reply_follows, is_live);
  }
  HistoryPlayer(const HistoryPlayer& other)
      : rules_(other.rules_),
        engine_(other.engine_),
        player_(other.player_, &engine_),
        answers_(other.answers_),
        answer_(other.answer_) {}
  HistoryPlayer& operator=(const HistoryPlayer&) = delete;

  // Returns false if the turn is an edit that is impossible: the model cannot go back to there, or
  // it is inside an answer.
  bool Play(const Turn& turn, const GenerationParams& params) {
    if (turn.edit != Edit::kNone) {
      const size_t kept = KeptBy(turn);
      if (kept == 0) return false;
      player_.KeepFront(kept);
      std::erase_if(answers_, [kept](const TokenRange& answer) { return answer.begin >= kept; });
    } else if (!player_.Continues(turn.prompt)) {
      player_.Forget();
      answers_.clear();
    }
    player_.Read(turn.prompt);
    if (!turn.answered) return true;
    answer_ = player_.Generate(params);
    answers_.push_back({turn.prompt.size(), player_.held().size()});
    return true;
  }

  // The last answer.
  const std::string& answer() const { return answer_; }

 private:
  // Returns how many tokens are kept by an edit; 0: it is impossible.
  size_t KeptBy(const Turn& turn) const {
    size_t kept = CommonPrefix(player_.held(), turn.prompt);
    const bool goes_back = turn.edit == Edit::kBackToCut || turn.edit == Edit::kBackToPrompt;
    const auto possible = [&](size_t at) {
      if (IsInAnswer(at)) return false;
      return engine_.CanTruncate(0, at) || (goes_back && player_.EndsChunkAt(at));
    };
    // The last token is always prefilled, for its logits.
    const PromptCuts cuts(rules_, turn.prompt);
    if (turn.edit == Edit::kAtCut) kept = cuts.AtOrBefore(std::min(kept, turn.prompt.size() - 1));
    if (goes_back) {
      kept = std::min(kept, turn.prompt.size() - 1);
      const auto wanted = [&](size_t at) {
        return turn.edit == Edit::kBackToCut ? cuts.Has(at) : EndsPrompt(at);
      };
      while (kept > 0 && !(wanted(kept) && possible(kept))) --kept;
    }
    return possible(kept) ? kept : 0;
  }
  bool EndsPrompt(size_t position) const {
    return std::any_of(answers_.begin(), answers_.end(),
                       [position](const TokenRange& answer) { return answer.begin == position; });
  }
  bool IsInAnswer(size_t position) const {
    return std::any_of(answers_.begin(), answers_.end(), [position](const TokenRange& answer) {
      return answer.begin < position && position < answer.end;
    });
  }

  const CutRules rules_;
  FakeEngine engine_;
  PlainPlayer player_;
  std::vector<TokenRange> answers_;
  std::string answer_;
};

// Histories: finds the uninterrupted conversations that give an answer.
class Histories {
 public:
  // `strips_reasoning`: the clients' template does.
  Histories(const FakeEngineOptions& options, const GenerationParams& params, bool strips_reasoning,
            ReuseMode reuse)
      : options_(options),
        params_(params),
        is_live_(reuse == ReuseMode::kLive),
        reply_follows_(is_live_ && !strips_reasoning) {}

  // Records a prompt from which later ones may differ, and its answer.
  void See(const Tokens& prompt, const std::string& answer) {
    Tokens answered = prompt;
    answered.insert(answered.end(), answer.begin(), answer.end());
    seen_.insert({prompt, std::move(answered)});
  }
  // Records tokens that were preloaded, so that a later prompt may resume inside them.
  void SeePreload(const Tokens& path) { preloaded_.insert(path); }

  std::string ColdAnswer(const Tokens& prompt) const {
    HistoryPlayer player(options_, reply_follows_, is_live_);
    player.Play({prompt}, params_);
    return player.answer();
  }

  // Returns the conversations that begin as one of `histories`, end with `prompt`, and whose last
  // answer is `answer`.
  std::set<History> Explain(const std::set<History>& histories, const Tokens& prompt,
                            const std::string& answer) {
    std::set<History> found = ExplainBy(
        histories, {{{prompt}}, {{prompt, Edit::kHere}}, {{prompt, Edit::kAtCut}}}, answer);
    if (found.empty()) {
      found = ExplainBy(histories, {{{prompt, Edit::kBackToCut}}, {{prompt, Edit::kBackToPrompt}}},
                        answer);
    }
    if (found.empty() || answer.size() < kTellingLetters) {
      found.merge(ExplainBy(histories, EndsWithParts(prompt, /*near_cuts=*/found.empty()), answer));
    }
    if (found.empty()) found = ExplainBy(histories, EndsInPreloads(prompt), answer);
    return found;
  }

 private:
  // Two conversations hardly ever give the same answer of so many letters.
  static constexpr size_t kTellingLetters = 6;
  static constexpr Token kOther = '#';  // in no prompt

  std::set<History> ExplainBy(const std::set<History>& histories, const std::vector<History>& ends,
                              const std::string& answer) {
    std::set<History> beginnings;
    for (const History& history : histories) {
      for (size_t kept = 0; kept <= history.size(); ++kept) {
        beginnings.emplace(history.begin(), history.begin() + static_cast<ptrdiff_t>(kept));
      }
    }
    std::set<History> found;
    for (const History& beginning : beginnings) {
      for (const History& end : ends) {
        if (beginning.empty() && end.front().edit != Edit::kNone) continue;
        HistoryPlayer player(PlayerAfter(beginning));
        const bool possible = std::all_of(
            end.begin(), end.end(), [&](const Turn& turn) { return player.Play(turn, params_); });
        if (!possible || player.answer() != answer) continue;
        History path = beginning;
        path.insert(path.end(), end.begin(), end.end());
        found.insert(std::move(path));
      }
    }
    return found;
  }

  // `live` leaves the grid where a prompt differs from an earlier one: as if the tokens up to there
  // had been a prompt of their own, or the beginning of a longer one.
  std::vector<History> EndsWithParts(const Tokens& prompt, bool near_cuts) const {
    std::vector<History> ends;
    const CutRules rules{options_.grid_tokens, options_.message_starts,
                         options_.boundary_gap_divisor};
    const PromptCuts cuts(rules, prompt);
    std::set<size_t> parts;
    for (const Tokens& seen : seen_) parts.insert(CommonPrefix(seen, prompt));
    for (const size_t part : parts) {
      // At the end of an earlier prompt nearer to a cut too, where nothing is stored at the cut.
      const bool ends_prompt = std::any_of(
          seen_.begin(), seen_.end(), [part](const Tokens& seen) { return seen.size() == part; });
      const bool is_near = part < cuts.AtOrBefore(part) + kBoundaryGapTokens;
      if (part == prompt.size() || (is_near && !(near_cuts && ends_prompt))) continue;
      Tokens front(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(part));
      for (const Edit edit : {Edit::kNone, Edit::kHere, Edit::kAtCut}) {
        ends.push_back({{front, edit, false}, {prompt}});
      }
      front.insert(front.end(), rules.grid_tokens, kOther);
      ends.push_back({{front, Edit::kNone, false}, {prompt, Edit::kHere}});
    }
    return ends;
  }

  // A preload may prefill again what is stored, where that takes less time. A shorter prompt that
  // waits for it resumes at its own last cut, as if the longer one had been asked and then edited.
  // Its own prefill may pass that cut: the boundary of the generation prompt.
  std::vector<History> EndsInPreloads(const Tokens& prompt) const {
    std::vector<History> ends;
    for (const Tokens& path : preloaded_) {
      ends.push_back({{path, Edit::kNone, false}, {prompt, Edit::kBackToCut}});
    }
    return ends;
  }

  const HistoryPlayer& PlayerAfter(const History& history) {
    const auto known = players_.find(history);
    if (known != players_.end()) return *known->second;
    std::unique_ptr<HistoryPlayer>& player = players_[history];
    if (history.empty()) {
      player = std::make_unique<HistoryPlayer>(options_, reply_follows_, is_live_);
    } else {
      const History before(history.begin(), history.end() - 1);
      player = std::make_unique<HistoryPlayer>(PlayerAfter(before));
      player->Play(history.back(), params_);
    }
    return *player;
  }

  const FakeEngineOptions options_;
  const GenerationParams params_;
  const bool is_live_;
  const bool reply_follows_;
  std::set<Tokens> seen_;  // prompts, and prompts with their answers
  std::set<Tokens> preloaded_;
  std::map<History, std::unique_ptr<HistoryPlayer>> players_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_SCHED_PLAYED_HISTORY_H_
