#include "engine/llama/state/state_layout.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/bytes.h"
#include "base/check.h"

namespace cairn {
namespace {

constexpr size_t kWordBytes = sizeof(uint32_t);
// An entry has at least a position, the number of sequences and the sequence.
constexpr size_t kEntryBytesMin = 3 * kWordBytes;
constexpr size_t kEntryBytesMax = 16 * kWordBytes;
// The head of the data has at least whether V is transposed, and the number of layers.
constexpr size_t kHeadBytesMin = 2 * kWordBytes;
constexpr size_t kHeadBytesMax = 8 * kWordBytes;
constexpr uint32_t kStreamsMax = 1 << 16;
constexpr uint32_t kLayersMax = 1 << 16;
// So that the bytes of 2^32 cells can be counted.
constexpr uint64_t kTensorCellBytesMax = uint64_t{1} << 31;
constexpr uint32_t kCellsMax = std::numeric_limits<uint32_t>::max();

// `at`: inside `bytes`, with room for the word.
uint32_t WordAt(ByteSpan bytes, size_t at) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

bool TakeWord(ByteSpan bytes, size_t* at, uint32_t* word) {
  if (bytes.size() - *at < kWordBytes) return false;
  *word = WordAt(bytes, *at);
  *at += kWordBytes;
  return true;
}

bool TakeBytes(ByteSpan bytes, size_t* at, size_t size, ByteSpan* taken) {
  if (bytes.size() - *at < size) return false;
  *taken = bytes.subspan(*at, size);
  *at += size;
  return true;
}

template <size_t kSize>
bool TakeArray(ByteSpan bytes, size_t* at, std::array<uint8_t, kSize>* taken) {
  ByteSpan span;
  if (!TakeBytes(bytes, at, kSize, &span)) return false;
  std::copy(span.begin(), span.end(), taken->begin());
  return true;
}

// Finds the one stream that has cells. `after`: the number of streams behind it.
bool TakeStreams(ByteSpan state, size_t* at, uint32_t* cells, uint32_t* after) {
  uint32_t streams = 0;
  if (!TakeWord(state, at, &streams) || streams == 0 || streams > kStreamsMax) return false;
  for (*after = streams; *after > 0;) {
    --*after;
    if (!TakeWord(state, at, cells)) return false;
    if (*cells > 0) return true;
  }
  return false;
}

bool TakeEmptyStreams(ByteSpan state, size_t* at, uint32_t streams) {
  for (uint32_t i = 0; i < streams; ++i) {
    uint32_t cells = 0;
    if (!TakeWord(state, at, &cells) || cells != 0) return false;
  }
  return true;
}

uint32_t PositionOf(ByteSpan table, size_t entry_bytes, size_t cell) {
  return WordAt(table, cell * entry_bytes);
}

// Whether each cell belongs to one sequence. libllama refuses others.
bool HasOneSequenceEach(ByteSpan table, size_t entry_bytes) {
  for (size_t at = 0; at < table.size(); at += entry_bytes) {
    if (WordAt(table, at + kWordBytes) != 1) return false;
  }
  return true;
}

}  // namespace

Result<StateLayout> StateLayout::Learn(ByteSpan state, size_t tokens, size_t rest_bytes) {
  CHECK(tokens > 1);
  const auto refuse = [](const std::string& why) {
    return Fail(ErrorCode::kUnsupported, "libllama's state has an unknown layout: " + why);
  };
  if (state.size() < rest_bytes) return refuse("it is too short");
  Result<StateLayout> learned = refuse("its cells were not found");
  const ByteSpan kv = state.first(state.size() - rest_bytes);
  for (size_t entry = kEntryBytesMin; entry <= kEntryBytesMax; entry += kWordBytes) {
    for (size_t head = kHeadBytesMin; head <= kHeadBytesMax; head += kWordBytes) {
      StateLayout layout;
      layout.entry_bytes_ = entry;
      layout.head_.resize(head);
      if (!layout.LearnFrom(kv, tokens)) continue;
      if (learned) return refuse("it can be read in two ways");
      learned = std::move(layout);
    }
  }
  return learned;
}

bool StateLayout::LearnFrom(ByteSpan kv, size_t tokens) {
  size_t at = 0;
  uint32_t sequence = 0;
  uint32_t cells = 0;
  uint32_t after = 0;
  ByteSpan table;
  if (!TakeArray(kv, &at, &magic_) || !TakeWord(kv, &at, &sequence)) return false;
  if (!TakeStreams(kv, &at, &cells, &after) || cells != tokens) return false;
  if (!TakeBytes(kv, &at, cells * entry_bytes_, &table)) return false;
  if (!HasOneSequenceEach(table, entry_bytes_)) return false;
  for (size_t cell = 0; cell < cells; ++cell) {
    if (PositionOf(table, entry_bytes_, cell) != cell) return false;
  }
  ByteSpan head;
  if (!TakeBytes(kv, &at, head_.size(), &head)) return false;
  head_.assign(head.begin(), head.end());
  const bool transposed = WordAt(head, 0) == 1;
  const uint32_t layers = WordAt(head, kWordBytes);
  if (WordAt(head, 0) > 1 || layers > kLayersMax) return false;
  // Some layers have K but no V.
  while (tensors_.size() < layers || kv.size() - at > after * kWordBytes) {
    Tensor tensor;
    if (tensors_.size() == 2 * size_t{layers} || !TakeArray(kv, &at, &tensor.header)) return false;
    uint64_t row_bytes = 0;
    std::memcpy(&row_bytes, tensor.header.data() + kWordBytes, sizeof(row_bytes));
    tensor.rows = 1;
    if (transposed && tensors_.size() >= layers) {
      tensor.rows = WordAt(tensor.header, 2 * kWordBytes);
      row_bytes = WordAt(tensor.header, kWordBytes);
    }
    if (tensor.rows == 0 || row_bytes == 0) return false;
    if (row_bytes > kTensorCellBytesMax / tensor.rows) return false;
    tensor.bytes = row_bytes;
    ByteSpan rows;
    if (!TakeBytes(kv, &at, cells * tensor.rows * tensor.bytes, &rows)) return false;
    tensors_.push_back(tensor);
  }
  return TakeEmptyStreams(kv, &at, after) && at == kv.size();
}

Result<StateLayout::Kv> StateLayout::Find(ByteSpan state) const {
  size_t at = 0;
  std::array<uint8_t, 4> magic{};
  uint32_t sequence = 0;
  uint32_t cells = 0;
  uint32_t after = 0;
  Kv kv;
  const auto refuse = [] {
    return Fail(ErrorCode::kCorrupt, "the state does not have the layout of this model's");
  };
  if (!TakeArray(state, &at, &magic) || magic != magic_) return refuse();
  if (!TakeWord(state, &at, &sequence) || !TakeStreams(state, &at, &cells, &after)) {
    return refuse();
  }
  kv.cells = cells;
  if (!FindCells(state, &at, &kv) || !TakeEmptyStreams(state, &at, after)) return refuse();
  kv.end = at;
  return kv;
}

bool StateLayout::FindCells(ByteSpan state, size_t* at, Kv* kv) const {
  if (!TakeBytes(state, at, kv->cells * entry_bytes_, &kv->table)) return false;
  if (!HasOneSequenceEach(kv->table, entry_bytes_)) return false;
  ByteSpan head;
  if (!TakeBytes(state, at, head_.size(), &head)) return false;
  if (!std::equal(head.begin(), head.end(), head_.begin())) return false;
  for (const Tensor& tensor : tensors_) {
    std::array<uint8_t, 12> header{};
    if (!TakeArray(state, at, &header) || header != tensor.header) return false;
    ByteSpan rows;
    if (!TakeBytes(state, at, kv->cells * tensor.rows * tensor.bytes, &rows)) return false;
    kv->tensors.push_back(rows);
  }
  return true;
}

Result<std::vector<StateLayout::Run>> StateLayout::CellsOf(const Kv& kv, const Range& range) const {
  const auto refuse = [&](const std::string& why) {
    return Fail(ErrorCode::kCorrupt, "the state of positions [" + std::to_string(range.begin) +
                                         ", " + std::to_string(range.end) + ") " + why);
  };
  if (range.begin > range.end || range.cells > kv.cells) return refuse("has too few cells");
  struct Held {
    size_t position = 0;
    size_t cell = 0;
  };
  std::vector<Held> held;
  held.reserve(range.cells);
  for (size_t cell = 0; cell < kv.cells; ++cell) {
    const size_t position = PositionOf(kv.table, entry_bytes_, cell);
    if (position >= range.begin && position < range.end) held.push_back({position, cell});
  }
  if (held.size() != range.cells) return refuse("has too many cells, or too few");
  const auto is_before = [](const Held& a, const Held& b) { return a.position < b.position; };
  if (!std::is_sorted(held.begin(), held.end(), is_before)) {
    std::stable_sort(held.begin(), held.end(), is_before);
  }
  const bool shared = range.cells != range.end - range.begin;
  std::vector<Run> runs;
  for (size_t i = 0; i < held.size(); ++i) {
    if (!shared && held[i].position != range.begin + i) return refuse("lacks a position");
    const size_t cell = held[i].cell;
    if (runs.empty() || runs.back().cell + runs.back().cells != cell) runs.push_back({cell, 0});
    ++runs.back().cells;
  }
  return runs;
}

Result<StateSplice> StateSplice::Begin(const StateLayout* layout, const Plan& plan, Bytes* bytes) {
  CHECK(plan.stream < plan.streams && plan.cells > 0 && plan.cells < kCellsMax);
  StateSplice splice(layout, bytes, plan.cells);
  const size_t streams = plan.front + StateLayout::kFrontBytes;
  splice.table_ = streams + (2 + size_t{plan.stream}) * kWordBytes;
  const size_t head = splice.table_ + plan.cells * layout->entry_bytes_;
  size_t at = head + layout->head_.size();
  for (const StateLayout::Tensor& tensor : layout->tensors_) {
    at += tensor.header.size();
    splice.tensors_.push_back(at);
    at += plan.cells * tensor.rows * tensor.bytes;
  }
  const size_t rest = at + (plan.streams - plan.stream - 1) * kWordBytes;
  if (Status room = TryResize(bytes, rest + plan.rest.size()); !room) {
    return tl::unexpected(room.error());
  }
  uint8_t* const out = bytes->data();
  const auto put_word = [&](size_t to, size_t word) {
    const auto narrow = static_cast<uint32_t>(word);
    std::memcpy(out + to, &narrow, sizeof(narrow));
  };
  std::copy(layout->magic_.begin(), layout->magic_.end(), out + plan.front);
  put_word(streams - kWordBytes, plan.stream);
  put_word(streams, plan.streams);
  std::fill(out + streams + kWordBytes, out + splice.table_, 0);
  put_word(splice.table_ - kWordBytes, plan.cells);
  std::copy(layout->head_.begin(), layout->head_.end(), out + head);
  for (size_t i = 0; i < splice.tensors_.size(); ++i) {
    const auto& header = layout->tensors_[i].header;
    std::copy(header.begin(), header.end(), out + splice.tensors_[i] - header.size());
  }
  std::fill(out + at, out + rest, 0);
  std::copy(plan.rest.begin(), plan.rest.end(), out + rest);
  return splice;
}

Status StateSplice::Append(const StateLayout::Kv& kv, const StateLayout::Range& range) {
  CHECK(range.cells <= cells_ - appended_);
  const auto runs = layout_->CellsOf(kv, range);
  if (!runs) return tl::unexpected(runs.error());
  for (const StateLayout::Run& run : *runs) CopyRun(kv, run);
  return {};
}

void StateSplice::CopyRun(const StateLayout::Kv& kv, const StateLayout::Run& run) {
  const size_t entry_bytes = layout_->entry_bytes_;
  uint8_t* const entries = bytes_->data() + table_ + appended_ * entry_bytes;
  std::memcpy(entries, kv.table.data() + run.cell * entry_bytes, run.cells * entry_bytes);
  // libllama ignores the sequence that an entry names.
  for (size_t i = 1; i <= run.cells; ++i) {
    std::memset(entries + i * entry_bytes - kWordBytes, 0, kWordBytes);
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const StateLayout::Tensor& tensor = layout_->tensors_[i];
    for (size_t row = 0; row < tensor.rows; ++row) {
      std::memcpy(bytes_->data() + tensors_[i] + (row * cells_ + appended_) * tensor.bytes,
                  kv.tensors[i].data() + (row * kv.cells + run.cell) * tensor.bytes,
                  run.cells * tensor.bytes);
    }
  }
  appended_ += run.cells;
}

}  // namespace cairn
