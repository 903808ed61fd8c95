// The loan of prefetch (sched/request/prefetch_prompt.h) is repaid by exactly the tokens that
// requests were spared by it. Here an engine keeps the account too, token by token, of
// conversations that come back as expected, in another form, or not at all.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "testing/sched/scheduler_fixture.h"

namespace cairn::prefetch_account_test {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Slots;
using test::Text;

constexpr size_t kGrid = 64;

// AccountingEngine: knows which prompt is computed, as there is only one at a time, and records
// which tokens, each with all before it, were prefetched and not yet computed by a request.
class AccountingEngine final : public FakeEngine {
 public:
  using FakeEngine::FakeEngine;

  void BeginReading(const Tokens& prompt, bool ahead) {
    prefixes_.clear();
    uint64_t prefix = 0;
    for (const Token token : prompt) {
      prefix = HashMix(prefix, static_cast<uint64_t>(token));
      prefixes_.push_back(prefix);
    }
    ahead_ = ahead;
  }
  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override {
    if (Status decoded = FakeEngine::Decode(seq, position, tokens); !decoded) return decoded;
    (ahead_ ? prefetched_ : read_) += tokens.size();
    for (size_t i = position; i < position + tokens.size(); ++i) {
      if (ahead_) {
        owed_.insert(prefixes_.at(i));
      } else {
        owed_.erase(prefixes_.at(i));
      }
    }
    return {};
  }
  // The request whose prompt was computed last continued after `tokens` tokens.
  void Reuse(size_t tokens) {
    for (size_t i = 0; i < tokens; ++i) used_ += owed_.erase(prefixes_.at(i));
  }

  uint64_t read() const { return read_; }
  uint64_t prefetched() const { return prefetched_; }
  uint64_t used() const { return used_; }

 private:
  std::vector<uint64_t> prefixes_;
  std::unordered_set<uint64_t> owed_;
  bool ahead_ = false;
  uint64_t read_ = 0;
  uint64_t prefetched_ = 0;
  uint64_t used_ = 0;
};

struct AccountOptions {
  FakeEngineOptions engine = Slots(1, MemoryClass::kHybrid);
  size_t first_tokens = 1 << 20;
  size_t ram_bytes_max = 1 << 30;
};

class Account {
 public:
  explicit Account(const AccountOptions& options)
      : options_(options),
        engine_(options.engine),
        cache_(CacheOptions{.ram_bytes_max = options.ram_bytes_max}, *MakePlacement("auto"),
               *MakeEviction("value"), MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, Scheduling(options)) {}

  // Prompts expected earlier are prefetched first. Does nothing if the loan does not allow that.
  void Expect(const Tokens& tokens, size_t answered, size_t pieces = SIZE_MAX) {
    Prefetch(SIZE_MAX);
    if (LeftToLend() < static_cast<double>(kGrid)) return;
    expected_ = tokens;
    scheduler_.Prefetch({{0, tokens, answered, false}});
    Prefetch(pieces);
  }
  void Prefetch(size_t pieces) {
    engine_.BeginReading(expected_, true);
    for (size_t i = 0; i < pieces && scheduler_.PrefetchNext(); ++i) {
    }
  }
  Bench::Answer Ask(GenerationRequest request) {
    engine_.BeginReading(request.prompt, false);
    auto generation = scheduler_.Submit(std::move(request));
    EXPECT_TRUE(generation.has_value());
    while (scheduler_.Step()) {
    }
    Bench::Answer answer = Bench::Collect(generation->get());
    engine_.Reuse(answer.end.cost.reused_tokens);
    Check();
    return answer;
  }
  Bench::Answer Ask(Tokens prompt) { return Ask(Bench::Request(std::move(prompt), 20)); }

  uint64_t prefetched() const { return engine_.prefetched(); }
  uint64_t used() const { return engine_.used(); }

 private:
  static SchedulerOptions Scheduling(const AccountOptions& options) {
    SchedulerOptions scheduling;
    scheduling.prefetch.first_tokens = options.first_tokens;
    return scheduling;
  }
  void Check() const {
    const SchedulerStats stats = scheduler_.stats();
    EXPECT_EQ(stats.prefetch.tokens, engine_.prefetched());
    EXPECT_EQ(stats.prefetch.used_tokens, engine_.used());
    EXPECT_GE(LeftToLend(), 0);
  }
  double LeftToLend() const {
    const auto read = static_cast<double>(engine_.read());
    return 1.25 * (read + static_cast<double>(engine_.used())) +
           static_cast<double>(options_.first_tokens) - read -
           static_cast<double>(engine_.prefetched());
  }

