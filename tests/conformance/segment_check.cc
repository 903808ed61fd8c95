// Whether attention KV travels in ranges.
//
// Out: seq_cp shares the cells of a range with a scratch sequence. The whole state of that one is
// its attention KV, the *front*, and after it the state that cannot be rolled back. The front alone
// is kept.
//
// In: the front, and behind it the state of a sequence that holds nothing, is set into the scratch
// sequence; seq_cp shares the cells, or a part of them, with the sequence that is put together. At
// last that one is given the snapshot of where it ends.

#include <algorithm>
#include <cstdio>

#include "conformance/checks.h"
#include "conformance/model_bench.h"

namespace cairn::conformance {
namespace {

constexpr llama_seq_id kSeq = 0;
constexpr llama_seq_id kScratch = 1;
constexpr llama_pos kEnd = 3 * kChunkTokens;  // of what is put together
constexpr llama_pos kSeam = 100;              // inside a piece
constexpr llama_pos kPromptTokens = 240;

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
        prompt_(bench->RandomPrompt(kPromptTokens)),
        other_(bench->RandomPrompt(kPromptTokens)) {
    bench_->Read(prompt_, 0, kEnd);
  }

  // A purely recurrent memory has nothing in front.
  bool has_front() const {
    return bench_->StateSize(kSeq, kWhole) > bench_->StateSize(kSeq, kPartial);
  }

  // What the uninterrupted run says, and all that it leaves behind.
  void Record() {
    snapshot_ = bench_->GetState(kSeq, kPartial);
    for (llama_pos begin = 0; begin < kEnd; begin += kChunkTokens) {
      pieces_.push_back(Take(begin, begin + kChunkTokens));
    }
    early_ = Take(0, 2 * kChunkTokens);
    late_ = Take(kSeam, kEnd);
    wanted_ = bench_->Read(prompt_, kEnd, kPromptTokens);
  }

  std::optional<double> WholeSegments() {
    Forget();
    for (const Segment& segment : pieces_) Set(segment, segment.begin, segment.end);
    return GoOn();
  }

  // A stored segment is more than what is wanted of it, and the next begins off the grid. A part
  // may leave out what stands last in a segment, not what stands first: later tokens would be put
  // into the cells that it frees, and so before others that they come after.
  std::optional<double> PartOfASegment() {
    Forget();
    Set(early_, 0, kSeam);
    Set(late_, kSeam, kEnd);
    return GoOn();
  }

  // The sequence keeps its first piece, by way of the scratch sequence, as memories that hold one
  // state only cannot be cut. What followed was another prompt's.
  std::optional<double> SegmentsOnAKeptFront() {
    Forget();
    bench_->Read(prompt_, 0, kChunkTokens);
    bench_->Read(other_, kChunkTokens, kPromptTokens);
    bench_->CopyRange(kSeq, kScratch, 0, kChunkTokens);
    bench_->Clear(kSeq);
    bench_->CopyRange(kScratch, kSeq, -1, -1);
    bench_->Clear(kScratch);
    for (const Segment& segment : pieces_) {
      if (segment.begin > 0) Set(segment, segment.begin, segment.end);
    }
    return GoOn();
  }

 private:
  Segment Take(llama_pos begin, llama_pos end) {
    bench_->CopyRange(kSeq, kScratch, begin, end);
    Segment segment = {begin, end, bench_->GetState(kScratch, kWhole)};
    const size_t behind = bench_->StateSize(kScratch, kPartial) - kStateHeaderBytes;
    segment.front.resize(segment.front.size() - std::min(segment.front.size(), behind));
    bench_->Clear(kScratch);
    return segment;
  }

  // Nothing of it may be left for the restored run to find.
  void Forget() { llama_memory_clear(bench_->memory(), true); }

  void Set(const Segment& segment, llama_pos begin, llama_pos end) {
    Blob state = segment.front;
    const size_t header = std::min(kStateHeaderBytes, empty_.size());
    state.insert(state.end(), empty_.begin() + static_cast<std::ptrdiff_t>(header), empty_.end());
    bench_->SetState(kScratch, state, kWhole);
    bench_->CopyRange(kScratch, kSeq, begin, end);
    bench_->Clear(kScratch);
  }

  std::optional<double> GoOn() {
    if (snapshot_.size() > kStateHeaderBytes) bench_->SetState(kSeq, snapshot_, kPartial);
    return Difference(wanted_, bench_->Read(prompt_, kEnd, kPromptTokens));
  }

  ModelBench* const bench_;
  const Blob empty_;  // the state of a sequence that holds nothing
  const PromptTokens prompt_;
  const PromptTokens other_;
  Blob snapshot_;
  std::vector<Segment> pieces_;
  Segment early_;
  Segment late_;
  LogitRows wanted_;
};

struct Way {
  const char* name;
  std::optional<double> (SegmentPlayer::*play)();
};
constexpr std::array<Way, 3> kWays = {{{"whole", &SegmentPlayer::WholeSegments},
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
  for (const Way& way : kWays) {
    const std::optional<double> difference = (player.*way.play)();
    if (!(*bench)->refused().empty()) return "refused: " + (*bench)->refused();
    std::fprintf(stderr, "%s: off by %g\n", way.name, difference.value_or(0));
    if (difference) return "differs by " + DifferenceText(*difference) + " (" + way.name + ")";
  }
  return "exact";
}

}  // namespace cairn::conformance
