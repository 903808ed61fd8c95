#include "cmd/codec_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "engine/state_rows.h"
#include "store/codec.h"

namespace cairn {
namespace {

constexpr SeqId kSeq = 0;
constexpr std::array<Codec, 5> kCodecs = {Codec::kRaw, Codec::kLossless, Codec::kFp16, Codec::kInt8,
                                          Codec::kRint16};

struct Object {
  std::string kind;
  Bytes bytes;
};

// The run that was not interrupted: what it decoded, and the logits after each token.
struct Reference {
  Tokens tokens;
  std::vector<std::vector<float>> logits;
};

Token Likeliest(std::span<const float> logits) {
  return static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Says how far all of it is.
class Progress {
 public:
  Progress(const CodecTrial& trial, size_t steps) : trial_(trial), steps_(steps) {}
  void Step() {
    ++done_;
    if (trial_.progress) trial_.progress(static_cast<float>(done_) / static_cast<float>(steps_));
  }

 private:
  const CodecTrial& trial_;
  const size_t steps_;
  size_t done_ = 0;
};

Status ReadPrompt(Engine* engine, TokenSpan prompt) {
  for (size_t begin = 0; begin < prompt.size();) {
    const size_t size = std::min(engine->piece_tokens_max(), prompt.size() - begin);
    if (Status read = engine->Decode(kSeq, begin, prompt.subspan(begin, size)); !read) return read;
    begin += size;
  }
  return {};
}

Result<std::vector<Object>> TakeObjects(Engine* engine, size_t position) {
  std::vector<Object> objects;
  const MemoryTraits& traits = engine->traits();
  const auto add = [&](const char* kind, Result<Bytes> taken) -> Status {
    if (!taken) return tl::unexpected(taken.error());
    objects.push_back({kind, std::move(*taken)});
    return {};
  };
  Status added;
  if (traits.NeedsSnapshots()) added = add("snapshot", engine->TakeSnapshot(kSeq));
  if (added && traits.segments) added = add("segment", engine->TakeSegment(kSeq, 0, position));
  if (added && !traits.segments && traits.kv_bytes_per_token > 0) {
    if (!traits.whole_states) {
      return Fail(ErrorCode::kUnsupported, "this model's memory cannot be taken out and set back");
    }
    added = add("whole", engine->TakeWhole(kSeq));
  }
  if (!added) return tl::unexpected(added.error());
  return objects;
}

const Object* Find(const std::vector<Object>& objects, const std::string& kind) {
  const auto found = std::find_if(objects.begin(), objects.end(),
                                  [&](const Object& object) { return object.kind == kind; });
  return found == objects.end() ? nullptr : &*found;
}

Status SetBack(Engine* engine, size_t position, const std::vector<Object>& objects) {
  engine->Clear(kSeq);
  if (const Object* whole = Find(objects, "whole")) {
    return engine->SetWhole(kSeq, position, whole->bytes);
  }
  const Object* snapshot = Find(objects, "snapshot");
  const ByteSpan state = snapshot == nullptr ? ByteSpan() : ByteSpan(snapshot->bytes);
  const Object* segment = Find(objects, "segment");
  if (segment == nullptr) return engine->Restore(kSeq, position, state);
  const std::array<SegmentPart, 1> parts = {SegmentPart{0, position, segment->bytes}};
  return engine->Join(kSeq, 0, parts, position, state);
}

Result<Reference> GoOn(Engine* engine, size_t position, size_t tokens, Progress* progress) {
  Reference reference;
  reference.tokens.push_back(Likeliest(engine->Logits()));
  while (reference.logits.size() < tokens) {
    const Status decoded = engine->Decode(kSeq, position + reference.logits.size(),
                                          TokenSpan(reference.tokens).last(1));
    if (!decoded) return tl::unexpected(decoded.error());
    const std::span<const float> logits = engine->Logits();
    reference.logits.emplace_back(logits.begin(), logits.end());
    reference.tokens.push_back(Likeliest(logits));
    progress->Step();
  }
  return reference;
}

Result<LogitDrift> Compare(Engine* engine, size_t position, const Reference& reference,
                           Progress* progress) {
  LogitDrift drift;
  for (size_t i = 0; i < reference.logits.size(); ++i) {
    const Status decoded =
        engine->Decode(kSeq, position + i, TokenSpan(reference.tokens).subspan(i, 1));
    if (!decoded) return tl::unexpected(decoded.error());
    AddDrift(reference.logits[i], engine->Logits(), &drift);
    progress->Step();
  }
  if (drift.tokens > 0) drift.kl_mean /= static_cast<double>(drift.tokens);
  return drift;
}

// The fewest milliseconds that `run` took, of a few runs.
template <typename Run>
double FewestMs(const Clock& clock, const Run& run) {
  constexpr int kRuns = 5;
  double fewest = 0;
  for (int i = 0; i < kRuns; ++i) {
    const double begin = clock.NowMs();
    run();
    const double ms = clock.NowMs() - begin;
    if (i == 0 || ms < fewest) fewest = ms;
  }
  return fewest;
}

double MibPerSecond(size_t bytes, double ms) {
  return static_cast<double>(bytes) / (1 << 20) / std::max(ms, 1e-6) * 1000;
}

// Encodes and decodes `object`, which is then what came back.
Result<CodedObject> Code(Codec codec, bool touch, const Clock& clock, Object* object) {
  const std::vector<FloatRows> rows =
      touch ? FindFloatRows(object->bytes) : std::vector<FloatRows>();
  Encoded encoded;
  const double encode_ms = FewestMs(clock, [&] { encoded = Encode(codec, object->bytes, rows); });
  const Bytes& stored = encoded.codec == Codec::kRaw ? object->bytes : encoded.bytes;
  Result<Bytes> decoded;
  const double decode_ms =
      FewestMs(clock, [&] { decoded = Decode(encoded.codec, stored, object->bytes.size()); });
  if (!decoded) return tl::unexpected(decoded.error());
  CodedObject figures = {object->kind, encoded.codec, object->bytes.size(), stored.size(), 0, 0};
  figures.encode_mib_s = MibPerSecond(figures.raw_bytes, encode_ms);
  figures.decode_mib_s = MibPerSecond(figures.raw_bytes, decode_ms);
  object->bytes = std::move(*decoded);
  return figures;
}

Result<CodecFigures> TryCodec(Engine* engine, Codec codec, const CodecTrialResult& trial,
                              std::vector<Object> objects, const Reference& reference,
                              const Clock& clock, Progress* progress) {
  CodecFigures figures;
  figures.codec = codec;
  for (Object& object : objects) {
    auto coded = Code(codec, trial.floats_proven, clock, &object);
    if (!coded) return tl::unexpected(coded.error());
    figures.objects.push_back(std::move(*coded));
  }
  if (Status set = SetBack(engine, trial.position, objects); !set) {
    return tl::unexpected(set.error());
  }
  auto drift = Compare(engine, trial.position, reference, progress);
  if (!drift) return tl::unexpected(drift.error());
  figures.drift = *drift;
  return figures;
}

double LogOfSum(std::span<const float> logits, double largest) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

}  // namespace

void AddDrift(std::span<const float> expected, std::span<const float> seen, LogitDrift* drift) {
  CHECK(expected.size() == seen.size() && !seen.empty());
  const Token wanted = Likeliest(expected);
  const double expected_log = LogOfSum(expected, expected[static_cast<size_t>(wanted)]);
  const double seen_log = LogOfSum(seen, *std::max_element(seen.begin(), seen.end()));
  double kl = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double delta = static_cast<double>(expected[i]) - seen[i];
    drift->delta_max = std::max(drift->delta_max, std::abs(delta));
    const double log_share = expected[i] - expected_log;
    kl += std::exp(log_share) * (log_share - (seen[i] - seen_log));
  }
  ++drift->tokens;
  drift->flips += Likeliest(seen) == wanted ? 0 : 1;
  kl = std::max(kl, 0.0);  // what is below is rounding
  drift->kl_mean += kl;
  drift->kl_max = std::max(drift->kl_max, kl);
}

Result<CodecTrialResult> TryCodecs(Engine* engine, const CodecTrial& trial, const Clock& clock) {
  CodecTrialResult result;
  const Status proven = ProveFloatRows(engine);
  result.floats_proven = proven.has_value();
  if (!proven) result.why_not = proven.error().message;
  auto prompt = engine->Tokenize(trial.prompt, true, false);
  if (!prompt) return tl::unexpected(prompt.error());
  const size_t grid = std::max(engine->traits().grid_tokens, size_t{1});
  result.position = std::min(prompt->size(), trial.prompt_tokens_max) / grid * grid;
  if (result.position == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "the prompt has fewer than " + std::to_string(grid) + " tokens");
  }
  const Status read = ReadPrompt(engine, TokenSpan(*prompt).first(result.position));
  if (!read) return tl::unexpected(read.error());
  const auto objects = TakeObjects(engine, result.position);
  if (!objects) return tl::unexpected(objects.error());
  Progress progress(trial, trial.tokens * (kCodecs.size() + 1));
  const auto reference = GoOn(engine, result.position, trial.tokens, &progress);
  if (!reference) return tl::unexpected(reference.error());
  for (const Codec codec : kCodecs) {
    auto figures = TryCodec(engine, codec, result, *objects, *reference, clock, &progress);
    if (!figures) return tl::unexpected(figures.error());
    result.codecs.push_back(std::move(*figures));
  }
  engine->Clear(kSeq);
  return result;
}

}  // namespace cairn
