// Shared by tests of LlamaEngine: a synthetic model of every memory class, loaded, and prompts
// prefilled into its sequences.

#ifndef CAIRN_TESTING_ENGINE_LLAMA_FIXTURE_H_
#define CAIRN_TESTING_ENGINE_LLAMA_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/llama/llama_engine.h"
#include "testing/engine/test_models.h"

namespace cairn::test {

inline constexpr size_t kGrid = 64;

struct Made {
  const char* architecture;
  MemoryClass memory_class;
  uint32_t window_tokens = 0;
};

// Windows that fill early; one is no multiple of the grid.
inline constexpr std::array<Made, 7> kMade = {{
    {"llama", MemoryClass::kAttention},
    {"gemma3", MemoryClass::kSlidingWindow, 96},
    {"gpt-oss", MemoryClass::kSlidingWindow, 128},
    {"mamba2", MemoryClass::kRecurrent},
    {"qwen35", MemoryClass::kHybrid},
    {"lfm2", MemoryClass::kHybrid},
    {"falcon-h1", MemoryClass::kHybrid},
}};

inline std::unique_ptr<LlamaEngine> Loaded(const Made& made) {
  auto engine = LlamaEngine::Load(SmallOptions(MadeModel(made.architecture, made.window_tokens)));
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

inline Tokens RandomPrompt(size_t tokens, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tokens prompt(tokens);
  for (Token& token : prompt) token = static_cast<Token>(random() % 256);
  return prompt;
}

// Prefills [begin, end) of `prompt` in chunks of `piece` tokens and returns the last logits.
inline std::vector<float> PrefillInto(SeqId seq, Engine* engine, const Tokens& prompt, size_t begin,
                                      size_t end, size_t piece = kGrid) {
  while (begin < end) {
    const size_t size = std::min(piece, end - begin);
    const Status decoded = engine->Decode(seq, begin, TokenSpan(prompt).subspan(begin, size));
    EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
    begin += size;
  }
  return {engine->Logits().begin(), engine->Logits().end()};
}
inline std::vector<float> Read(Engine* engine, const Tokens& prompt, size_t begin, size_t end,
                               size_t piece = kGrid) {
  return PrefillInto(0, engine, prompt, begin, end, piece);
}

// Prefills all of `prompt`, cut before its last chunk as every prompt is.
inline std::vector<float> PrefillCold(Engine* engine, const Tokens& prompt, size_t piece = kGrid) {
  engine->Clear(0);
  const size_t last_cut = (prompt.size() - 1) / kGrid * kGrid;
  Read(engine, prompt, 0, last_cut, piece);
  return Read(engine, prompt, last_cut, prompt.size());
}

inline std::string Trace(const Made& made) {
  return std::string(made.architecture) + ", window " + std::to_string(made.window_tokens);
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_ENGINE_LLAMA_FIXTURE_H_
