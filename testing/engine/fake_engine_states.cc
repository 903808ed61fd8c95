// The states of a FakeEngine: snapshots, segments and full states, and what truncates a sequence.

#include <algorithm>
#include <cstring>
#include <set>

#include "base/check.h"
#include "base/hash.h"
#include "testing/engine/fake_engine.h"

namespace cairn {

Result<Bytes> FakeEngine::TakeSnapshot(SeqId seq) {
  const Sequence& sequence = Of(seq);
  Bytes bytes;
  const auto append = [&bytes](const uint64_t* values, size_t count) {
    const size_t at = bytes.size();
    bytes.resize(at + count * sizeof(uint64_t));
    if (count > 0) std::memcpy(bytes.data() + at, values, count * sizeof(uint64_t));
  };
  if (has_recurrent()) {
    append(&sequence.recurrent, 1);
    bytes.resize(options_.recurrent_bytes, 0);
  }
  if (has_window()) {
    append(sequence.window.data() + sequence.window_begin, sequence.end - sequence.window_begin);
  }
  return bytes;
}

Status FakeEngine::Restore(SeqId seq, size_t position, std::span<const uint8_t> snapshot) {
  if (Refuses(seq)) return Fail(ErrorCode::kCorrupt, "the fake engine was told to refuse");
  Sequence& sequence = Of(seq);
  const size_t wanted_bytes =
      has_recurrent() ? options_.recurrent_bytes
                      : (position - WindowStart(position)) * sizeof(uint64_t) * has_window();
  if (snapshot.size() < wanted_bytes || (has_cells() && sequence.cells.size() < position)) {
    Clear(seq);
    return Fail(ErrorCode::kCorrupt, "the snapshot does not fit this sequence");
  }
  sequence.was_set = true;
  if (has_cells()) CutCells(&sequence, position);
  if (has_recurrent()) std::memcpy(&sequence.recurrent, snapshot.data(), sizeof(uint64_t));
  if (has_window()) {
    const size_t count = snapshot.size() / sizeof(uint64_t);
    sequence.window.assign(position, 0);
    sequence.window_begin = position - count;
    std::memcpy(sequence.window.data() + sequence.window_begin, snapshot.data(), snapshot.size());
  }
  sequence.end = position;
  return {};
}

bool FakeEngine::CanTruncate(SeqId seq, size_t position) const {
  CHECK(!asleep_);
  const auto found = sequences_.find(seq);
  const size_t end = found == sequences_.end() ? 0 : found->second.end;
  if (position == end || position == 0) return true;
  if (position > end || has_recurrent()) return false;
  const size_t window = std::min(options_.kept_window_tokens, position + 1);
  if (found->second.whole_begin > position + 1 - window) return false;
  return !has_window() || found->second.window_begin <= WindowStart(position);
}

Status FakeEngine::Truncate(SeqId seq, size_t position) {
  CHECK(CanTruncate(seq, position));
  if (position == 0) {
    Clear(seq);
    return {};
  }
  Sequence& sequence = Of(seq);
  if (has_cells()) CutCells(&sequence, position);
  if (has_window()) sequence.window.resize(position);
  sequence.end = position;
  return {};
}

Status FakeEngine::RollBack(SeqId seq, size_t position) {
  Sequence& sequence = Of(seq);
  CHECK(sequence.decode_begin < position && position <= sequence.end);
  CHECK(sequence.end - position <= traits_.rollback_tokens);
  if (has_recurrent() && position < sequence.end) {
    const size_t index = position - sequence.decode_begin;
    CHECK(index < sequence.recurrent_before.size());
    sequence.recurrent = sequence.recurrent_before[index];
  }
  if (has_cells()) CutCells(&sequence, position);
  if (has_window()) {
    sequence.window.resize(position);
    sequence.window_begin = std::max(sequence.decode_window_begin, WindowStart(position));
  }
  sequence.end = position;
  return {};
}

void FakeEngine::Clear(SeqId seq) {
  Of(seq) = Sequence();
}

Result<Bytes> FakeEngine::TakeSegment(SeqId seq, size_t begin, size_t end) {
  const Sequence& sequence = Of(seq);
  CHECK(traits_.segments && begin < end && end <= sequence.end);
  Bytes bytes(sizeof(uint64_t) * (end - begin + 1));
  const uint64_t first = begin;
  std::memcpy(bytes.data(), &first, sizeof(first));
  std::memcpy(bytes.data() + sizeof(first), sequence.added.data() + begin,
              bytes.size() - sizeof(first));
  return bytes;
}

Status FakeEngine::Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts,
                            size_t position, std::optional<ByteSpan> snapshot) {
  Sequence& sequence = Of(seq);
  CHECK(traits_.segments && keep <= sequence.cells.size());
  CutCells(&sequence, keep);
  sequence.was_set = true;
  if (!HasRoomFor(position - keep)) {
    Clear(seq);
    return Fail(ErrorCode::kNoSpace, "other sequences are too long");
  }
  for (const SegmentPart& part : parts) {
    CHECK(part.begin == sequence.cells.size());
    const Result<ByteSpan> bytes = part.Load();
    if (!bytes) {
      Clear(seq);
      return tl::unexpected(bytes.error());
    }
    std::vector<uint64_t> numbers(bytes->size() / sizeof(uint64_t));
    std::memcpy(numbers.data(), bytes->data(), numbers.size() * sizeof(uint64_t));
    const uint64_t first = numbers.front();
    CHECK(first <= part.begin && part.end - first < numbers.size());
    for (size_t at = part.begin; at < part.end; ++at) AddCell(&sequence, numbers[at - first + 1]);
  }
  CHECK(sequence.cells.size() == position);
  if (!snapshot) return {};
  if (traits_.NeedsSnapshots()) return Restore(seq, position, *snapshot);
  sequence.end = position;
  if (Refuses(seq)) return Fail(ErrorCode::kCorrupt, "the fake engine was told to refuse");
  return {};
}

