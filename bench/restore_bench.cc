// restore: the time from the RAM tier to a sequence that is ready to decode, through LlamaEngine,
// compared with a memcpy of the same bytes in the same minute.
//
//   assemble  the sequence is empty; the KV is assembled from segments, and the snapshot is set
//   snapshot  the sequence still holds the KV; only the snapshot is set
//
// After each run the next logits are computed. They must equal those of the run that saved the
// state, bit for bit.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "benchmark.h"
#include "made_engine.h"
#include "store/snapshot_store.h"

namespace cairn::bench {
namespace {

constexpr SeqId kSeq = 0;
// Room for the tokens after the restored state that show whether it is right.
constexpr size_t kSpareTokens = 512;

struct Case {
  ModelShape shape;
  size_t tokens = 0;
  std::vector<size_t> segments;  // the numbers of segments to measure
};

ModelShape Shape(std::string_view architecture, uint32_t width, uint32_t layers, uint32_t ff,
                 uint32_t heads) {
  ModelShape shape;
  shape.architecture = architecture;
  shape.width = width;
  shape.layers = layers;
  shape.ff = ff;
  shape.heads = heads;
  return shape;
}

// The large models have states like those of a few tokens of much larger models: 31 KB per token of
// the first, 33 KB of the second, whose 48 states of 512 * 512 float32 take 50 MB more. So few
// tokens are prefilled.
std::vector<Case> Cases(const BenchSizes& sizes) {
  if (!sizes.large_models) {
    return {{Shape("llama", 64, 2, 64, 1), 256, {1, 2}}, {Shape("qwen35", 64, 4, 64, 1), 256, {2}}};
  }
  return {{Shape("llama", 320, 24, 32, 5), 2048, {1, 8}},
          {Shape("qwen35", 512, 64, 32, 1), 256, {2}}};
}

std::string BytesNote(size_t bytes, double ms, double copy_ms) {
  const double mb = static_cast<double>(bytes) / 1e6;
  std::array<char, 64> note{};
  std::snprintf(note.data(), note.size(), "%.1f MB, %.2f of memcpy's %.1f GB/s", mb, copy_ms / ms,
                mb / copy_ms);
  return note.data();
}

// A state that was prefilled once, held in a store and in a sequence.
class StoredState {
 public:
  StoredState(const Case& one_case, int threads) : case_(one_case), threads_(threads) {}

  Status Prepare();
  Result<std::vector<Row>> Measure(size_t runs);

 private:
  // The bytes of one resume path.
  struct Way {
    std::string what;
    std::vector<SegmentPart> parts;  // empty: the sequence keeps its KV
    ByteSpan snapshot;               // empty: the model needs none

    size_t bytes() const;
  };

  Result<ByteSpan> Keep(Bytes bytes);
  Result<Way> TakeSegments(size_t count);
  Status GoBack(const Way& way);
  // Decodes the token after the state, and returns the logits.
  Result<std::vector<float>> GoOn();
  double CopyMs(const Way& way);
  Result<Row> MeasureWay(const Way& way, size_t runs);

