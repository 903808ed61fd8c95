#include "engine/embed/embedding_architectures.h"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

constexpr std::array<std::string_view, 118> kTried = {
    "afmoe",
    "arcee",
    "arctic",
    "baichuan",
    "bailingmoe",
    "bailingmoe2",
    "bailingmoe3",
    "bloom",
    "chatglm",
    "codeshell",
    "cogvlm",
    "cohere2",
    "cohere2moe",
    "command-r",
    "dbrx",
    "deci",
    "deepseek",
    "deepseek2",
    "deepseek32",
    "dots1",
    "dots3note",
    "ernie4_5",
    "ernie4_5-moe",
    "exaone",
    "exaone-moe",
    "exaone4",
    "falcon",
    "falcon-h1",
    "gemma",
    "gemma2",
    "gemma3",
    "glm-dsa",
    "glm4",
    "glm4moe",
    "glm5-next",
    "gpt-oss",
    "gpt2",
    "gptneox",
    "granite",
    "granite_swa",
    "granitehybrid",
    "granitemoe",
    "grok",
    "grovemoe",
    "hrm_text",
    "hunyuan-dense",
    "hunyuan-moe",
    "hunyuan_vl",
    "hy_v3",
    "hy_v4",
    "internlm2",
    "jais",
    "jais2",
    "jamba",
    "k2-horizon",
    "kimi-k3",
    "kimi-linear",
    "laguna",
    "lfm2",
    "lfm2moe",
    "llama",
    "llama4",
    "maincoder",
    "maion-coder",
    "mamba",
    "mamba2",
    "maple",
    "mellum",
    "mimo2",
    "minicpm",
    "minicpm3",
    "minimax-01",
    "minimax-m2",
    "minimax-m3",
    "mistral3",
    "mistral4",
    "mpt",
    "muse-glimmer",
    "nanbeige",
    "nemotron",
    "nemotron_h",
    "nemotron_h_moe",
    "olmo",
    "olmo2",
    "olmoe",
    "openelm",
    "orion",
    "paddleocr",
    "pangu-embedded",
    "phi2",
    "phi3",
    "phimoe",
    "plamo",
    "plamo2",
    "plamo3",
    "pockettts",
    "qwen",
    "qwen2",
    "qwen2moe",
    "qwen2vl",
    "qwen3",
    "qwen35",
    "qwen35moe",
    "qwen3moe",
    "qwen3next",
    "qwen3tts",
    "qwen3vl",
    "qwen3vlmoe",
    "refact",
    "seed_oss",
    "smallthinker",
    "smollm3",
    "spark2_5",
    "stablelm",
    "starcoder",
    "starcoder2",
    "talkie",
    "xverse",
};

constexpr std::array<std::string_view, 12> kEncoders = {
    "bert",         "eurobert",     "gemma-embedding", "gemma-embedding2",
    "jina-bert-v2", "jina-bert-v3", "llama-embed",     "modern-bert",
    "neo-bert",     "nomic-bert",   "nomic-bert-moe",  "t5encoder",
};

}  // namespace

bool EmbedsTexts(std::string_view architecture) {
  return IsEncoder(architecture) ||
         std::find(kTried.begin(), kTried.end(), architecture) != kTried.end();
}

Error WritesNoAnswers() {
  return {ErrorCode::kUnsupported,
          "this model computes vectors or scores of texts and writes no answers; send texts to "
          "/v1/embeddings or /v1/rerank, or serve another model"};
}

bool IsEncoder(std::string_view architecture) {
  return std::find(kEncoders.begin(), kEncoders.end(), architecture) != kEncoders.end();
}

}  // namespace cairn
