// For tests: an engine that answers every prompt with one text, a token a byte.

#ifndef CAIRN_TESTING_ENGINE_ONE_ANSWER_ENGINE_H_
#define CAIRN_TESTING_ENGINE_ONE_ANSWER_ENGINE_H_

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "testing/engine/fake_engine.h"

namespace cairn::test {

// `Base`: FakeEngine, or one derived from it.
template <typename Base>
class OneAnswerEngine final : public Base {
 public:
  OneAnswerEngine(const FakeEngineOptions& options, std::string answer)
      : Base(options), answer_(std::move(answer)) {}

  std::unique_ptr<Sampler> MakeSampler(const SamplingParams& /*params*/) override {
    return std::make_unique<Speller>(answer_);
  }

 private:
  class Speller final : public Sampler {
   public:
    explicit Speller(std::string answer) : answer_(std::move(answer)) {}
    Token Sample(std::span<const float> /*logits*/) override {
      return told_ == answer_.size() ? FakeEngine::kMessageEnd
                                     : static_cast<Token>(answer_[told_++]);
    }

   private:
    const std::string answer_;
    size_t told_ = 0;
  };

  const std::string answer_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_ENGINE_ONE_ANSWER_ENGINE_H_