  const Case case_;
  const int threads_;
  const std::unique_ptr<SnapshotStore> store_ = MakeRamStore();
  SnapshotId last_id_ = 0;
  std::unique_ptr<LlamaEngine> engine_;
  Tokens tokens_;
  ByteSpan snapshot_;
  std::vector<Way> ways_;
  std::vector<float> logits_;
  Bytes copy_;
};

size_t StoredState::Way::bytes() const {
  size_t bytes = snapshot.size();
  for (const SegmentPart& part : parts) bytes += part.bytes.size();
  return bytes;
}

Status StoredState::Prepare() {
  auto engine = LoadMade(case_.shape, case_.tokens + kSpareTokens, threads_);
  if (!engine) return tl::unexpected(engine.error());
  engine_ = std::move(*engine);
  tokens_ = RandomTokens(case_.tokens + 1, 1);
  if (Status read = ReadTokens(engine_.get(), 0, TokenSpan(tokens_).first(case_.tokens)); !read) {
    return read;
  }
  if (engine_->traits().NeedsSnapshots()) {
    auto taken = engine_->TakeSnapshot(kSeq);
    if (!taken) return tl::unexpected(taken.error());
    const auto snapshot = Keep(std::move(*taken));
    if (!snapshot) return tl::unexpected(snapshot.error());
    snapshot_ = *snapshot;
    ways_.push_back({"snapshot", {}, snapshot_});
  }
  for (const size_t count : case_.segments) {
    auto way = TakeSegments(count);
    if (!way) return tl::unexpected(way.error());
    ways_.push_back(std::move(*way));
  }
  auto logits = GoOn();
  if (!logits) return tl::unexpected(logits.error());
  logits_ = std::move(*logits);
  copy_.assign(store_->bytes(), 0);
  return {};
}

Result<ByteSpan> StoredState::Keep(Bytes bytes) {
  const SnapshotId id = ++last_id_;
  if (Status put = store_->Put(id, std::move(bytes)); !put) return tl::unexpected(put.error());
  return store_->Get(id);
}

Result<StoredState::Way> StoredState::TakeSegments(size_t count) {
  Way way;
  way.what = "assemble " + std::to_string(count);
  way.snapshot = snapshot_;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = case_.tokens * i / count;
    const size_t end = case_.tokens * (i + 1) / count;
    auto taken = engine_->TakeSegment(kSeq, begin, end);
    if (!taken) return tl::unexpected(taken.error());
    const auto bytes = Keep(std::move(*taken));
    if (!bytes) return tl::unexpected(bytes.error());
    way.parts.push_back({begin, end, *bytes});
  }
  return way;
}

Result<std::vector<float>> StoredState::GoOn() {
  if (Status read = ReadTokens(engine_.get(), case_.tokens, TokenSpan(tokens_).last(1)); !read) {
    return tl::unexpected(read.error());
  }
  return std::vector<float>(engine_->Logits().begin(), engine_->Logits().end());
}

Status StoredState::GoBack(const Way& way) {
  if (way.parts.empty()) return engine_->Restore(kSeq, case_.tokens, way.snapshot);
  return engine_->Assemble(kSeq, 0, way.parts, case_.tokens, way.snapshot);
}

double StoredState::CopyMs(const Way& way) {
  return TimeMs([&] {
    uint8_t* to = copy_.data();
    for (const SegmentPart& part : way.parts) {
      to = std::copy(part.bytes.begin(), part.bytes.end(), to);
    }
    std::copy(way.snapshot.begin(), way.snapshot.end(), to);
  });
}

Result<Row> StoredState::MeasureWay(const Way& way, size_t runs) {
  Row row;
  row.what = case_.shape.architecture + ", " + way.what;
  std::vector<double> copy_ms;
  for (size_t run = 0; run < runs; ++run) {
    if (!way.parts.empty()) engine_->Clear(kSeq);
    copy_ms.push_back(CopyMs(way));
    Status back;
    row.ms.push_back(TimeMs([&] { back = GoBack(way); }));
    if (!back) return tl::unexpected(back.error());
    const auto logits = GoOn();
    if (!logits) return tl::unexpected(logits.error());
    if (*logits != logits_) {
      return Fail(ErrorCode::kInternal, row.what + ": other logits came back");
    }
  }
  row.note = BytesNote(way.bytes(), Median(row.ms), Median(copy_ms));
  return row;
}

Result<std::vector<Row>> StoredState::Measure(size_t runs) {
  std::vector<Row> rows;
  for (const Way& way : ways_) {
    auto row = MeasureWay(way, runs);
    if (!row) return tl::unexpected(row.error());
    rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace

Result<std::vector<Row>> BenchRestore(const BenchSizes& sizes) {
  std::vector<Row> rows;
  for (const Case& one_case : Cases(sizes)) {
    StoredState state(one_case, sizes.threads);
    if (Status prepared = state.Prepare(); !prepared) return tl::unexpected(prepared.error());
    auto measured = state.Measure(sizes.restore_runs);
    if (!measured) return measured;
    std::move(measured->begin(), measured->end(), std::back_inserter(rows));
  }
  return rows;
}

}  // namespace cairn::bench
