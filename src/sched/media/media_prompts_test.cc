// Prompts with images, on a FakeEngine of every memory class: answers are those of a server that
// prefills everything, each image is encoded once, and prefill begins where the prompts diverge.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "media/media_tokens.h"
#include "testing/base/played_share.h"
#include "testing/media/fake_media.h"
#include "testing/sched/scheduler_fixture.h"

namespace cairn::media_prompts_test {
namespace {

using test::Bench;
using test::kClasses;
using test::Text;

constexpr size_t kRows = 150;
constexpr size_t kPositions = 10;

// A prompt of texts and images.
class PromptMaker {
 public:
  PromptMaker& Add(const Tokens& text) {
    request_.prompt.insert(request_.prompt.end(), text.begin(), text.end());
    return *this;
  }
  PromptMaker& AddImage(const std::string& name) { return AddImage(name, kRows, kPositions); }
  PromptMaker& AddImage(const std::string& name, size_t rows, size_t positions) {
    auto image = FakeImage(rows, positions, name);
    request_.media.push_back({request_.prompt.size(), 0, image});
    return Add(MediaTokens(image->content, rows, positions));
  }
  GenerationRequest Make(NamespaceId name_space = 0) const {
    GenerationRequest request = request_;
    request.name_space = name_space;
    request.shape.tokens = request.prompt.size();
    request.params.tokens_max = 8;
    return request;
  }

 private:
  GenerationRequest request_;
};

struct MediaBench {
  explicit MediaBench(MemoryClass memory_class, ReuseMode reuse = ReuseMode::kLive)
      : MediaBench(Bench::EngineOptions(memory_class), reuse) {}
  explicit MediaBench(const FakeEngineOptions& engine, ReuseMode reuse = ReuseMode::kLive)
      : media(&decoder, &encoder, &clock, {}),
        bench(engine, Options(reuse, engine.message_starts)) {}

  SchedulerOptions Options(ReuseMode reuse, const Tokens& message_starts) {
    SchedulerOptions options;
    options.queue_limit = 200;
    options.reuse = reuse;
    options.message_starts = message_starts;
    options.media = &media;
    return options;
  }

