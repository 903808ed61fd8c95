// What libllama 0.7 writes, all numbers little-endian:
//
//   8 bytes | memory, one or more
//
//   memory of attention, or of a window:
//     u32 streams | each: u32 cells | unless 0:
//       each cell:  i32 position, u32 n, with M-RoPE 12 bytes, n times i32 sequence
//       u32 is V transposed | u32 layers | 8 bytes, all zero
//       each layer: i32 type | u64 bytes of a row | K of all cells
//       each layer that has V: the same of V
//
//   recurrent memory, always the last:
//     u32 cells | each cell: i32 position, u32 n, n times i32 sequence
//     u32 is S transposed | u32 layers
//     each layer that has R: i32 type | u64 bytes of a row | R of all cells;  then the same of S
//
// Nothing says which memory comes, whether cells are of M-RoPE, or which layers have V, R and S. So
// all ways are tried, and one that ends at the last byte is taken. Where V is transposed it has
// another layout, which is not read.

#include "engine/state_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace cairn {
namespace {

// Ours, and libllama's, at the front of everything that LlamaEngine gives out.
constexpr size_t kFrontBytes = 24 + 8;
constexpr size_t kMemoriesMax = 4;
constexpr uint32_t kStreamsMax = 1024;
constexpr uint32_t kLayersMax = 4096;
constexpr uint32_t kSequencesMax = 4096;
constexpr uint32_t kTypesMax = 256;
// Two more coordinates, and the token.
constexpr size_t kRotaryBytes = 12;

// Floats are named by libllama's numbers for them.
constexpr uint32_t kTypeF32 = 0;
constexpr uint32_t kTypeF16 = 1;

// Reads on from `at`; once anything was amiss it stays so, and gives zeros.
class Reader {
 public:
  Reader(ByteSpan bytes, size_t at) : bytes_(bytes), at_(at) {}

  bool good() const { return good_; }
  bool AtEnd() const { return at_ == bytes_.size(); }
  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }
  void Refuse() { good_ = false; }

  void Skip(size_t size) {
    if (!good_ || size > left()) return Refuse();
    at_ += size;
  }
  template <typename Int>
  Int Take() {
    Int value = 0;
    const size_t from = at_;
    Skip(sizeof(value));
    if (good_) std::memcpy(&value, bytes_.data() + from, sizeof(value));
    return value;
  }
  // A number from 0 to `most`.
  uint32_t TakeUpTo(uint32_t most) {
    const auto value = Take<uint32_t>();
    if (value > most) Refuse();
    return good_ ? value : 0;
  }

 private:
  ByteSpan bytes_;
  size_t at_;
  bool good_ = true;
};

struct Place {
  Reader reader;
  std::vector<FloatRows> rows;
};

// The rows of one tensor: false where none begin here.
bool ReadTensor(uint32_t cells, Place* place) {
  Reader reader = place->reader;
  const uint32_t type = reader.TakeUpTo(kTypesMax);
  const auto row_bytes = reader.Take<uint64_t>();
  if (!reader.good()) return false;
  if (cells > 0 && row_bytes > reader.left() / cells) return false;
  const size_t offset = reader.at();
  const size_t bytes = cells * row_bytes;
  reader.Skip(bytes);
  if (type == kTypeF32 || type == kTypeF16) {
    const FloatType float_type = type == kTypeF32 ? FloatType::kF32 : FloatType::kF16;
    if (row_bytes % FloatBytes(float_type) != 0) return false;
    if (bytes > 0) place->rows.push_back({offset, bytes, row_bytes, float_type});
  }
  place->reader = reader;
  return true;
}

void ReadCells(uint32_t cells, size_t rotary_bytes, Reader* reader) {
  for (uint32_t cell = 0; cell < cells && reader->good(); ++cell) {
    reader->Skip(sizeof(int32_t));
    const uint32_t sequences = reader->TakeUpTo(kSequencesMax);
    reader->Skip(rotary_bytes + sequences * sizeof(int32_t));
  }
}

// Where the memory may end: after the K of all layers, and after every V.
std::vector<Place> ReadStream(size_t rotary_bytes, Place place) {
  const auto cells = place.reader.Take<uint32_t>();
  if (!place.reader.good()) return {};
  if (cells == 0) return {place};
  ReadCells(cells, rotary_bytes, &place.reader);
  const uint32_t transposed = place.reader.TakeUpTo(0);
  const uint32_t layers = place.reader.TakeUpTo(kLayersMax);
  // What they are is not known: with anything in them, neither is what follows.
  if (place.reader.Take<uint64_t>() != 0) return {};
  if (!place.reader.good() || transposed != 0) return {};
  for (uint32_t layer = 0; layer < layers; ++layer) {
    if (!ReadTensor(cells, &place)) return {};
  }
  std::vector<Place> ends = {place};
  for (uint32_t layer = 0; layer < layers && ReadTensor(cells, &place); ++layer) {
    ends.push_back(place);
  }
  // Most have all of them.
  std::reverse(ends.begin(), ends.end());
  return ends;
}

