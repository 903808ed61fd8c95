// What the bits of this engine's states depend on.

#include <ggml-backend.h>
#include <ggml.h>
#include <llama.h>

#include <array>
#include <cinttypes>
#include <cstdio>

#include "base/hash.h"
#include "engine/llama/computing_libraries.h"
#include "engine/llama/llama_digest.h"
#include "engine/llama/llama_engine.h"

namespace cairn {
namespace {

constexpr SeqId kProbeSeq = 0;

// Of what this program makes of libllama's states, the order of a window's cells among it. One up
// whenever a change moves bits or bytes of snapshots, segments or whole states.
constexpr int kOurVersion = 1;

constexpr const char* kGridFact = "grid_tokens";

std::string Text(const char* text) {
  return text == nullptr ? "" : text;
}

// What computes. A processor's name is no fact, only what it can do (and llama_print_system_info
// says that): hosts that share a folder need not be twins. Of a GPU nothing says as much.
std::string Devices() {
  std::string text;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    text += (text.empty() ? "" : ", ") + Text(ggml_backend_dev_name(device));
    if (ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU) continue;
    text += " (" + Text(ggml_backend_dev_description(device)) + ")";
  }
  return text;
}

}  // namespace

const Result<ModelDigest>& LlamaEngine::Digest() const {
  if (!digest_) digest_ = DigestModel(info_.path);
  return *digest_;
}

Result<StateFacts> LlamaEngine::Facts() const {
  const Result<ModelDigest>& model = Digest();
  if (!model) return tl::unexpected(model.error());
  StateFacts facts = {{"cairn_states", std::to_string(kOurVersion)},
                      {"model", model->text},
                      {"architecture", info_.architecture},
                      {"description", info_.description}};
  if (model->rotates_by_context) {
    facts.emplace_back("context_tokens", std::to_string(context_tokens_));
  }
  facts.insert(facts.end(), option_facts_.begin(), option_facts_.end());
  // Tried on made models of every memory class, with 1 to 4 threads: pieces of a prompt come to the
  // same bits with any number. A piece of one token does not: ggml cuts the KV that it looks at
  // into a part for each thread (flash attention, from 512 cells on). So answers feel the threads,
  // and so does the end of a prompt whose last piece is one token. Those of larger pieces move
  // nothing (StateIdentity.TheThreadsOfChunksMoveNoBits).
  facts.emplace_back("threads", std::to_string(llama_n_threads(context())));
  facts.emplace_back(kGridFact, std::to_string(traits_.grid_tokens));
  facts.emplace_back("libllama", Text(llama_version()));
  facts.emplace_back("ggml", Text(ggml_version()) + " " + Text(ggml_commit()));
  facts.emplace_back("devices", Devices());
  facts.emplace_back("features", Text(llama_print_system_info()));
  facts.emplace_back("libraries", ComputingLibraries());
  facts.emplace_back("settings", ComputingSettings());
  facts.emplace_back("proven_bits", proven_bits_);
  return facts;
}

Result<std::string> LlamaEngine::StateIdentity() const {
  const auto facts = Facts();
  if (!facts) return tl::unexpected(facts.error());
  return FactsText(*facts);
}

Result<std::string> LlamaEngine::GridFacts() const {
  auto facts = Facts();
  if (!facts) return tl::unexpected(facts.error());
  std::erase_if(*facts, [](const auto& fact) { return fact.first == kGridFact; });
  return FactsText(*facts);
}

std::string LlamaEngine::BitsText(uint64_t bits) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, bits);
  return text.data();
}

uint64_t LlamaEngine::HashOfLogits() const {
  const std::span<const float> logits = Logits();
  return Hash64(logits.data(), logits.size_bytes());
}

// The facts name what is known to move bits. This finds what nobody thought of, as another driver,
// where a few tokens show it.
Status LlamaEngine::ProveBits(TokenSpan tokens, uint64_t bits) {
  if (Status read = Decode(kProbeSeq, 0, tokens.first(kFewTokens)); !read) return read;
  Status read = Decode(kProbeSeq, kFewTokens, tokens.subspan(kFewTokens));
  if (!read) return read;
  proven_bits_ = "not twice the same";
  if (HashOfLogits() == bits) proven_bits_ = BitsText(bits);
  Clear(kProbeSeq);
  return {};
}

}  // namespace cairn
