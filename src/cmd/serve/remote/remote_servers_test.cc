// Several servers, each with a folder of its own, and one remote store.

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <random>

#include "sched/scheduler.h"
#include "testing/cmd/remote_life.h"

namespace cairn {
namespace {

using test::Bench;
using test::FakeRemote;
using test::Join;
using test::kClasses;
using test::RemoteFault;
using test::RemoteLife;
using test::RemoteLifeOptions;
using test::Text;

Tokens TokensOfText(const std::string& text) {
  return {text.begin(), text.end()};
}

RemoteLifeOptions Options(MemoryClass memory_class, LineageId first_lineage) {
  RemoteLifeOptions options;
  options.memory_class = memory_class;
  options.first_lineage = first_lineage;
  return options;
}

GenerationRequest Request(Tokens prompt, size_t answer = 20, NamespaceId name_space = 0) {
  GenerationRequest request = Bench::Request(std::move(prompt), answer);
  request.name_space = name_space;
  request.shape.turns = {{0, true}};
  return request;
}

TEST(RemoteServers, ConversationGoesOnOnAnotherServerAndOnlyItsNewTokensArePrefilled) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeRemote store;
    RemoteLife first(&store, 1, Options(memory_class, 1 << 20));
    const Tokens prompt = Text(2000, 'H');
    const std::string answer = first.Ask(Request(prompt)).text;
    EXPECT_TRUE(first.SaveAndDrain());
    EXPECT_GT(store.size(), 0U);
    RemoteLife second(&store, 2, Options(memory_class, 2 << 20));
    const Tokens next = Join(Join(prompt, TokensOfText(answer)), Text(50, 'n'));
    const Bench::Answer moved = second.Ask(Request(next));
    EXPECT_LE(moved.end.cost.prefill_tokens(), 50 + 64U);
    EXPECT_GT(second.tier().stats().fetched, 0U);
    EXPECT_EQ(second.tier().stats().corrupt, 0U);
    second.cache().CheckInvariants();
    // The server that stayed answers the same.
    EXPECT_EQ(first.Ask(Request(next)).text, moved.text);
  }
}

TEST(RemoteServers, ConversationMovesBackAndForth) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeRemote store;
    RemoteLife first(&store, 1, Options(memory_class, 1 << 20));
    RemoteLife second(&store, 2, Options(memory_class, 2 << 20));
    Tokens prompt = Text(700, 'H');
    for (int turn = 0; turn < 6; ++turn) {
      RemoteLife& server = turn % 2 == 0 ? first : second;
      const Bench::Answer answer = server.Ask(Request(prompt));
      if (turn > 0) {
        EXPECT_LE(answer.end.cost.prefill_tokens(), 300 + 64U) << turn;
      }
      EXPECT_TRUE(server.SaveAndDrain());
      prompt =
          Join(Join(prompt, TokensOfText(answer.text)), Text(300, static_cast<char>('a' + turn)));
    }
  }
}

TEST(RemoteServers, ADrainUploadsConversationsThatAreNotIdleYet) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeRemote store;
    RemoteLifeOptions options = Options(memory_class, 1 << 20);
    options.after_ms = 1e12;
    RemoteLife first(&store, 1, options);
    const Tokens prompt = Text(2000, 'H');
    const std::string answer = first.Ask(Request(prompt)).text;
    first.SaveToFolder();
    first.Settle();
    EXPECT_EQ(store.size(), 0U);
    EXPECT_GT(first.tier().stats().to_upload, 0U);
    first.scheduler().SetDraining(true);
    first.Settle();
    EXPECT_EQ(first.tier().stats().to_upload, 0U);
    options.first_lineage = 2 << 20;
    RemoteLife second(&store, 2, options);
    const Tokens next = Join(Join(prompt, TokensOfText(answer)), Text(50, 'n'));
    EXPECT_LE(second.Ask(Request(next)).end.cost.prefill_tokens(), 50 + 64U);
    // Once the drain has ended, a conversation waits until it is idle again.
    first.scheduler().SetDraining(false);
    first.Ask(Request(next));
    first.SaveToFolder();
    first.Settle();
    EXPECT_GT(first.tier().stats().to_upload, 0U);
  }
}

TEST(RemoteServers, SystemPrefixOfManyConversationsIsFetchedOnce) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeRemote store;
    RemoteLifeOptions options = Options(memory_class, 1 << 20);
    options.slots = 3;
    RemoteLife first(&store, 1, options);
    const auto request = [](char letter) {
      GenerationRequest asked = Request(Join(Text(1500, 'H'), Text(400, letter)), 4);
      asked.shape.header_end = 1500;
      asked.shape.turns = {{1500, true}};
      return asked;
    };
    first.Ask(request('a'));
    first.Ask(request('b'));
    EXPECT_TRUE(first.SaveAndDrain());
    options.first_lineage = 2 << 20;
    RemoteLife second(&store, 2, options);
    const Bench::Answer answer = second.Ask(request('c'));
    EXPECT_LE(answer.end.cost.prefill_tokens(), 400 + 512U);
    const uint64_t fetched = second.tier().stats().fetched;
    EXPECT_GT(fetched, 0U);
    second.Ask(request('d'));
    EXPECT_EQ(second.tier().stats().fetched, fetched);
  }
}

