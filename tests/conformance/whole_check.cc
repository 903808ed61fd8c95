// Checks that a sequence's full state can be saved and set again: in its own place, and in another
// sequence while others hold tokens too.

#include <algorithm>
#include <array>
#include <cstdio>

#include "conformance/checks.h"
#include "conformance/model_bench.h"

namespace cairn::conformance {
namespace {

constexpr llama_seq_id kWholeSeq = 0;
constexpr llama_seq_id kOther = 1;
constexpr llama_pos kSavedEnd = 150;  // end of the saved state: inside a chunk
constexpr llama_pos kWholePromptTokens = 220;
constexpr llama_pos kNeighbourTokens = 70;

// Returns "exact", or the refused call, or the difference.
std::string Verdict(const ModelBench& bench, const std::optional<double>& difference) {
  if (!bench.refused().empty()) return "refused: " + bench.refused();
  if (difference) return "differs by " + DifferenceText(*difference);
  return "exact";
}

// One sequence in a memory of its own: compares the logits afterwards.
std::string SetBack(ModelBench* bench) {
  const PromptTokens prompt = bench->RandomPrompt(kWholePromptTokens);
  bench->Read(prompt, 0, kSavedEnd);
  const Blob whole = bench->GetState(kWholeSeq, kWhole);
  const LogitRows wanted = bench->Read(prompt, kSavedEnd, kWholePromptTokens);
  llama_memory_clear(bench->memory(), true);
  bench->SetState(kWholeSeq, whole, kWhole);
  return Verdict(*bench, Difference(wanted, bench->Read(prompt, kSavedEnd, kWholePromptTokens)));
}

// Two streams: a state of the first goes into the second while the first holds another prompt.
std::string SetIntoAnotherStream(ModelBench* bench) {
  const PromptTokens prompt = bench->RandomPrompt(kWholePromptTokens);
  const PromptTokens other = bench->RandomPrompt(kWholePromptTokens);
  bench->Read(prompt, 0, kSavedEnd);
  const Blob whole = bench->GetState(kWholeSeq, kWhole);
  const LogitRows wanted = bench->Read(prompt, kSavedEnd, kWholePromptTokens);
  bench->Clear(kWholeSeq);
  bench->Read(other, 0, kWholePromptTokens, kWholeSeq);
  bench->Read(other, 0, kNeighbourTokens, kOther);
  bench->Clear(kOther);
  bench->SetState(kOther, whole, kWhole);
  return Verdict(*bench,
                 Difference(wanted, bench->Read(prompt, kSavedEnd, kWholePromptTokens, kOther)));
}

// Two sequences in one memory. Neighbours change bits of the logits there, so the states are
// compared: after a set beside another prompt, the saved state must be the same, byte for byte.
std::string SetBesideANeighbour(ModelBench* bench) {
  const PromptTokens prompt = bench->RandomPrompt(kWholePromptTokens);
  const PromptTokens other = bench->RandomPrompt(kWholePromptTokens);
  bench->Read(prompt, 0, kSavedEnd, kOther);
  const Blob whole = bench->GetState(kOther, kWhole);
  bench->Clear(kOther);
  bench->Read(other, 0, kNeighbourTokens, kWholeSeq);
  bench->SetState(kOther, whole, kWhole);
  const Blob again = bench->GetState(kOther, kWhole);
  if (bench->refused().empty() && again != whole) return "differs in its bytes";
  bench->Read(prompt, kSavedEnd, kWholePromptTokens, kOther);
  bench->Read(other, kNeighbourTokens, kWholePromptTokens, kWholeSeq);
  return Verdict(*bench, {});
}

struct WholeWay {
  const char* name;
  uint32_t sequences;
  bool unified;
  std::string (*play)(ModelBench* bench);
};
constexpr std::array<WholeWay, 3> kWholeWays = {
    {{"set back", 1, true, SetBack},
     {"another stream", 2, false, SetIntoAnotherStream},
     {"beside a neighbour", 2, true, SetBesideANeighbour}}};

}  // namespace

std::string CheckWhole(const std::string& model_path) {
  for (const WholeWay& way : kWholeWays) {
    std::fprintf(stderr, "%s\n", way.name);
    const auto bench = ModelBench::Load(model_path, way.sequences, way.unified);
    if (!bench) return "refused: " + bench.error().message + " (" + way.name + ")";
    if (!(*bench)->has_memory()) return "-";
    const std::string verdict = way.play(bench->get());
    std::fprintf(stderr, "%s: %s\n", way.name, verdict.c_str());
    if (verdict != "exact") return verdict + " (" + way.name + ")";
  }
  return "exact";
}

}  // namespace cairn::conformance
