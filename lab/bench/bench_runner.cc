#include "lab/bench/bench_runner.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "lab/bench/bench_server.h"
#include "lab/bench/prefill_lower_bound.h"
#include "lab/client/chat_client.h"

namespace cairn {
namespace {

constexpr double kReadyMsMax = 300'000;
constexpr size_t kKnownShareMax = 5;   // more than a fifth of a first prompt is no coincidence
constexpr size_t kStopAfterBytes = 4;  // of an answer that the client cancels

struct PlayedConversation {
  std::vector<ChatMessage> messages;
  std::string tools_json;
};

// A request as it was sent and answered, kept to count its tokens afterwards.
struct SentRequest {
  std::string body;
  std::string answer;  // the answer's text from its beginning, as far as it is known exactly
  ChatMessage message;
  size_t group = 0;  // requests of one group were sent at the same time
  size_t processed_tokens = 0;
  bool cancelled = false;
  RequestFigures figures;
};

// Returns whether a request that the client will cancel continues.
bool GoesOn(Cancel cancel, const ChatAnswer& so_far) {
  const size_t text = so_far.content.size() + so_far.reasoning.size();
  if (cancel == Cancel::kAnswering) return text < kStopAfterBytes;
  if (text > 0) return false;
  const size_t cached = so_far.cached_tokens;
  const size_t processed = so_far.processed_tokens;
  return processed <= cached || 2 * (processed - cached) < so_far.prompt_tokens - cached;
}

RequestFigures FiguresOf(const Ask& ask, const ChatAnswer& answer) {
  RequestFigures figures;
  figures.what = ask.what;
  figures.prompt_tokens = answer.prompt_tokens;
  figures.answer_tokens = answer.answer_tokens;
  figures.read_tokens = answer.read_tokens();
  figures.cancelled = answer.cancelled;
  figures.answer = answer.reasoning + answer.content;
  if (answer.cancelled) {
    figures.read_tokens =
        answer.processed_tokens - std::min(answer.processed_tokens, answer.cached_tokens);
    return figures;
  }
  figures.first_token_ms = answer.first_token_ms;
  figures.total_ms = answer.total_ms;
  figures.answer_ms = answer.total_ms - answer.first_token_ms;
  return figures;
}

// Computes the lower bound of each request. Its methods return false if the server cannot tokenise.
class LowerBoundCount {
 public:
  explicit LowerBoundCount(const BenchServer* server) : server_(server) {}

  bool Count(std::vector<SentRequest>* sent) {
    for (size_t begin = 0; begin < sent->size();) {
      size_t end = begin;
      while (end < sent->size() && (*sent)[end].group == (*sent)[begin].group) ++end;
      std::vector<std::vector<int32_t>> answered;
      for (size_t i = begin; i < end; ++i) {
        if (!CountPrompt(&(*sent)[i], &answered)) return false;
      }
      for (std::vector<int32_t>& sequence : answered) seen_.Add(std::move(sequence));
      begin = end;
    }
    return true;
  }

  // Returns the number of requests whose prompt length differs between server and tokenizer.
  size_t different() const { return different_; }

 private:
  // Appends the prompt, and its answer if known, to `answered`.
  bool CountPrompt(SentRequest* request, std::vector<std::vector<int32_t>>* answered) {
    const auto prompt = server_->Prompt(request->body);
    if (!prompt) return false;
    auto tokens = server_->Tokenize(*prompt, /*add_special=*/true);
    if (!tokens) return false;
    if (request->figures.prompt_tokens == 0) request->figures.prompt_tokens = tokens->size();
    if (request->figures.prompt_tokens != tokens->size()) ++different_;
    // A cancelled prompt counts only as far as it was prefilled, and is known to later requests.
    if (request->cancelled) tokens->resize(std::min(tokens->size(), request->processed_tokens));
    request->figures.lower_bound_tokens = seen_.PrefillLowerBound(*tokens);
    if (!request->answer.empty()) {
      const auto answer = server_->Tokenize(request->answer, /*add_special=*/false);
      if (!answer) return false;
      std::vector<int32_t> both = *tokens;
      both.insert(both.end(), answer->begin(), answer->end());
      answered->push_back(std::move(both));
    }
    seen_.Add(std::move(*tokens));
    return true;
  }

