#include "soak/client.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "soak/held_connection.h"
#include "soak/judge.h"
#include "soak/side_requests.h"

namespace cairn::soak {
namespace {

using std::chrono::milliseconds;

// "<|im_start|>system" and the end of the line in the made models' template and vocabulary.
constexpr size_t kTemplateTokens = 8;

bool IsText(Api api) {
  return api == Api::kText || api == Api::kNative;
}

void SleepMs(uint64_t ms) {
  std::this_thread::sleep_for(milliseconds(ms));
}

// Describes everything wrong with a reply, for the search for the cause.
std::string Describe(Company* company, const Life& life, const Question& question,
                     const Manner& manner, const Reply& reply) {
  const auto said = [](const Reply& one) {
    Json told = {{"kind", static_cast<int>(one.kind)},
                 {"status", one.status},
                 {"detail", one.detail},
                 {"ended", one.answer.ended},
                 {"cached_tokens", one.answer.cached_tokens},
                 {"prompt_tokens", one.answer.prompt_tokens}};
    for (const Choice& choice : one.answer.choices) {
      told["choices"].push_back({{"text", choice.text},
                                 {"reasoning", choice.reasoning},
                                 {"finish", choice.finish},
                                 {"logprobs", choice.logprobs}});
    }
    return told;
  };
  Json told = {{"round", company->plan.number},
               {"model", company->plan.model.architecture},
               {"life", life.number},
               {"path", PathOf(question.api)},
               {"body", question.body},
               {"streamed", manner.streamed},
               {"key", manner.key},
               {"got", said(reply)},
               {"without_cache", said(company->oracle.Right(question))},
               {"without_cache_again", said(company->oracle.AskAgain(question))},
               {"asked_again", said(Ask(life.url, question, {.key = manner.key}))}};
  return ToText(told, 1);
}

void Report(Company* company, const Life& life, const std::string& what,
            const std::string& detail) {
  const std::lock_guard<std::mutex> lock(company->file_mutex);
  const std::string path =
      company->folder + "/fault-" + std::to_string(company->tally.fault_count() + 1) + ".json";
  std::ofstream(path) << detail << "\n";
  company->tally.Fail("round " + std::to_string(company->plan.number) + " (" +
                          company->plan.model.architecture + "), life " +
                          std::to_string(life.number) + ": " + what,
                      path);
}

void CountAnswer(Company* company, Verdict::Kind kind, const Reply& reply) {
  Tally& tally = company->tally;
  if (kind == Verdict::Kind::kRight) {
    tally.Count("answers checked");
    tally.Count("tokens checked", reply.answer.answer_tokens);
    tally.Count("prompt tokens", reply.answer.prompt_tokens);
    tally.Count("prompt tokens reused", reply.answer.cached_tokens);
  }
  if (kind == Verdict::Kind::kBegun) tally.Count("beginnings checked");
  if (kind == Verdict::Kind::kNothing) tally.Count("ended with nothing");
  if (kind == Verdict::Kind::kWrong) tally.Count("wrong answers");
  if (kind == Verdict::Kind::kRefused) {
    tally.Count("refused with " + std::to_string(reply.status));
  }
  if (reply.kind == Reply::Kind::kLeft) tally.Count("cancelled");
}

// In a live round log-probabilities are not compared: they are only near the cold run's.
Reply Judged(const Company& company, Reply reply) {
  if (!company.plan.live) return reply;
  for (Choice& choice : reply.answer.choices) choice.logprobs.clear();
  return reply;
}

// Sends a question and judges the answer. True: it is right, and its first choice is in `heard`.
bool AskAndJudge(Company* company, const Life& life, const Question& question, const Manner& manner,
                 const std::string& header, Choice* heard) {
  constexpr int kPatientMs = 1000;
  company->begun.Note(manner.key, question.api, header);
  company->tally.Count("requests");
  const Reply reply = Judged(*company, Ask(life.url, question, manner));
  const bool may_fail = life.ending.load();
  const Verdict verdict = JudgeReply(reply, may_fail, manner.timeout_ms < kPatientMs, [&] {
    return Judged(*company, company->oracle.Right(question));
  });
  if (company->interrupted.load()) return false;
  if (company->plan.live && verdict.kind == Verdict::Kind::kWrong) {
    company->tally.Count("answers that live reuse changed");
    return false;
  }
  CountAnswer(company, verdict.kind, reply);
  if (verdict.kind == Verdict::Kind::kWrong || verdict.kind == Verdict::Kind::kFault) {
    Report(company, life, verdict.why, Describe(company, life, question, manner, reply));
  }
  // Only `live` resumes at a position that is no cut.
  const size_t shared =
      company->plan.live ? company->begun.SharedTokens(manner.key, question.api, header) : 0;
  const bool first = company->begun.OnlyOnce(manner.key, question.api, header);
  if (first && reply.answer.cached_tokens > shared) {
    Report(company, life, "a key was given what it never asked",
           Describe(company, life, question, manner, reply));
  }
  if (verdict.kind != Verdict::Kind::kRight) return false;
  if (!first) company->tally.Count("answers behind a known header");
  *heard = reply.answer.choices[0];
  return true;
}

class ActiveGuard {
 public:
  explicit ActiveGuard(Company* company) : company_(company) { ++company_->active; }
  ~ActiveGuard() { --company_->active; }
  ActiveGuard(const ActiveGuard&) = delete;
  ActiveGuard& operator=(const ActiveGuard&) = delete;

