// The workload `mixed`: long prompts and chats at the same time.

#include <atomic>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lab/load/load_parts.h"
#include "lab/load/load_schedule.h"

namespace cairn::load {
namespace {

constexpr size_t kMixedAnswerTokens = 48;

class Mixed {
 public:
  Mixed(const LoadOptions& options, const LoadClient& client, LoadRun* run)
      : options_(options), client_(client), faults_(run), run_(run) {
    MixedParams params;
    params.seed = options.seed + options.repetition;
    params.scale = options.scale;
    schedule_ = MakeMixedSchedule(params);
  }

  void Play() {
    begin_ms_ = client_.clock().NowMs();
    const size_t prompts = schedule_.prompts.size();
    AtOnce(prompts + schedule_.chats.size(), [&](size_t i) {
      if (i < prompts) {
        PlayPrompt(i);
      } else {
        PlayChat(i - prompts);
      }
    });
    const double total_ms = client_.clock().NowMs() - begin_ms_;
    std::vector<double> all = chats_;
    all.insert(all.end(), prompts_.begin(), prompts_.end());
    PutTimes("first_token", all, run_);
    PutTimes("chat_first_token", chats_, run_);
    PutTimes("long_first_token", prompts_, run_);
    run_->samples.erase("first_token");  // `all` duplicates the two kinds
    run_->figures["requests"] = static_cast<double>(all.size());
    run_->figures["total_ms"] = total_ms;
    run_->figures["answer_tokens_per_s"] = RatioOf(answer_tokens_ * 1000, total_ms);
    run_->figures["read_tokens"] = read_tokens_;
    run_->figures["busy"] = static_cast<double>(busy_);
  }

 private:
  void PlayPrompt(size_t index) {
    const LongPrompt& prompt = schedule_.prompts[index];
    const std::string text =
        NewText(options_, "mixed: prompt " + std::to_string(index), prompt.tokens);
    SleepMs(begin_ms_ + prompt.at_ms - client_.clock().NowMs());
    Ask({{"user", text}}, &prompts_);
  }

  void PlayChat(size_t index) {
    const ChatPlan& plan = schedule_.chats[index];
    const std::string name = "mixed: chat " + std::to_string(index);
    std::vector<ChatMessage> messages = {{"system", NewText(options_, name, plan.system_tokens)}};
    for (size_t turn = 0; turn < plan.turns.size(); ++turn) {
      SleepMs(plan.turns[turn].think_ms);
      messages.push_back({"user", NewText(options_, name + ", turn " + std::to_string(turn),
                                          plan.turns[turn].message_tokens)});
      LoadReply reply = Ask(messages, &chats_);
      // A chat continues without a failed answer.
      messages.push_back({"assistant", std::move(reply.answer.content)});
    }
  }

  // The time to first token includes the waits after refusals.
  LoadReply Ask(const std::vector<ChatMessage>& messages, std::vector<double>* first_token_ms) {
    const double asked_ms = client_.clock().NowMs();
    LoadReply reply = client_.AskPatiently(AskFor(messages, kMixedAnswerTokens),
                                           std::numeric_limits<double>::infinity(), &busy_);
    if (!faults_.Accept(reply)) return reply;
    const std::lock_guard<std::mutex> lock(mutex_);
    first_token_ms->push_back(reply.asked_ms - asked_ms + reply.answer.first_token_ms);
    answer_tokens_ += static_cast<double>(reply.answer.answer_tokens);
    read_tokens_ += static_cast<double>(reply.answer.read_tokens());
    return reply;
  }

  const LoadOptions& options_;
  const LoadClient& client_;
  Faults faults_;
  LoadRun* const run_;
  MixedSchedule schedule_;
  double begin_ms_ = 0;
  std::atomic<size_t> busy_ = 0;
  std::mutex mutex_;  // guards all below
  std::vector<double> chats_;
  std::vector<double> prompts_;
  double answer_tokens_ = 0;
  double read_tokens_ = 0;
};

}  // namespace

void PlayMixed(const LoadOptions& options, const LoadClient& client, LoadRun* run) {
  Mixed(options, client, run).Play();
}

}  // namespace cairn::load