TEST(RemoteServers, ShortFirstTurnsAreFoundWithTheTurnsAfterThem) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeRemote store;
    RemoteLife first(&store, 1, Options(memory_class, 1 << 20));
    Tokens prompt = Text(100, 'H');
    for (int turn = 0; turn < 5; ++turn) {
      const std::string answer = first.Ask(Request(prompt)).text;
      EXPECT_TRUE(first.SaveAndDrain());
      prompt = Join(Join(prompt, TokensOfText(answer)), Text(150, static_cast<char>('a' + turn)));
    }
    RemoteLife second(&store, 2, Options(memory_class, 2 << 20));
    EXPECT_LE(second.Ask(Request(prompt)).end.cost.prefill_tokens(), 150 + 64U);
  }
}

TEST(RemoteServers, NamespacesNeverMeet) {
  for (const MemoryClass memory_class : kClasses) {
    FakeRemote store;
    RemoteLife first(&store, 1, Options(memory_class, 1 << 20));
    first.Ask(Request(Text(2000, 'H'), 20, 1));
    EXPECT_TRUE(first.SaveAndDrain());
    RemoteLife second(&store, 2, Options(memory_class, 2 << 20));
    for (const NamespaceId other : {0, 2}) {
      const Bench::Answer answer = second.Ask(Request(Text(2000, 'H'), 20, other));
      EXPECT_EQ(answer.end.cost.prefill_tokens(), 2000U);
    }
    EXPECT_EQ(second.tier().stats().hits, 0U);
    second.Ask(Request(Text(2000, 'H'), 20, 1));
    EXPECT_GT(second.tier().stats().fetched, 0U);
  }
}

TEST(RemoteServers, ServersWithAnotherKeyFindNothing) {
  FakeRemote store;
  RemoteLife first(&store, 1, Options(MemoryClass::kHybrid, 1 << 20));
  first.Ask(Request(Text(2000, 'H')));
  EXPECT_TRUE(first.SaveAndDrain());
  RemoteLifeOptions options = Options(MemoryClass::kHybrid, 2 << 20);
  const std::string old_key = options.key;
  options.key = "another key, that nobody else has: 0123456789";
  RemoteLife stranger(&store, 2, options);
  EXPECT_EQ(stranger.Ask(Request(Text(2000, 'H'))).end.cost.prefill_tokens(), 2000U);
  // While keys change, both are in the file.
  options.key += "\n" + old_key;
  RemoteLife both(&store, 3, options);
  EXPECT_LE(both.Ask(Request(Text(2000, 'H'))).end.cost.prefill_tokens(), 64U);
}

TEST(RemoteServers, TwoServersUploadOneNameOnce) {
  FakeRemote store;
  RemoteLifeOptions options = Options(MemoryClass::kHybrid, 1 << 20);
  options.reuse = ReuseMode::kExact;
  RemoteLife first(&store, 1, options);
  RemoteLife second(&store, 2, options);
  for (RemoteLife* server : {&first, &second}) server->Ask(Request(Text(2000, 'H')));
  EXPECT_TRUE(first.SaveAndDrain());
  const uint64_t written = store.written;
  EXPECT_TRUE(second.SaveAndDrain());
  EXPECT_EQ(store.written, written);
  RemoteLife third(&store, 3, options);
  EXPECT_LE(third.Ask(Request(Text(2000, 'H'))).end.cost.prefill_tokens(), 64U);
}

TEST(RemoteServers, LostIndexCostsHitsAndNothingElse) {
  FakeRemote store;
  RemoteLife first(&store, 1, Options(MemoryClass::kHybrid, 1 << 20));
  first.Ask(Request(Text(2000, 'H')));
  EXPECT_TRUE(first.SaveAndDrain());
  store.index.clear();
  RemoteLife second(&store, 2, Options(MemoryClass::kHybrid, 2 << 20));
  EXPECT_EQ(second.Ask(Request(Text(2000, 'H'))).end.cost.prefill_tokens(), 2000U);
}