  const AccountOptions options_;
  ManualClock clock_;
  AccountingEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  Tokens expected_;
};

// A conversation whose answer comes back in another form than it was generated.
const Tokens kAsked = Text(1000, 'q');
const Tokens kExpected = Join(kAsked, Text(408, 'w'));

Tokens Next(char letter) {
  return Join(kExpected, Text(30, letter));
}

AccountOptions OfClass(MemoryClass memory_class, size_t slots = 1) {
  AccountOptions options;
  options.engine = Slots(slots, memory_class);
  return options;
}

TEST(PrefetchAccount, ARequestThatUsesAPartLeavesTheRestToOthers) {
  Account account(OfClass(MemoryClass::kAttention, 2));
  account.Ask(kAsked);
  account.Expect(kExpected, kAsked.size());
  const size_t prefetched = account.prefetched();
  // An edited answer.
  account.Ask(Join(Tokens(kExpected.begin(), kExpected.begin() + 1216), Text(80, 'e')));
  EXPECT_GT(account.used(), 0u);
  EXPECT_LT(account.used(), 300u);
  account.Ask(Next('n'));
  EXPECT_EQ(account.used(), prefetched);
}

TEST(PrefetchAccount, WhatTwoExpectationsAddToOneAnotherCountsTogether) {
  Account account(OfClass(MemoryClass::kAttention));
  account.Ask(kAsked);
  account.Expect(kExpected, kAsked.size());
  account.Expect(Join(kExpected, Text(200, 'v')), kAsked.size());
  EXPECT_GT(account.prefetched(), 500u);
  account.Ask(Join(Join(kExpected, Text(200, 'v')), Text(30, 'n')));
  EXPECT_EQ(account.used(), account.prefetched());
}

// Clients drop a tool loop's reasoning at the next query, so for each turn one more step is
// prefetched of the form in which the conversation then comes back.
TEST(PrefetchAccount, ALongLoopsManySmallStepsAreRepaidByTheQueryBehindIt) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Account account(OfClass(memory_class, 2));
    Tokens asked = kAsked;
    Tokens expected = kAsked;
    account.Ask(asked);
    for (size_t turn = 0; turn < 40; ++turn) {
      asked = Join(std::move(asked), Text(20, 'r'));
      expected = Join(std::move(expected), Text(kGrid, 'w'));
      account.Ask(asked);
      account.Expect(expected, kAsked.size());
    }
    EXPECT_GE(account.prefetched(), 39 * kGrid);
    account.Ask(Join(expected, Text(30, 'n')));
    EXPECT_GE(account.used(), 39 * kGrid);
  }
}

TEST(PrefetchAccount, WhatARequestReadItselfIsOwedToNobody) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Account account(OfClass(memory_class, 2));
    account.Ask(kAsked);
    account.Expect(kExpected, kAsked.size());
    GenerationRequest anew = Bench::Request(Next('n'));
    anew.reuse = false;
    account.Ask(std::move(anew));
    account.Ask(Next('m'));
    EXPECT_EQ(account.used(), 0u);
  }
}

TEST(PrefetchAccount, ReadingAheadThatGoesOnElsewhereLeavesOutWhatARequestReadMeanwhile) {
  AccountOptions options = OfClass(MemoryClass::kAttention, 2);
  options.engine.chunk_tokens_max = 128;
  Account account(options);
  account.Ask(kAsked);
  account.Expect(kExpected, kExpected.size(), 1);
  EXPECT_EQ(account.prefetched(), 128u);
  // It continues from a part of the expected prompt, so the rest is still expected.
  account.Ask(Tokens(kExpected.begin(), kExpected.begin() + 1300));
  account.Prefetch(SIZE_MAX);
  account.Ask(Next('n'));
  EXPECT_EQ(account.used(), account.prefetched());
}

// RandomTalk: a client that is served one request at a time, and edits, repeats, abandons or
// continues.
class RandomTalk {
 public:
  RandomTalk(uint64_t seed, Tokens header) : random_(seed), prompt_(std::move(header)) {
    Append(1 + random_() % 200);
  }

  void Turn(Account* account) {
    const auto answer = account->Ask(prompt_);
    const size_t asked = prompt_.size();
    Tokens expected = prompt_;
    if (random_() % 4 == 0) expected = Join(expected, {answer.text.begin(), answer.text.end()});
    expected = Join(expected, Words(1 + random_() % 400));
    const size_t answered = random_() % 3 == 0 ? expected.size() : asked;
    account->Expect(expected, answered, random_() % 3 == 0 ? random_() % 4 : SIZE_MAX);
    if (random_() % 4 == 0) {
      account->Expect(Join(expected, Words(100 + random_() % 200)), answered, random_() % 4);
    }
    switch (random_() % 6) {
      case 0:  // repeats
        return;
      case 1:  // the expected prompt, edited
        prompt_ = std::move(expected);
        prompt_.resize(1 + random_() % prompt_.size());
        break;
      case 2:  // another prompt
        break;
      default:
        prompt_ = std::move(expected);
    }
    if (prompt_.size() > 3000) prompt_.resize(500);
    Append(1 + random_() % 120);
  }

 private:
  Tokens Words(size_t letters) {
    Tokens words(letters);
    for (Token& letter : words) letter = static_cast<Token>('A' + random_() % 26);
    return words;
  }
  void Append(size_t letters) { prompt_ = Join(std::move(prompt_), Words(letters)); }

  std::mt19937_64 random_;
  Tokens prompt_;
};

TEST(PrefetchAccount, IsThatOfEachTokenHoweverConversationsComeBack) {
  uint64_t used = 0;
  uint64_t prefetched = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    AccountOptions options = OfClass(kClasses[seed % 4], 1 + seed / 4 % 3);
    options.engine.chunk_tokens_max = 128;
    if (seed % 5 == 0) options.ram_bytes_max = 40'000;
    if (seed % 3 == 0) options.first_tokens = 200;
    Account account(options);
    std::mt19937_64 random(seed);
    std::vector<RandomTalk> talks;
    for (uint64_t i = 0; i < 4; ++i) talks.emplace_back(10 * seed + i, Text(200, "AB"[i % 2]));
    for (size_t turn = 0; turn < 24; ++turn) {
      talks[random() % talks.size()].Turn(&account);
      if (random() % 3 == 0) account.Prefetch(random() % 3);
      if (HasFailure()) return;
    }
    used += account.used();
    prefetched += account.prefetched();
  }
  EXPECT_GT(used, 100'000u);
  EXPECT_GT(prefetched, used);
}

}  // namespace
}  // namespace cairn::prefetch_account_test
