#include "made_engine.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

#include "lab/maker/llama_model_maker.h"

namespace cairn::bench {

Result<std::unique_ptr<LlamaEngine>> LoadMade(const ModelShape& shape, size_t context_tokens,
                                              int threads) {
  namespace fs = std::filesystem;
  const auto recipe = MakeRecipe(shape);
  if (!recipe) return tl::unexpected(recipe.error());
  LlamaOptions options;
  options.model_path = fs::temp_directory_path() /
                       ("cairn_bench_" + std::to_string(getpid()) + "_" + shape.architecture);
  options.context_tokens = context_tokens;
  options.grid_tokens = kGridTokens;
  options.threads = threads;
  if (const auto written = WriteModel(*recipe, options.model_path, {}); !written) {
    return tl::unexpected(written.error());
  }
  auto engine = LlamaEngine::Load(options);
  std::error_code ignored;
  fs::remove(options.model_path, ignored);
  return engine;
}

Tokens RandomTokens(size_t tokens, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tokens text(tokens);
  for (Token& token : text) token = static_cast<Token>('a' + random() % 26);
  return text;
}

Status ReadTokens(Engine* engine, size_t begin, TokenSpan tokens) {
  for (size_t at = 0; at < tokens.size();) {
    const size_t size = std::min(engine->chunk_tokens_max(), tokens.size() - at);
    if (Status read = engine->Decode(0, begin + at, tokens.subspan(at, size)); !read) return read;
    at += size;
  }
  return {};
}

}  // namespace cairn::bench