bool FakeEngine::Refuses(SeqId seq) {
  if (refused_states_ == 0) return false;
  --refused_states_;
  Clear(seq);
  return true;
}

Status FakeEngine::Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) {
  const Sequence& source = Of(from);
  CHECK(traits_.segments && from != to && position <= source.end);
  Sequence& sequence = Of(to);
  sequence = Sequence();
  sequence.added = source.added;
  sequence.cells = source.cells;
  sequence.places = source.places;
  if (!options_.one_buffer) {
    for (uint64_t& place : sequence.places) place = ++last_place_;
  }
  CutCells(&sequence, position);
  if (traits_.NeedsSnapshots()) return Restore(to, position, snapshot);
  sequence.end = position;
  return {};
}

bool FakeEngine::IsShared(SeqId seq, size_t begin) const {
  const std::vector<uint64_t>& own = sequences_.at(seq).places;
  const std::set<uint64_t> places(own.begin() + static_cast<ptrdiff_t>(begin), own.end());
  return std::any_of(sequences_.begin(), sequences_.end(), [&](const auto& other) {
    const std::vector<uint64_t>& held = other.second.places;
    return other.first != seq && std::any_of(held.begin(), held.end(), [&](uint64_t place) {
             return places.contains(place);
           });
  });
}

Status FakeEngine::Drop(SeqId seq, size_t begin, size_t end) {
  Sequence& sequence = Of(seq);
  CHECK(traits_.shifts && begin < end && end <= sequence.end);
  CHECK(!IsShared(seq, end));
  const auto behind = static_cast<ptrdiff_t>(end);
  const std::vector<uint64_t> added(sequence.added.begin() + behind, sequence.added.end());
  const std::vector<uint64_t> places(sequence.places.begin() + behind, sequence.places.end());
  CutCells(&sequence, begin);
  for (size_t i = 0; i < added.size(); ++i) {
    const uint64_t moved = HashMix(added[i], end - begin) & ~kBoundaryBit;
    AddCell(&sequence, moved | (added[i] & kBoundaryBit));
    sequence.places.back() = places[i];
  }
  sequence.end = sequence.cells.size();
  sequence.whole_begin -= std::min(sequence.whole_begin, end - begin);
  return {};
}

// Layout: | recurrent state | inputs of each cell … | first position of the window | its values … |
Result<Bytes> FakeEngine::TakeFullState(SeqId seq) {
  const Sequence& sequence = Of(seq);
  CHECK(traits_.full_states && sequence.end > 0);
  std::vector<uint64_t> words = {sequence.recurrent};
  words.insert(words.end(), sequence.added.begin(), sequence.added.end());
  if (has_window()) {
    words.push_back(sequence.window_begin);
    words.insert(words.end(),
                 sequence.window.begin() + static_cast<ptrdiff_t>(sequence.window_begin),
                 sequence.window.end());
  }
  Bytes bytes(words.size() * sizeof(uint64_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

Status FakeEngine::SetFullState(SeqId seq, size_t position, ByteSpan whole) {
  Clear(seq);
  if (Refuses(seq)) return Fail(ErrorCode::kCorrupt, "the fake engine was told to refuse");
  std::vector<uint64_t> words(whole.size() / sizeof(uint64_t));
  std::memcpy(words.data(), whole.data(), words.size() * sizeof(uint64_t));
  const size_t cells = has_cells() ? position : 0;
  CHECK(words.size() > cells);
  if (!HasRoomFor(position)) return Fail(ErrorCode::kNoSpace, "other sequences are too long");
  Sequence& sequence = Of(seq);
  sequence.was_set = true;
  sequence.recurrent = words[0];
  for (size_t i = 0; i < cells; ++i) AddCell(&sequence, words[1 + i]);
  if (has_window()) {
    sequence.window_begin = words.at(1 + cells);
    sequence.window.assign(position, 0);
    CHECK(words.size() == 2 + cells + position - sequence.window_begin);
    std::copy(words.begin() + static_cast<ptrdiff_t>(2 + cells), words.end(),
              sequence.window.begin() + static_cast<ptrdiff_t>(sequence.window_begin));
  }
  sequence.end = position;
  const size_t window = options_.kept_window_tokens;
  if (window > 0 && position > window) sequence.whole_begin = position - window;
  return {};
}

}  // namespace cairn
