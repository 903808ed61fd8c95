#include "engine/engine.h"

#include <array>
#include <cstring>

namespace cairn {

std::string_view MemoryClassName(MemoryClass memory_class) {
  switch (memory_class) {
    case MemoryClass::kAttention:
      return "attention";
    case MemoryClass::kSlidingWindow:
      return "sliding-window";
    case MemoryClass::kRecurrent:
      return "recurrent";
    case MemoryClass::kHybrid:
      return "hybrid";
  }
  return "unknown";
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::string_view SamplingStepName(SamplingStep step) {
  switch (step) {
    case SamplingStep::kPenalties:
      return "penalties";
    case SamplingStep::kDry:
      return "dry";
    case SamplingStep::kTopNSigma:
      return "top_n_sigma";
    case SamplingStep::kTopK:
      return "top_k";
    case SamplingStep::kTypicalP:
      return "typ_p";
    case SamplingStep::kTopP:
      return "top_p";
    case SamplingStep::kMinP:
      return "min_p";
    case SamplingStep::kXtc:
      return "xtc";
    case SamplingStep::kTemperature:
      return "temperature";
    case SamplingStep::kInfill:
      return "infill";
    case SamplingStep::kAdaptiveP:
      return "adaptive_p";
  }
  return "unknown";
}

const std::vector<SamplingStep>& UsualSamplingOrder() {
  static const std::vector<SamplingStep> order = {
      SamplingStep::kPenalties, SamplingStep::kDry,      SamplingStep::kTopNSigma,
      SamplingStep::kTopK,      SamplingStep::kTypicalP, SamplingStep::kTopP,
      SamplingStep::kMinP,      SamplingStep::kXtc,      SamplingStep::kTemperature};
  return order;
}

const std::vector<SamplingStep>& AllSamplingSteps() {
  static const std::vector<SamplingStep> steps = [] {
    std::vector<SamplingStep> all = UsualSamplingOrder();
    all.insert(all.end(), {SamplingStep::kInfill, SamplingStep::kAdaptiveP});
    return all;
  }();
  return steps;
}

std::optional<SamplingStep> FindSamplingStep(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, SamplingStep>, 7> kOtherNames = {
      {{"typical_p", SamplingStep::kTypicalP},
       {"typical", SamplingStep::kTypicalP},
       {"top-k", SamplingStep::kTopK},
       {"top-p", SamplingStep::kTopP},
       {"nucleus", SamplingStep::kTopP},
       {"min-p", SamplingStep::kMinP},
       {"temp", SamplingStep::kTemperature}}};
  for (const SamplingStep step : AllSamplingSteps()) {
    if (SamplingStepName(step) == name) return step;
  }
  for (const auto& [other, step] : kOtherNames) {
    if (other == name) return step;
  }
  return std::nullopt;
}

std::optional<SamplingStep> SamplingStepOfLetter(char letter) {
  const size_t at = kSamplingLetters.find(letter);
  return at == std::string_view::npos ? std::nullopt : std::optional(AllSamplingSteps().at(at));
}

std::vector<NextToken> NextTokens(SeqId seq, size_t position, TokenSpan tokens) {
  std::vector<NextToken> next;
  next.reserve(tokens.size());
  for (const Token token : tokens) next.push_back({seq, position++, token});
  return next;
}

void Segments::ReleaseTaken() {}

Status Sequences::DecodeChunks(std::span<const SeqChunk> /*chunks*/, ChunkLogits /*logits*/) {
  return Fail(ErrorCode::kUnsupported, "this engine has no logits inside a prompt");
}

Status Sequences::Drop(SeqId /*seq*/, size_t /*begin*/, size_t /*end*/) {
  return Fail(ErrorCode::kUnsupported, "this engine moves nothing");
}

Status Sequences::RollBack(SeqId /*seq*/, size_t /*position*/) {
  return Fail(ErrorCode::kUnsupported, "this engine rolls nothing back");
}

Status Sequences::DecodeMedium(SeqId /*seq*/, size_t /*position*/, TokenSpan /*tokens*/,
                               const EncodedPiece& /*piece*/) {
  return Fail(ErrorCode::kUnsupported, "this engine takes no images or recordings");
}

void Sequences::SetMedia(SeqId /*seq*/, TokenSpan /*tokens*/) {}

Status Sequences::UseAdapters(AdapterSets::Number /*set*/) {
  return {};
}

Status Engine::Sleep() {
  return Fail(ErrorCode::kUnsupported, "this engine has nothing to unload");
}

Status Engine::Wake() {
  return Fail(ErrorCode::kUnsupported, "this engine does not sleep");
}

bool Sampler::Accept(Token /*token*/) {
  return true;
}

std::vector<Sampler::Candidate> Sampler::Candidates() const {
  return {};
}

}  // namespace cairn