TEST(RemoteServers, EveryFlippedBitIsAMiss) {
  FakeRemote store;
  RemoteLife first(&store, 1, Options(MemoryClass::kHybrid, 1 << 20));
  first.Ask(Request(Text(2000, 'H')));
  EXPECT_TRUE(first.SaveAndDrain());
  const std::string text = [] {
    FakeRemote none;
    RemoteLife alone(&none, 9, Options(MemoryClass::kHybrid, 9 << 20));
    return alone.Ask(Request(Text(2000, 'H'))).text;
  }();
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RemoteLife second(&store, seed, Options(MemoryClass::kHybrid, 2 << 20));
    second.remote().SetFault(RemoteFault::kFlipped);
    const Bench::Answer answer = second.Ask(Request(Text(2000, 'H')));
    EXPECT_EQ(answer.end.cost.prefill_tokens(), 2000U) << seed;
    EXPECT_EQ(answer.text, text) << seed;
    EXPECT_EQ(second.tier().stats().fetched, 0U) << seed;
  }
}

TEST(RemoteServers, HungStoreIsAskedNoMoreAfterThreeFailures) {
  FakeRemote store;
  RemoteLifeOptions options = Options(MemoryClass::kHybrid, 1 << 20);
  options.wait_ms = 50;
  RemoteLife server(&store, 1, options);
  server.remote().SetFault(RemoteFault::kHung);
  for (char letter = 'a'; letter < 'k'; ++letter) {
    EXPECT_EQ(server.Ask(Request(Text(1000, letter))).end.cost.prefill_tokens(), 1000U);
  }
  EXPECT_TRUE(server.tier().stats().open);
  ASSERT_FALSE(server.log().empty());
  EXPECT_NE(server.log().front().find("the remote index fails"), std::string::npos);
  // It comes back.
  server.remote().SetFault(RemoteFault::kNone);
  server.Skip(70'000);
  for (char letter = 'k'; letter < 'n'; ++letter) server.Ask(Request(Text(1000, letter)));
  EXPECT_FALSE(server.tier().stats().open);
}

TEST(RemoteServers, FullStoreIsStillRead) {
  FakeRemote store;
  RemoteLife first(&store, 1, Options(MemoryClass::kHybrid, 1 << 20));
  first.Ask(Request(Text(2000, 'H')));
  EXPECT_TRUE(first.SaveAndDrain());
  RemoteLife second(&store, 2, Options(MemoryClass::kHybrid, 2 << 20));
  second.remote().SetFault(RemoteFault::kFull);
  EXPECT_LE(second.Ask(Request(Text(2000, 'H'))).end.cost.prefill_tokens(), 64U);
  second.Ask(Request(Text(2000, 'J')));
  EXPECT_FALSE(second.SaveAndDrain());
  EXPECT_TRUE(second.tier().stats().refusing);
}

TEST(RemoteServers, ACallThatHasNoMemoryIsAMiss) {
  FakeRemote store;
  RemoteLife first(&store, 1, Options(MemoryClass::kHybrid, 1 << 20));
  first.Ask(Request(Text(2000, 'H')));
  EXPECT_TRUE(first.SaveAndDrain());
  RemoteLife second(&store, 2, Options(MemoryClass::kHybrid, 2 << 20));
  second.remote().SetFault(RemoteFault::kNoMemory);
  EXPECT_EQ(second.Ask(Request(Text(2000, 'H'))).end.cost.prefill_tokens(), 2000U);
  EXPECT_GT(second.tier().stats().failures, 0U);
  EXPECT_FALSE(second.SaveAndDrain());
}

TEST(RemoteServers, ThreadsGoOnAfterCallsThatThrow) {
  FakeRemote store;
  RemoteLifeOptions options = Options(MemoryClass::kHybrid, 1 << 20);
  options.wait_ms = 1e9;
  options.threads = 2;
  RemoteLife server(&store, 1, options);
  server.remote().SetFault(RemoteFault::kNoMemory);
  Scheduler& scheduler = server.scheduler();
  for (const char letter : {'H', 'J'}) {
    auto generation = scheduler.Submit(Request(Text(2000, letter)));
    ASSERT_TRUE(generation);
    while (scheduler.Step() || scheduler.stats().open.waiting > 0) {
    }
    EXPECT_EQ(Bench::Collect(generation->get()).end.cost.prefill_tokens(), 2000U);
  }
  EXPECT_GE(server.tier().stats().failures, 2U);
}

TEST(RemoteServers, NoMoreIsTakenThanAnObjectOfTheModelCanHave) {
  constexpr uint64_t kBytesMax = uint64_t{32} << 20;
  for (const MemoryClass memory_class : kClasses) {
    FakeRemote store;
    RemoteLife first(&store, 1, Options(memory_class, 1 << 20));
    first.Ask(Request(Text(2000, 'H')));
    EXPECT_TRUE(first.SaveAndDrain());
    RemoteLife second(&store, 2, Options(memory_class, 2 << 20));
    second.remote().SetFault(RemoteFault::kHuge);
    EXPECT_EQ(second.Ask(Request(Text(2000, 'H'))).end.cost.prefill_tokens(), 2000U);
    RemoteLife third(&store, 3, Options(memory_class, 3 << 20));
    EXPECT_LT(third.Ask(Request(Text(2000, 'H'))).end.cost.prefill_tokens(), 2000U);
    EXPECT_GT(store.get_bytes_max, 0U);
    EXPECT_LE(store.get_bytes_max, kBytesMax);
  }
}

// The context thread goes on at once, however long each remote call takes.
TEST(RemoteServers, ContextThreadNeverWaitsForACall) {
  FakeRemote store;
  RemoteLifeOptions options = Options(MemoryClass::kHybrid, 1 << 20);
  options.slots = 2;
  options.wait_ms = 1e9;
  options.threads = 2;
  RemoteLife server(&store, 1, options);
  std::promise<void> release;
  server.remote().SetOnCall([released = release.get_future().share()] { released.wait(); });
  Scheduler& scheduler = server.scheduler();
  auto waits = scheduler.Submit(Request(Text(2000, 'H')));
  auto passes = scheduler.Submit(Request(Text(100, 'p')));
  ASSERT_TRUE(waits && passes);
  // The short request is answered while the first call of the other one hangs.
  while (scheduler.Step()) {
  }
  EXPECT_EQ(Bench::Collect(passes->get()).end.cost.prefill_tokens(), 100U);
  EXPECT_EQ(scheduler.stats().open.waiting, 1U);
  EXPECT_EQ(scheduler.stats().open.fetching, 1U);
  release.set_value();
  while (scheduler.stats().open.waiting > 0 || scheduler.stats().open.running > 0) scheduler.Step();
  EXPECT_EQ(Bench::Collect(waits->get()).end.cost.prefill_tokens(), 2000U);
}

// Three servers on a faulty store play random conversations. Each answer is that of a server
// without a cache. Adds the servers' figures to `sum`.
void PlaySchedule(uint64_t seed, RemoteStats* sum) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto draw = [&](size_t below) {
    return std::uniform_int_distribution<size_t>(0, below - 1)(random);
  };
  FakeRemote store;
  RemoteLifeOptions options = Options(kClasses[draw(kClasses.size())], 1 << 20);
  options.reuse = ReuseMode::kExact;
  options.wait_ms = draw(2) == 0 ? 50 : 1e6;
  std::vector<std::unique_ptr<RemoteLife>> servers;
  for (uint64_t i = 0; i < 3; ++i) {
    servers.push_back(std::make_unique<RemoteLife>(&store, seed * 3 + i, options));
    servers.back()->remote().SetFault(static_cast<RemoteFault>(draw(test::kRemoteFaults)),
                                      0.1 * static_cast<double>(draw(8)));
    options.first_lineage += 1 << 20;
  }
  struct Talk {
    NamespaceId name_space = 0;
    Tokens prompt;
  };
  std::vector<Talk> talks;
  for (size_t i = 0; i < 3; ++i) {
    talks.push_back({static_cast<NamespaceId>(draw(3)),
                     Join(Text(600, 'H'), Text(200, static_cast<char>('a' + i)))});
  }
  for (int turn = 0; turn < 6; ++turn) {
    RemoteLife& server = *servers[draw(3)];
    Talk& talk = talks[draw(talks.size())];
    const Bench::Answer answer = server.Ask(Request(talk.prompt, 6, talk.name_space));
    GenerationRequest cold = Request(talk.prompt, 6, talk.name_space);
    cold.reuse = false;
    FakeRemote none;
    RemoteLifeOptions alone = options;
    RemoteLife reference(&none, 1, alone);
    EXPECT_EQ(answer.text, reference.Ask(std::move(cold)).text);
    server.cache().CheckInvariants();
    if (draw(2) == 0) server.SaveAndDrain();
    talk.prompt = Join(Join(talk.prompt, TokensOfText(answer.text)),
                       Text(100, static_cast<char>('p' + turn)));
  }
  for (const auto& server : servers) {
    const RemoteStats stats = server->tier().stats();
    sum->fetched += stats.fetched;
    sum->corrupt += stats.corrupt;
    sum->failures += stats.failures;
  }
}

TEST(RemoteServers, AnswersAreThoseWithoutATierWhateverTheStoreDoes) {
  const char* const wanted = std::getenv("CAIRN_REMOTE_SCHEDULES");
  const uint64_t count = wanted == nullptr ? 60 : std::strtoull(wanted, nullptr, 10);
  RemoteStats sum;
  for (uint64_t seed = 1; seed <= count && !testing::Test::HasFailure(); ++seed) {
    PlaySchedule(seed, &sum);
  }
  // The faults were met, and so were good objects.
  EXPECT_GT(sum.fetched, 0U);
  EXPECT_GT(sum.corrupt, 0U);
  EXPECT_GT(sum.failures, 0U);
}

}  // namespace
}  // namespace cairn