 private:
  Company* const company_;
};

}  // namespace

// Prompts of texts and of chats begin with different tokens.
std::string BegunPrompts::KindOf(const std::string& key, Api api) {
  return key + (IsText(api) ? " text " : " chat ");
}

void BegunPrompts::Note(const std::string& key, Api api, const std::string& header) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++times_[KindOf(key, api) + header];
}

bool BegunPrompts::OnlyOnce(const std::string& key, Api api, const std::string& header) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = times_.find(KindOf(key, api) + header);
  return found != times_.end() && found->second == 1;
}

size_t BegunPrompts::SharedTokens(const std::string& key, Api api,
                                  const std::string& header) const {
  const std::string kind = KindOf(key, api);
  const std::string name = kind + header;
  size_t letters = 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [other, times] : times_) {
    if (other == name || !other.starts_with(kind)) continue;
    const auto diverged = std::mismatch(name.begin(), name.end(), other.begin(), other.end());
    letters = std::max(letters, static_cast<size_t>(diverged.first - name.begin()) - kind.size());
  }
  return letters + (IsText(api) ? 0 : kTemplateTokens);
}

void WaitUntilQuiet(const Company& company) {
  while (company.active.load() > 0) SleepMs(5);
}

void RunClient(Company* company, size_t number) {
  TalkerOptions options;
  options.seed = company->plan.seed;
  options.name = "client " + std::to_string(number);
  options.header_seed = company->plan.seed;
  options.bytes_max = company->plan.context_tokens * 3 / 4;
  Talker talker(options);
  const std::string key = kKeys[number % std::size(kKeys)];
  while (!company->stopped.load()) {
    const bool next_door = company->neighbour != nullptr && talker.dice().Number(3) == 0;
    const auto life = (next_door ? *company->neighbour : company->subject).Current();
    if (life == nullptr || company->paused.load()) {
      SleepMs(5);
      continue;
    }
    const ActiveGuard active(company);
    if (company->paused.load()) continue;
    if (talker.dice().Number(9) == 0) {
      company->begun.Note(key, talker.talk().api, talker.talk().header);
      const std::string wrong =
          SideRequest(*life, key, BodyOf(talker.talk()), &talker.dice(), &company->tally);
      if (!wrong.empty()) Report(company, *life, wrong, "");
      continue;
    }
    const Question question = talker.Next();
    Manner manner = talker.NextManner();
    manner.key = key;
    Choice heard;
    if (AskAndJudge(company, *life, question, manner, talker.talk().header, &heard)) {
      talker.Heard(heard);
    } else {
      SleepMs(talker.dice().Number(200));  // the queue may have been full
    }
    if (talker.dice().Number(4) == 0) SleepMs(talker.dice().Number(80));
  }
}

void Burst(Company* company, const Life& life, size_t requests, uint64_t seed) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < requests; ++i) {
    threads.emplace_back([company, &life, seed, i] {
      Talker talker({.seed = seed,
                     .name = "burst " + std::to_string(i % 4),
                     .header_seed = company->plan.seed});
      const Question question = talker.Next();
      const std::string key = kKeys[i % std::size(kKeys)];
      Choice heard;
      AskAndJudge(company, life, question, {.key = key}, talker.talk().header, &heard);
    });
  }
  for (std::thread& thread : threads) thread.join();
  company->tally.Count("bursts");
}

bool HoldConnections(const Life& life, size_t connections) {
  std::vector<HeldConnection> held;
  bool all = true;
  for (size_t i = 0; i < connections; ++i) {
    HeldConnection& connection = held.emplace_back(life.url);
    all = connection.Write("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") &&
          connection.Read().starts_with("HTTP/1.1 200") && all;
  }
  return all;
}

}  // namespace cairn::soak