  Bench::Answer Run(GenerationRequest request) {
    return Finish(bench.scheduler.Submit(std::move(request))->get());
  }
  // Steps until the answer has ended.
  Bench::Answer Finish(Generation* generation) {
    Bench::Answer answer;
    const auto ended = [&answer] {
      return answer.end.kind == GenerationEvent::Kind::kDone ||
             answer.end.kind == GenerationEvent::Kind::kFailed;
    };
    while (!ended()) {
      if (!bench.scheduler.Step()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      Bench::Answer more = Bench::Collect(generation);
      answer.text += more.text;
      answer.end = std::move(more.end);
    }
    return answer;
  }
  // The tokens that the request prefilled.
  size_t PrefilledBy(const GenerationRequest& request) {
    const Bench::Answer answer = Run(request);
    EXPECT_EQ(answer.end.kind, GenerationEvent::Kind::kDone) << answer.text;
    return answer.end.cost.prompt_tokens - answer.end.cost.reused_tokens;
  }

  FakeMediaDecoder decoder;
  FakeMediaEncoder encoder;
  ManualClock clock;
  EncodedMedia media;
  Bench bench;
};

std::vector<GenerationRequest> Turns() {
  std::vector<GenerationRequest> turns;
  PromptMaker talk;
  talk.Add(Text(200, 's'));
  turns.push_back(PromptMaker(talk).Add(Text(90, 'a')).Make());
  talk.Add(Text(90, 'a')).AddImage("cat").Add(Text(70, 'b'));
  turns.push_back(talk.Make());
  talk.Add(Text(100, 'c'));
  turns.push_back(talk.Make());
  talk.AddImage("dog").AddImage("cat").Add(Text(30, 'd'));
  turns.push_back(talk.Make());
  talk.Add(Text(64, 'e'));
  turns.push_back(talk.Make());
  // Edits before, between and behind the images.
  const auto edited = [](char before, char between, char behind) {
    return PromptMaker()
        .Add(Text(200, 's'))
        .Add(Text(90, before))
        .AddImage("cat")
        .Add(Text(170, between))
        .AddImage("dog")
        .AddImage("cat")
        .Add(Text(94, behind))
        .Make();
  };
  turns.push_back(edited('x', 'b', 'd'));
  turns.push_back(edited('a', 'y', 'd'));
  turns.push_back(edited('a', 'b', 'z'));
  turns.push_back(edited('a', 'b', 'd'));
  return turns;
}

// With and without message starts, behind which the grid begins anew.
TEST(MediaPrompts, HaveTheAnswersOfAColdRun) {
  for (const Tokens& starts : {Tokens(), Tokens{'b', 'q'}}) {
    for (const MemoryClass memory_class : kClasses) {
      FakeEngineOptions engine = Bench::EngineOptions(memory_class);
      engine.message_starts = starts;
      MediaBench warm(engine, ReuseMode::kExact);
      for (const GenerationRequest& turn : Turns()) {
        MediaBench cold(engine, ReuseMode::kExact);
        EXPECT_EQ(warm.Run(turn).text, cold.Run(turn).text) << MemoryClassName(memory_class);
      }
      EXPECT_EQ(warm.encoder.encoded(), 2) << "each image once";
    }
  }
}

TEST(MediaPrompts, AreContinuedBehindTheirImages) {
  for (const ReuseMode reuse : {ReuseMode::kLive, ReuseMode::kExact}) {
    for (const MemoryClass memory_class : kClasses) {
      MediaBench bench(memory_class, reuse);
      const std::vector<GenerationRequest> turns = Turns();
      bench.PrefilledBy(turns[1]);
      EXPECT_LE(bench.PrefilledBy(turns[2]), 100U + 64U) << MemoryClassName(memory_class);
      EXPECT_EQ(bench.encoder.encoded(), 1);
    }
  }
}

TEST(MediaPrompts, WithAnotherImageShareNothingOfIt) {
  for (const MemoryClass memory_class : kClasses) {
    MediaBench warm(memory_class, ReuseMode::kExact);
    const auto with = [](const std::string& image) {
      return PromptMaker().Add(Text(130, 's')).AddImage(image).Add(Text(70, 'q')).Make();
    };
    const std::string of_cat = warm.Run(with("cat")).text;
    MediaBench cold(memory_class, ReuseMode::kExact);
    EXPECT_EQ(warm.Run(with("dog")).text, cold.Run(with("dog")).text);
    EXPECT_NE(warm.Run(with("dog")).text, of_cat);
  }
}

TEST(MediaPrompts, WithABrokenImageFailWithItsPlace) {
  MediaBench bench(MemoryClass::kHybrid);
  GenerationRequest request = PromptMaker().Add(Text(130, 's')).AddImage("cat").Make();
  request.prompt.resize(request.prompt.size() + 9, 'q');
  request.shape.tokens = request.prompt.size();
  const GenerationRequest good = request;
  request.media[0].medium =
      MakeMedium(MediumKind::kImage, Bytes{'b', 'a', 'd'}, "messages[3].content[1]");
  const Bench::Answer answer = bench.Run(request);
  ASSERT_EQ(answer.end.kind, GenerationEvent::Kind::kFailed);
  EXPECT_EQ(answer.end.error.message, "messages[3].content[1]: the image is broken");
  EXPECT_EQ(bench.Run(good).end.kind, GenerationEvent::Kind::kDone) << "the server goes on";
}

TEST(MediaPrompts, LetOthersGoOnWhileAnImageIsEncoded) {
  FakeEngineOptions engine = test::Slots(2, MemoryClass::kAttention);
  MediaBench bench(engine);
  const GenerationRequest with_image = PromptMaker().AddImage("cat").Add(Text(70, 'q')).Make();
  bench.encoder.Hold();
  const auto waiting = *bench.bench.scheduler.Submit(with_image);
  const auto other = *bench.bench.scheduler.Submit(PromptMaker().Add(Text(70, 'p')).Make());
  EXPECT_EQ(bench.Finish(other.get()).end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(bench.bench.engine.decoded_tokens(), 70 + 7U);
  bench.encoder.Release();
  EXPECT_EQ(bench.Finish(waiting.get()).end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(bench.bench.engine.decoded_tokens(), 70 + 7U + kRows + 70 + 7);
}

constexpr NamespaceId kMany = 1;
constexpr NamespaceId kOne = 2;
constexpr size_t kRowsOfMany = 20;
constexpr size_t kRowsOfOne = 30;

// Each request has images of its own.
GenerationRequest ManyImages(size_t number, size_t images) {
  PromptMaker maker;
  for (size_t i = 0; i < images; ++i) {
    maker.AddImage(std::to_string(number) + "," + std::to_string(i), kRowsOfMany, 10);
  }
  return maker.Add(Text(9, 'm')).Make(kMany);
}

// Found as a key whose image waited 40 s for those of another key that had left.
TEST(MediaPrompts, OfACancelledRequestAreNotEncoded) {
  MediaBench bench(test::Slots(4, MemoryClass::kHybrid));
  bench.encoder.Hold();
  std::vector<std::shared_ptr<Generation>> many;
  for (size_t i = 0; i < 80; ++i) {
    many.push_back(*bench.bench.scheduler.Submit(ManyImages(i, 14)));
    bench.bench.scheduler.Step();
  }
  for (const auto& generation : many) generation->Cancel();
  const auto one = *bench.bench.scheduler.Submit(
      PromptMaker().AddImage("cat", kRowsOfOne, 10).Add(Text(9, 'q')).Make(kOne));
  bench.bench.scheduler.Step();
  bench.encoder.Release();
  EXPECT_EQ(bench.Finish(one.get()).end.kind, GenerationEvent::Kind::kDone);
  const auto encoded = bench.encoder.encoded_rows();
  EXPECT_LE(encoded.size(), 2U) << "the one that was begun, and that of the other key";
  EXPECT_EQ(encoded.back(), kRowsOfOne);
}

TEST(MediaPrompts, OfAKeyWithManyLetThatOfAnotherPass) {
  constexpr size_t kRequests = 7;
  MediaBench bench(test::Slots(kRequests + 1, MemoryClass::kHybrid));
  bench.encoder.Hold();
  bench.encoder.OnEncode([&bench] { bench.clock.Advance(100); });
  std::vector<std::shared_ptr<Generation>> many;
  for (size_t i = 0; i < kRequests; ++i) {
    many.push_back(*bench.bench.scheduler.Submit(ManyImages(i, 3)));
  }
  // It has more to prefill than the others, so they come first until they have used more time.
  const auto one = *bench.bench.scheduler.Submit(
      PromptMaker().AddImage("cat", kRowsOfOne, 10).Add(Text(900, 'q')).Make(kOne));
  const auto step = [&bench] {
    for (size_t i = 0; i < 20; ++i) bench.bench.scheduler.Step();
  };
  for (uint64_t encoded = 1; encoded <= 3; ++encoded) {
    step();
    bench.encoder.LetPass(1);
    while (bench.media.stats().encoded < encoded) std::this_thread::yield();
  }
  // The second one may have begun before the time of the first was counted.
  const auto rows = bench.encoder.encoded_rows();
  EXPECT_NE(std::find(rows.begin(), rows.end(), kRowsOfOne), rows.end());
  bench.encoder.Release();
  EXPECT_EQ(bench.Finish(one.get()).end.kind, GenerationEvent::Kind::kDone);
  for (const auto& generation : many) {
    EXPECT_EQ(bench.Finish(generation.get()).end.kind, GenerationEvent::Kind::kDone);
  }
}

// Texts and images of random lengths, with edits, where chunks are as short as a batch may be.
class RandomMediaTalk {
 public:
  explicit RandomMediaTalk(uint64_t seed) : random_(seed) {}

  FakeEngineOptions Engine(MemoryClass memory_class) {
    FakeEngineOptions engine = test::Slots(1 + Random(2), memory_class);
    engine.grid_tokens = size_t{16} << Random(3);
    engine.chunk_tokens_max = 24 + Random(100);
    if (Random(2) == 0) engine.message_starts = {'a', 'e'};
    return engine;
  }
  // Adds to the prompt before, or to a beginning of it.
  GenerationRequest Next() {
    if (Random(4) == 0) parts_.resize(Random(parts_.size() + 1));
    for (size_t more = 1 + Random(3); more > 0; --more) {
      parts_.push_back({Random(2) == 0, 4 + Random(Random(2) == 0 ? 20 : 150), Random(5)});
    }
    PromptMaker maker;
    for (const Part& part : parts_) {
      if (part.is_image) {
        maker.AddImage(std::to_string(part.kind), part.size, 1 + part.size / 2);
      } else {
        maker.Add(Text(part.size, static_cast<char>('a' + part.kind)));
      }
    }
    return maker.Add(Text(1 + Random(9), 'z')).Make();
  }

 private:
  struct Part {
    bool is_image = false;
    size_t size = 0;
    size_t kind = 0;
  };

  size_t Random(size_t below) { return random_() % below; }

  std::mt19937_64 random_;
  std::vector<Part> parts_;
};

// The FakeEngine aborts where it gets a token of a medium as text.
TEST(MediaPrompts, OfAnyLengthsReachTheEngineAsMedia) {
  for (uint64_t seed = 1; seed <= test::Played(100); ++seed) {
    for (const MemoryClass memory_class : kClasses) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << MemoryClassName(memory_class));
      RandomMediaTalk talk(seed);
      FakeEngineOptions engine = talk.Engine(memory_class);
      MediaBench bench(engine);
      for (size_t turn = 0; turn < 5; ++turn) {
        const Bench::Answer answer = bench.Run(talk.Next());
        ASSERT_EQ(answer.end.kind, GenerationEvent::Kind::kDone) << answer.end.error.message;
      }
    }
  }
}

}  // namespace
}  // namespace cairn::media_prompts_test
