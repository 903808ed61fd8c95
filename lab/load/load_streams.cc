// The workload `streams`: many clients, each of which sends its next request after each answer.

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "lab/load/load_parts.h"

namespace cairn::load {
namespace {

constexpr size_t kStreamQuestionTokens = 80;
constexpr size_t kStreamAnswerTokens = 32;
constexpr size_t kTurns = 4;  // then the client begins another conversation
constexpr double kMibOfKib = 1.0 / 1024;

// Reads a field of /proc/PID/status, such as "VmHWM:   12345 kB", in MiB.
std::optional<double> MemoryMib(int pid, const std::string& field) {
  if (pid <= 0) return std::nullopt;
  const auto status = ReadFile("/proc/" + std::to_string(pid) + "/status");
  if (!status) return std::nullopt;
  const size_t at = status->find(field + ":");
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = status->find_first_of("0123456789", at);
  if (begin == std::string::npos) return std::nullopt;
  double kib = 0;
  std::from_chars(status->data() + begin, status->data() + status->size(), kib);
  return kib * kMibOfKib;
}

class Streams {
 public:
  Streams(const LoadOptions& options, const LoadClient& client, LoadRun* run)
      : options_(options), client_(client), faults_(run), run_(run) {}

  void Play() {
    PutMemory("memory_before_mib", "VmRSS");
    const double begin_ms = client_.clock().NowMs();
    end_ms_ = begin_ms + (options_.seconds * 1000);
    AtOnce(options_.streams, [this](size_t i) { PlayClient(i); });
    const double total_ms = client_.clock().NowMs() - begin_ms;
    PutMemory("memory_peak_mib", "VmHWM");
    PutTimes("first_token", first_token_ms_, run_);
    PutTimes("waited", waited_ms_, run_);
    run_->samples.clear();  // there are too many to keep
    run_->figures["whole"] = static_cast<double>(first_token_ms_.size());
    run_->figures["broken"] = static_cast<double>(broken_);
    run_->figures["failed"] = static_cast<double>(failed_);
    run_->figures["unserved"] = static_cast<double>(unserved_);
    run_->figures["busy"] = static_cast<double>(busy_);
    run_->figures["answer_tokens_per_s"] = RatioOf(answer_tokens_ * 1000, total_ms);
  }

 private:
  void PlayClient(size_t index) {
    const std::string name = "streams: client " + std::to_string(index);
    std::vector<ChatMessage> messages;
    for (size_t asked = 0; client_.clock().NowMs() < end_ms_; ++asked) {
      if (asked % kTurns == 0) messages.clear();
      messages.push_back(
          {"user", NewText(options_, name + ", " + std::to_string(asked), kStreamQuestionTokens)});
      LoadReply reply = Ask(messages);
      if (reply.kind == LoadReply::Kind::kBusy) {
        ++unserved_;
        return;  // the time is up
      }
      if (reply.kind == LoadReply::Kind::kFailed) SleepMs(BackOffMs(0, 3));
      messages.push_back({"assistant", std::move(reply.answer.content)});
    }
  }

  LoadReply Ask(const std::vector<ChatMessage>& messages) {
    const double asked_ms = client_.clock().NowMs();
    LoadReply reply = client_.AskPatiently(AskFor(messages, kStreamAnswerTokens), end_ms_, &busy_);
    if (reply.kind == LoadReply::Kind::kBusy) return reply;
    if (!faults_.Accept(reply)) {
      ++(reply.kind == LoadReply::Kind::kBroken ? broken_ : failed_);
      return reply;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    first_token_ms_.push_back(reply.answer.first_token_ms);
    waited_ms_.push_back(reply.asked_ms - asked_ms + reply.answer.first_token_ms);
    answer_tokens_ += static_cast<double>(reply.answer.answer_tokens);
    return reply;
  }

  void PutMemory(const std::string& key, const std::string& field) {
    if (const auto mib = MemoryMib(options_.pid, field)) run_->figures[key] = *mib;
  }

  const LoadOptions& options_;
  const LoadClient& client_;
  Faults faults_;
  LoadRun* const run_;
  double end_ms_ = 0;
  std::atomic<size_t> busy_ = 0;
  std::atomic<size_t> unserved_ = 0;
  std::atomic<size_t> broken_ = 0;
  std::atomic<size_t> failed_ = 0;
  std::mutex mutex_;  // guards all below
  std::vector<double> first_token_ms_;
  std::vector<double> waited_ms_;
  double answer_tokens_ = 0;
};

// The workload `crowds`: ever more clients ask at the same moment, with new prompts and then with
// the next turns of the same conversations.

constexpr std::array<size_t, 5> kCrowds = {1, 4, 8, 16, 32};
constexpr size_t kCrowdPromptTokens = 125;
constexpr size_t kNextTokens = 60;
constexpr size_t kCrowdAnswerTokens = 64;

class Crowds {
 public:
  Crowds(const LoadOptions& options, const LoadClient& client, LoadRun* run)
      : options_(options), client_(client), faults_(run), run_(run) {}