  const BenchServer* const server_;
  SeenSequences seen_;
  size_t different_ = 0;
};

class Player {
 public:
  explicit Player(const PlayOptions& options)
      : options_(options), server_(options.url), client_(options.url, options.clock) {}

  PlayedScenario Play(const Scenario& scenario) {
    played_.run.scenario = scenario.name;
    read_before_ = server_.TokensRead();
    const double begin_ms = options_.clock->NowMs();
    for (const Step& step : scenario.steps) {
      const Status done = std::visit([this](const auto& which) { return Do(which); }, step);
      if (!done) {
        played_.run.error = done.error().message;
        break;
      }
    }
    played_.run.total_ms = options_.clock->NowMs() - begin_ms;
    TakeReadInAll();
    if (played_.run.error.empty()) CountLowerBound();
    for (SentRequest& request : sent_) played_.run.requests.push_back(std::move(request.figures));
    return std::move(played_);
  }

 private:
  std::vector<ChatMessage>& MessagesOf(size_t conversation) {
    return conversations_[conversation].messages;
  }

  Status Do(const AddStep& step) {
    std::vector<ChatMessage>& messages = MessagesOf(step.conversation);
    messages.insert(messages.end(), step.messages.begin(), step.messages.end());
    return {};
  }

  Status Do(const RewriteStep& step) {
    MessagesOf(step.conversation).at(step.message).content = step.content;
    return {};
  }

  Status Do(const EraseStep& step) {
    std::vector<ChatMessage>& messages = MessagesOf(step.conversation);
    CHECK(step.begin + step.count <= messages.size());
    const auto begin = messages.begin() + static_cast<std::ptrdiff_t>(step.begin);
    messages.erase(begin, begin + static_cast<std::ptrdiff_t>(step.count));
    return {};
  }

  Status Do(const CutStep& step) {
    CHECK(step.keep <= MessagesOf(step.conversation).size());
    MessagesOf(step.conversation).resize(step.keep);
    return {};
  }

  Status Do(const CopyStep& step) {
    conversations_[step.to] = conversations_[step.from];
    return {};
  }

  Status Do(const ToolsStep& step) {
    conversations_[step.conversation].tools_json = step.tools_json;
    return {};
  }

  Status Do(const RestartStep&) {
    CHECK(options_.restart);
    TakeReadInAll();
    if (const Status done = options_.restart(); !done) return done;
    if (const Status ready = server_.WaitUntilReady(kReadyMsMax); !ready) return ready;
    if (read_before_) read_before_ = 0;
    return {};
  }

  Status Do(const AskStep& step) {
    if (!sent_.empty() && options_.pause_ms > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options_.pause_ms));
    }
    std::vector<Result<ChatAnswer>> answers(step.asks.size());
    if (step.asks.size() == 1) {
      answers[0] = AskOne(step.asks[0]);
    } else {
      std::vector<std::thread> threads;
      for (size_t i = 0; i < step.asks.size(); ++i) {
        conversations_[step.asks[i].conversation];  // inserted here: no thread changes the map
        threads.emplace_back([&, i] { answers[i] = AskOne(step.asks[i]); });
      }
      for (std::thread& thread : threads) thread.join();
    }
    const size_t group = sent_.size();
    for (size_t i = 0; i < step.asks.size(); ++i) {
      if (const Status took = Take(step.asks[i], std::move(answers[i]), group); !took) return took;
    }
    // Only after all threads have ended: concurrent requests may share a conversation.
    for (size_t i = 0; i < step.asks.size(); ++i) {
      KeepAnswer(step.asks[i], std::move(sent_[group + i].message));
    }
    return {};
  }

