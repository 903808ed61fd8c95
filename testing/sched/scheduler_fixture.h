// For tests of the scheduler: a server without HTTP, stepped by the test, on a FakeEngine.

#ifndef CAIRN_TESTING_SCHED_SCHEDULER_FIXTURE_H_
#define CAIRN_TESTING_SCHED_SCHEDULER_FIXTURE_H_

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sched/scheduler.h"
#include "testing/engine/fake_engine.h"
#include "testing/sched/memory_classes.h"

namespace cairn::test {

inline Tokens Text(size_t n, char letter = 'x') {
  return Tokens(n, letter);
}

// Every call takes time, so that prefill has a cost and is worth sparing.
class SteppingClock final : public Clock {
 public:
  double NowMs() const override { return now_ms_ += 1; }

 private:
  mutable double now_ms_ = 0;
};

inline Tokens TokensOf(const std::string& text) {
  return {text.begin(), text.end()};
}

// Bench: a server without HTTP, stepped by the test.
struct Bench {
  explicit Bench(MemoryClass memory_class = MemoryClass::kHybrid,
                 const SchedulerOptions& scheduler_options = {})
      : Bench(EngineOptions(memory_class), scheduler_options) {}
  Bench(const FakeEngineOptions& engine_options, const SchedulerOptions& scheduler_options,
        std::string_view placement = "near-end,user-turns")
      : engine(engine_options),
        cache(CacheOptions{}, *MakePlacement(placement), *MakeEviction("lru"), MakeRamStore()),
        scheduler(&engine, &cache, &clock, scheduler_options) {}

  static FakeEngineOptions EngineOptions(MemoryClass memory_class) {
    FakeEngineOptions options;
    options.memory_class = memory_class;
    options.context_tokens = 4096;
    options.end_one_in = 0;
    return options;
  }

  static GenerationRequest Request(Tokens prompt, size_t tokens_max = 8) {
    GenerationRequest request;
    request.shape.tokens = prompt.size();
    request.prompt = std::move(prompt);
    request.params.tokens_max = tokens_max;
    return request;
  }

  struct Answer {
    std::string text;
    GenerationEvent end;
  };
  static Answer Collect(Generation* generation) {
    Answer answer;
    while (auto event = generation->Next(std::chrono::milliseconds(0))) {
      answer.text += event->text;
      answer.end = *event;
    }
    return answer;
  }
  Answer Run(GenerationRequest request) {
    auto generation = scheduler.Submit(std::move(request));
    EXPECT_TRUE(generation.has_value());
    while (scheduler.Step()) {
    }
    return Collect(generation->get());
  }

  // Submits all at once and steps until all are answered.
  std::vector<Answer> RunTogether(std::vector<GenerationRequest> requests) {
    std::vector<std::shared_ptr<Generation>> generations;
    for (GenerationRequest& request : requests) {
      generations.push_back(*scheduler.Submit(std::move(request)));
    }
    while (scheduler.Step()) {
    }
    std::vector<Answer> answers;
    for (const auto& generation : generations) answers.push_back(Collect(generation.get()));
    return answers;
  }

  ManualClock clock;
  FakeEngine engine;
  CheckpointCache cache;
  Scheduler scheduler;
};

inline FakeEngineOptions Slots(size_t slots, MemoryClass memory_class) {
  FakeEngineOptions options = Bench::EngineOptions(memory_class);
  options.slots = slots;
  return options;
}

inline Tokens Join(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_SCHED_SCHEDULER_FIXTURE_H_
