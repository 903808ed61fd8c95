// Prompts with images, on a FakeEngine of every memory class: answers are those of a server that
// prefills everything, each image is encoded once, and prefill begins where the prompts diverge.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "media/media_tokens.h"
#include "testing/media/fake_media.h"
#include "testing/sched/scheduler_fixture.h"

namespace cairn {
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
  PromptMaker& AddImage(const std::string& name) {
    auto image = FakeImage(kRows, kPositions, name);
    request_.media.push_back({request_.prompt.size(), 0, image});
    return Add(MediaTokens(image->content, kRows, kPositions));
  }
  GenerationRequest Make() const {
    GenerationRequest request = request_;
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

}  // namespace
}  // namespace cairn
