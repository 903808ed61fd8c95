// Checks that attention KV can be moved in ranges.
//
// Save: seq_cp shares the cells of a range with a scratch sequence, whose full state is its
// attention KV, the *front*, then the state that cannot be rolled back. Only the front is kept.
//
// Load: the front, followed by the state of an empty sequence, is set into the scratch sequence;
// seq_cp shares all or a part of its cells with the assembled sequence. At the end the assembled
// sequence gets the snapshot of its last position.
// last that one is given the snapshot of where it ends.

#include <algorithm>
#include <cstdio>

#include "conformance/checks.h"
#include "conformance/model_bench.h"

namespace cairn::conformance {
namespace {

constexpr llama_seq_id kSegmentSeq = 0;
constexpr llama_seq_id kScratch = 1;
constexpr llama_pos kAssembledEnd = 3 * kChunkTokens;  // end of the assembled sequence
constexpr llama_pos kSeam = 100;                       // inside a chunk
constexpr llama_pos kSegmentPromptTokens = 240;

struct Segment {
  llama_pos begin;
  llama_pos end;
  Blob front;
};

class SegmentPlayer {
 public:
  explicit SegmentPlayer(ModelBench* bench)
      : bench_(bench),
        empty_(bench->GetState(kScratch, kPartial)),
        prompt_(bench->RandomPrompt(kSegmentPromptTokens)),
        other_(bench->RandomPrompt(kSegmentPromptTokens)) {
    bench_->Read(prompt_, 0, kAssembledEnd);
  }

  // Returns false for a purely recurrent memory.
  bool has_front() const {
    return bench_->StateSize(kSegmentSeq, kWhole) > bench_->StateSize(kSegmentSeq, kPartial);
  }

  // Records the logits of the uninterrupted run, and its snapshot and segments.
  void Record() {
    snapshot_ = bench_->GetState(kSegmentSeq, kPartial);
    for (llama_pos begin = 0; begin < kAssembledEnd; begin += kChunkTokens) {
      pieces_.push_back(Take(begin, begin + kChunkTokens));
    }
    early_ = Take(0, 2 * kChunkTokens);
    late_ = Take(kSeam, kAssembledEnd);
    wanted_ = bench_->Read(prompt_, kAssembledEnd, kSegmentPromptTokens);
  }

  std::optional<double> WholeSegments() {
    Forget();
    for (const Segment& segment : pieces_) Set(segment, segment.begin, segment.end);
    return GoOn();
  }

  // The assembled sequence needs only a part of a stored segment, and the next one begins off the
  // grid. The part may omit the end of a segment, but not its beginning: later tokens would take
  // the freed cells, and so come before others that they follow.
  std::optional<double> PartOfASegment() {
    Forget();
    Set(early_, 0, kSeam);
    Set(late_, kSeam, kAssembledEnd);
    return GoOn();
  }

  // The sequence keeps its first chunk, by way of the scratch sequence, because memories that hold
  // one state only cannot be truncated. Another prompt's chunks followed it before.
  std::optional<double> SegmentsOnAKeptFront() {
    Forget();
    bench_->Read(prompt_, 0, kChunkTokens);
    bench_->Read(other_, kChunkTokens, kSegmentPromptTokens);
    bench_->CopyRange(kSegmentSeq, kScratch, 0, kChunkTokens);
    bench_->Clear(kSegmentSeq);
    bench_->CopyRange(kScratch, kSegmentSeq, -1, -1);
    bench_->Clear(kScratch);
    for (const Segment& segment : pieces_) {
      if (segment.begin > 0) Set(segment, segment.begin, segment.end);
    }
    return GoOn();
  }

 private:
  Segment Take(llama_pos begin, llama_pos end) {
    bench_->CopyRange(kSegmentSeq, kScratch, begin, end);
    Segment segment = {begin, end, bench_->GetState(kScratch, kWhole)};
    const size_t behind = bench_->StateSize(kScratch, kPartial) - kStateHeaderBytes;
    segment.front.resize(segment.front.size() - std::min(segment.front.size(), behind));
    bench_->Clear(kScratch);
    return segment;
  }

  // Clears the memory, so that the restored run finds nothing of the old one.
  void Forget() { llama_memory_clear(bench_->memory(), true); }

  void Set(const Segment& segment, llama_pos begin, llama_pos end) {
    Blob state = segment.front;
    const size_t header = std::min(kStateHeaderBytes, empty_.size());
    state.insert(state.end(), empty_.begin() + static_cast<std::ptrdiff_t>(header), empty_.end());
    bench_->SetState(kScratch, state, kWhole);
    bench_->CopyRange(kScratch, kSegmentSeq, begin, end);
    bench_->Clear(kScratch);
  }

  std::optional<double> GoOn() {
    if (snapshot_.size() > kStateHeaderBytes) bench_->SetState(kSegmentSeq, snapshot_, kPartial);
    return Difference(wanted_, bench_->Read(prompt_, kAssembledEnd, kSegmentPromptTokens));
  }

  ModelBench* const bench_;
  const Blob empty_;  // the state of an empty sequence
  const PromptTokens prompt_;
  const PromptTokens other_;
  Blob snapshot_;
  std::vector<Segment> pieces_;
  Segment early_;
  Segment late_;
  LogitRows wanted_;
};

struct SegmentWay {
  const char* name;
  std::optional<double> (SegmentPlayer::*play)();
};
constexpr std::array<SegmentWay, 3> kSegmentWays = {
    {{"whole", &SegmentPlayer::WholeSegments},
     {"part", &SegmentPlayer::PartOfASegment},
     {"kept front", &SegmentPlayer::SegmentsOnAKeptFront}}};

}  // namespace

std::string CheckSegments(const std::string& model_path) {
  const auto bench = ModelBench::Load(model_path, 2);
  if (!bench) return "refused: " + bench.error().message;
  if (!(*bench)->has_memory()) return "-";
  SegmentPlayer player(bench->get());
  if (!player.has_front()) return "none";
  player.Record();
  for (const SegmentWay& way : kSegmentWays) {
    const std::optional<double> difference = (player.*way.play)();
    if (!(*bench)->refused().empty()) return "refused: " + (*bench)->refused();
    std::fprintf(stderr, "%s: off by %g\n", way.name, difference.value_or(0));
    if (difference) return "differs by " + DifferenceText(*difference) + " (" + way.name + ")";
  }
  return "exact";
}

}  // namespace cairn::conformance