  Result<ChatAnswer> AskOne(const Ask& ask) const {
    const PlayedConversation& conversation = conversations_.at(ask.conversation);
    ChatParams params;
    params.tokens_max = ask.answer_tokens_max;
    params.tools_json = conversation.tools_json;
    if (ask.cancel == Cancel::kNever) return client_.Ask(conversation.messages, params, nullptr);
    params.tell_progress = true;
    return client_.AskWhile(conversation.messages, params, [&ask](const ChatAnswer& so_far) {
      return GoesOn(ask.cancel, so_far);
    });
  }

  Status Take(const Ask& ask, Result<ChatAnswer> answer, size_t group) {
    if (!answer) return Fail(answer.error().code, ask.what + ": " + answer.error().message);
    const PlayedConversation& conversation = conversations_.at(ask.conversation);
    auto body = ConversationBody(conversation.messages, conversation.tools_json);
    if (!body) return tl::unexpected<Error>(body.error());
    SentRequest request;
    request.figures = FiguresOf(ask, *answer);
    request.body = std::move(*body);
    // The template's text between reasoning and content is not known.
    request.answer = answer->reasoning.empty() ? answer->content : answer->reasoning;
    request.group = group;
    request.processed_tokens = answer->processed_tokens;
    request.cancelled = answer->cancelled;
    request.message = {"assistant", std::move(answer->content), std::move(answer->reasoning)};
    sent_.push_back(std::move(request));
    if (options_.on_progress) options_.on_progress(sent_.size());
    return {};
  }

  void KeepAnswer(const Ask& ask, ChatMessage answer) {
    switch (ask.keep) {
      case Keep::kAnswer:
        break;
      case Keep::kContent:
        if (answer.reasoning.empty() || answer.content.empty()) answer = ask.instead;
        answer.reasoning.clear();
        break;
      case Keep::kInstead:
        answer = ask.instead;
        break;
      case Keep::kDiscard:
        return;
    }
    MessagesOf(ask.conversation).push_back(std::move(answer));
  }

  // Adds the tokens prefilled since the last call.
  void TakeReadInAll() {
    if (!read_before_) return;
    const std::optional<size_t> now = server_.TokensRead();
    if (!now || *now < *read_before_) {
      read_before_ = std::nullopt;
      played_.run.read_in_all_tokens = 0;
      return;
    }
    played_.run.read_in_all_tokens += *now - *read_before_;
    read_before_ = now;
  }

  void CountLowerBound() {
    LowerBoundCount count(&server_);
    if (!count.Count(&sent_)) {
      for (SentRequest& request : sent_) request.figures.lower_bound_tokens = 0;
      played_.notes.emplace_back(
          "the server has no /apply-template or no /tokenize, so the lower bound is not known");
    } else if (count.different() > 0) {
      played_.notes.push_back(
          "the prompts of " + std::to_string(count.different()) +
          " requests have other numbers of tokens by /tokenize than by the server's usage");
    }
    if (KnewTheBeginning()) {
      played_.notes.emplace_back(
          "the server knew how this begins, so it was played there before; its figures are too "
          "good: start the server anew, or take another --seed");
    }
    if (!read_before_) played_.notes.emplace_back("the server does not say what it read in all");
  }

  // Different scenarios share only the template's first words.
  bool KnewTheBeginning() const {
    if (sent_.empty() || sent_.front().cancelled) return false;
    // One of the first requests at the same time may prefill the shared prefix for all of them.
    return std::all_of(sent_.begin(), sent_.end(), [this](const SentRequest& request) {
      if (request.group != sent_.front().group) return true;
      const RequestFigures& figures = request.figures;
      return (figures.prompt_tokens - figures.read_tokens) * kKnownShareMax > figures.prompt_tokens;
    });
  }

  const PlayOptions& options_;
  const BenchServer server_;
  const ChatClient client_;
  std::map<size_t, PlayedConversation> conversations_;
  std::vector<SentRequest> sent_;
  std::optional<size_t> read_before_;
  PlayedScenario played_;
};

}  // namespace

PlayedScenario PlayScenario(const Scenario& scenario, const PlayOptions& options) {
  return Player(options).Play(scenario);
}

}  // namespace cairn
