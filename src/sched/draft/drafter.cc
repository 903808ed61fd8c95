#include "sched/draft/drafter.h"

#include <algorithm>
#include <string>

namespace cairn {

std::string_view DraftSourceName(DraftSource source) {
  switch (source) {
    case DraftSource::kEarlierAnswer:
      return "earlier_answer";
    case DraftSource::kLongNgram:
      return "long_ngram";
    case DraftSource::kStoredNgram:
      return "stored_ngram";
    case DraftSource::kMtp:
      return "mtp";
    case DraftSource::kDraftModel:
      return "draft_model";
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
    case DraftSource::kStoredNgram:
    case DraftSource::kMtp:
    case DraftSource::kDraftModel:
      return 0.7;
    case DraftSource::kShortNgram:
      return 0.5;
  }
  return 0;
}

Acceptance ExpectedAcceptances() {
  Acceptance expected = {};
  for (size_t i = 0; i < kDraftSources; ++i) {
    expected[i] = ExpectedAcceptance(static_cast<DraftSource>(i));
  }
  return expected;
}

Result<DraftKinds> ParseDraftKinds(std::string_view names) {
  DraftKinds kinds;
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, comma);
    names.remove_prefix(std::min(comma + 1, names.size()));
    if (name == "none") continue;
    if (name == "draft-simple") {
      kinds.draft_model = true;
    } else if (name == "draft-mtp") {
      kinds.mtp = true;
    } else if (name == "auto") {
      kinds.ngram = kinds.mtp = kinds.automatic = true;
    } else if (name == "ngram" || name.starts_with("ngram-")) {
      // llama-server: ngram-simple, ngram-map-k, ngram-map-k4v, ngram-mod, ngram-cache.
      kinds.ngram = true;
    } else {
      return Fail(ErrorCode::kInvalidArgument,
                  "there is no kind of speculative decoding named \"" + std::string(name) +
                      "\"; there are none, auto, ngram, draft-mtp and draft-simple");
    }
  }
  return kinds;
}

}  // namespace cairn