std::optional<Place> ReadRecurrent(Place place) {
  const uint32_t cells = place.reader.TakeUpTo(kStreamsMax);
  ReadCells(cells, 0, &place.reader);
  place.reader.TakeUpTo(0);
  const uint32_t layers = place.reader.TakeUpTo(kLayersMax);
  if (!place.reader.good()) return std::nullopt;
  for (uint32_t tensor = 0; tensor < 2 * layers && !place.reader.AtEnd(); ++tensor) {
    if (!ReadTensor(cells, &place)) return std::nullopt;
  }
  if (!place.reader.AtEnd()) return std::nullopt;
  return place;
}

std::optional<Place> ReadMemories(const Place& place, size_t memories);

// Streams follow one another without anything between them.
std::optional<Place> ReadStreams(const Place& place, uint32_t streams, size_t rotary_bytes,
                                 size_t memories) {
  if (streams == 0) return ReadMemories(place, memories);
  for (const Place& end : ReadStream(rotary_bytes, place)) {
    if (auto all = ReadStreams(end, streams - 1, rotary_bytes, memories)) return all;
  }
  return std::nullopt;
}

// All the rest, as up to so many memories.
std::optional<Place> ReadMemories(const Place& place, size_t memories) {
  if (place.reader.AtEnd()) return place;
  if (memories == 0) return std::nullopt;
  for (const size_t rotary_bytes : {size_t{0}, kRotaryBytes}) {
    Place inner = place;
    const uint32_t streams = inner.reader.TakeUpTo(kStreamsMax);
    if (!inner.reader.good() || streams == 0) break;
    if (auto all = ReadStreams(inner, streams, rotary_bytes, memories - 1)) return all;
  }
  return ReadRecurrent(place);
}

// Turns over the last bit of every float: as small a change as there is, and one that no float's
// meaning forbids.
void ChangeFloats(const std::vector<FloatRows>& rows, Bytes* state) {
  for (const FloatRows& each : rows) {
    for (size_t at = 0; at < each.bytes; at += FloatBytes(each.type)) {
      (*state)[each.offset + at] ^= 1U;
    }
  }
}

Status Refused(const char* what) {
  return Fail(ErrorCode::kUnsupported, std::string("rows of floats were not found: ") + what);
}

Status ProveOnWhole(Engine* engine, SeqId seq, size_t position) {
  auto whole = engine->TakeWhole(seq);
  if (!whole) return tl::unexpected(whole.error());
  const std::vector<FloatRows> rows = FindFloatRows(*whole);
  if (rows.empty()) return Refused("a whole state is not laid out as known");
  ChangeFloats(rows, &*whole);
  if (Status set = engine->SetWhole(seq, position, *whole); !set) return set;
  const auto again = engine->TakeWhole(seq);
  if (!again || *again != *whole) return Refused("a changed whole state did not come back");
  return {};
}

Status ProveOnParts(Engine* engine, SeqId seq, size_t position) {
  Bytes snapshot;
  Bytes segment;
  const MemoryTraits& traits = engine->traits();
  if (traits.NeedsSnapshots()) {
    auto taken = engine->TakeSnapshot(seq);
    if (!taken) return tl::unexpected(taken.error());
    snapshot = std::move(*taken);
    const std::vector<FloatRows> rows = FindFloatRows(snapshot);
    if (rows.empty()) return Refused("a snapshot is not laid out as known");
    ChangeFloats(rows, &snapshot);
  }
  if (!traits.segments) {
    if (Status set = engine->Restore(seq, position, snapshot); !set) return set;
  } else {
    auto taken = engine->TakeSegment(seq, 0, position);
    if (!taken) return tl::unexpected(taken.error());
    segment = std::move(*taken);
    const std::vector<FloatRows> rows = FindFloatRows(segment);
    if (rows.empty()) return Refused("a segment is not laid out as known");
    ChangeFloats(rows, &segment);
    const std::array<SegmentPart, 1> parts = {SegmentPart{0, position, segment}};
    if (Status set = engine->Join(seq, 0, parts, position, snapshot); !set) return set;
    const auto again = engine->TakeSegment(seq, 0, position);
    if (!again || *again != segment) return Refused("a changed segment did not come back");
  }
  if (snapshot.empty()) return {};
  const auto again = engine->TakeSnapshot(seq);
  if (!again || *again != snapshot) return Refused("a changed snapshot did not come back");
  return {};
}

}  // namespace

std::vector<FloatRows> FindFloatRows(ByteSpan state) {
  if (state.size() <= kFrontBytes) return {};
  auto found = ReadMemories({Reader(state, kFrontBytes), {}}, kMemoriesMax);
  return found ? std::move(found->rows) : std::vector<FloatRows>();
}

Status ProveFloatRows(Engine* engine) {
  constexpr SeqId kSeq = 0;
  constexpr size_t kPosition = 24;
  const MemoryTraits& traits = engine->traits();
  Status proved = engine->Decode(kSeq, 0, Tokens(kPosition, 0));
  if (proved && (traits.NeedsSnapshots() || traits.segments)) {
    proved = ProveOnParts(engine, kSeq, kPosition);
  }
  if (proved && traits.whole_states) proved = ProveOnWhole(engine, kSeq, kPosition);
  engine->Clear(kSeq);
  return proved;
}

}  // namespace cairn
