#include "sched/draft/drafter.h"

#include <string>

namespace cairn {

std::string_view DraftSourceName(DraftSource source) {
  switch (source) {
    case DraftSource::kEarlierAnswer:
      return "earlier_answer";
    case DraftSource::kLongNgram:
      return "long_ngram";
    case DraftSource::kShortNgram:
      return "short_ngram";
  }
  return "unknown";
}

double ExpectedAcceptance(DraftSource source) {
  switch (source) {
    case DraftSource::kEarlierAnswer:
      return 0.9;
    case DraftSource::kLongNgram:
      return 0.8;
    case DraftSource::kShortNgram:
      return 0.5;
  }
  return 0;
}

Result<DrafterFactory> FindDrafter(std::string_view name) {
  if (name == "none") return DrafterFactory{nullptr};
  // llama-server: ngram-simple, ngram-map-k, ngram-map-k4v, ngram-mod, ngram-cache.
  if (name == "ngram" || name.starts_with("ngram-")) return DrafterFactory{&MakeNgramDrafter};
  return Fail(ErrorCode::kInvalidArgument, "there is no kind of speculative decoding named \"" +
                                               std::string(name) + "\"; there are none and ngram");
}

}  // namespace cairn