  void Play() {
    // The first computations of a process are slower.
    const std::string text = NewText(options_, "crowds: warm up", Scaled(options_, 64, 16));
    client_.Ask(AskFor({{"user", text}}, 8));
    for (const size_t clients : kCrowds) {
      if (clients > options_.crowd_max) break;
      PlayOne(clients);
      if (!run_->error.empty()) return;
    }
  }

 private:
  using Conversation = std::vector<ChatMessage>;

  void PlayOne(size_t clients) {
    const std::string of = std::to_string(clients);
    std::vector<Conversation> conversations(clients);
    for (const bool is_new : {true, false}) {
      std::vector<LoadAsk> asks;
      for (size_t i = 0; i < clients; ++i) {
        const std::string name = "crowds: " + of + " clients, " + (is_new ? "first" : "next") +
                                 " message of " + std::to_string(i);
        const size_t tokens = Scaled(options_, is_new ? kCrowdPromptTokens : kNextTokens, 16);
        conversations[i].push_back({"user", NewText(options_, name, tokens)});
        asks.push_back(AskFor(conversations[i], Scaled(options_, kCrowdAnswerTokens, 4)));
      }
      const auto replies = AskAtOnce(client_, asks);
      for (size_t i = 0; i < clients; ++i) {
        if (!faults_.Accept(replies[i])) {
          run_->error = of + " clients: not all were answered";
          return;
        }
        conversations[i].push_back({"assistant", replies[i].answer.content});
      }
      Count((is_new ? "new_" : "next_") + of, replies);
    }
  }

  void Count(const std::string& key, const std::vector<LoadReply>& replies) {
    double begin_ms = replies.front().asked_ms;
    double end_ms = 0;
    double tokens = 0;
    std::vector<double> first_ms;
    double gap_ms = 0;
    for (const LoadReply& reply : replies) {
      const std::vector<double>& at_ms = reply.pieces.at_ms;
      begin_ms = std::min(begin_ms, reply.asked_ms);
      if (!at_ms.empty()) end_ms = std::max(end_ms, at_ms.back());
      for (size_t i = 1; i < at_ms.size(); ++i) gap_ms = std::max(gap_ms, at_ms[i] - at_ms[i - 1]);
      tokens += static_cast<double>(reply.answer.answer_tokens);
      first_ms.push_back(reply.answer.first_token_ms);
    }
    const Spread first = SpreadOf(first_ms);
    run_->figures[key + "_tokens_per_s"] = RatioOf(tokens * 1000, end_ms - begin_ms);
    run_->figures[key + "_first_p50_ms"] = first.p50;
    run_->figures[key + "_first_max_ms"] = first.max;
    run_->figures[key + "_gap_max_ms"] = gap_ms;
  }

  const LoadOptions& options_;
  const LoadClient& client_;
  Faults faults_;
  LoadRun* const run_;
};

}  // namespace

void PlayStreams(const LoadOptions& options, const LoadClient& client, LoadRun* run) {
  Streams(options, client, run).Play();
}

void PlayCrowds(const LoadOptions& options, const LoadClient& client, LoadRun* run) {
  Crowds(options, client, run).Play();
}

}  // namespace cairn::load
