#include "engine/llama/state/llama_identity.h"

#include <ggml-backend.h>
#include <ggml.h>
#include <llama.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "engine/llama/backend/computing_libraries.h"

namespace cairn {
namespace {

// The version of our own use of libllama's states, including the order of a window's cells.
// Incremented whenever a change alters bits or bytes of snapshots, segments or full states.
constexpr int kIdentityVersion = 1;

constexpr const char* kGridFact = "grid_tokens";
constexpr const char* kDiffers = "not twice the same";

std::string OrEmpty(const char* text) {
  return text == nullptr ? "" : text;
}

// The devices that compute. A CPU's name is not a fact, only its features are
// (llama_print_system_info lists those), because hosts that share a folder need not be identical.
// For a GPU there is no such list.
std::string Devices() {
  std::string text;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    text += (text.empty() ? "" : ", ") + OrEmpty(ggml_backend_dev_name(device));
    if (ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU) continue;
    text += " (" + OrEmpty(ggml_backend_dev_description(device)) + ")";
  }
  return text;
}

}  // namespace

const Result<ModelDigest>& LlamaIdentity::Digest() const {
  if (!digest_) digest_ = DigestModel(info_->path);
  return *digest_;
}

Result<StateFacts> LlamaIdentity::Facts() const {
  const Result<ModelDigest>& model = Digest();
  if (!model) return tl::unexpected(model.error());
  StateFacts facts = {{"cairn_states", std::to_string(kIdentityVersion)},
                      {"model", model->text},
                      {"architecture", info_->architecture},
                      {"description", info_->description}};
  if (model->rotates_by_context) {
    facts.emplace_back("context_tokens", std::to_string(loaded_->context_tokens()));
  }
  facts.insert(facts.end(), option_facts_.begin(), option_facts_.end());
  // Tried on synthetic models of every memory class, with 1 to 4 threads: chunks of a prompt give
  // the same bits with any number. A chunk of one token does not: ggml splits the KV into a part
  // for each thread (flash attention, from 512 cells on). So answers depend on the number of
  // threads, and so does the end of a prompt whose last chunk is one token. The threads of larger
  // chunks change nothing (StateIdentity.TheThreadsOfChunksMoveNoBits).
  facts.emplace_back("threads", std::to_string(llama_n_threads(loaded_->context())));
  facts.emplace_back(kGridFact, std::to_string(traits_->grid_tokens));
  facts.emplace_back("libllama", OrEmpty(llama_version()));
  facts.emplace_back("ggml", OrEmpty(ggml_version()) + " " + OrEmpty(ggml_commit()));
  facts.emplace_back("devices", Devices());
  // Devices of different kinds give different bits, so another split of the layers does too.
  if (std::string places = loaded_->layer_places().Text(); !places.empty()) {
    facts.emplace_back("layers", std::move(places));
  }
  // The last layer then computes all rows of a chunk, and states hold what the heads know.
  if (loaded_->heads().context != nullptr) facts.emplace_back("mtp_heads", "1");
  if (!loaded_->control_fact().empty()) {
    facts.emplace_back("control_vector", loaded_->control_fact());
  }
  facts.emplace_back("features", OrEmpty(llama_print_system_info()));
  facts.emplace_back("libraries", ComputingLibraries());
  facts.emplace_back("settings", ComputingSettings());
  facts.emplace_back("proven_bits", proven_bits_);
  if (!proven_chunk_.empty()) facts.emplace_back("proven_chunk", proven_chunk_);
  return facts;
}

Result<std::string> LlamaIdentity::Text() const {
  const auto facts = Facts();
  if (!facts) return tl::unexpected(facts.error());
  return FactsText(*facts);
}

Result<std::string> LlamaIdentity::GridFacts() const {
  auto facts = Facts();
  if (!facts) return tl::unexpected(facts.error());
  std::erase_if(*facts, [](const auto& fact) { return fact.first == kGridFact; });
  return FactsText(*facts);
}

Tokens LlamaIdentity::ProbeTokens(size_t asked) const {
  constexpr uint64_t kStride = 2'654'435'761;  // a prime far from any vocabulary's size
  const size_t count = std::min(asked, loaded_->context_tokens());
  Tokens tokens;
  for (size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<Token>(i * kStride % info_->vocab_size));
  }
  return tokens;
}

uint64_t LlamaIdentity::HashOfLogits() const {
  const std::span<const float> logits = sequences_->LogitsAt(-1);
  return Hash64(logits.data(), logits.size_bytes());
}

void LlamaIdentity::SetProvenBits(uint64_t hash) {
  proven_bits_ = HexText(hash);
}

void LlamaIdentity::SetProvenChunk(uint64_t hash, uint64_t again) {
  proven_chunk_ = hash == again ? HexText(hash) : kDiffers;
}

Result<uint64_t> LlamaIdentity::DecodeProbe(TokenSpan tokens) {
  Status decoded = sequences_->Decode(kProbeSeq, 0, tokens.first(kFirstTokens));
  if (decoded) {
    decoded = sequences_->Decode(kProbeSeq, kFirstTokens, tokens.subspan(kFirstTokens));
  }
  if (!decoded) return tl::unexpected(decoded.error());
  const uint64_t hash = HashOfLogits();
  sequences_->Clear(kProbeSeq);
  return hash;
}

Status LlamaIdentity::ProveBits(TokenSpan tokens, uint64_t hash) {
  SetProvenBits(hash);
  if (!traits_->on_device) return {};
  const auto again = DecodeProbe(tokens);
  if (!again) return tl::unexpected(again.error());
  if (*again != hash) proven_bits_ = kDiffers;
  return {};
}

}  // namespace cairn
