// Text: a string of a template's program, whose bytes know where they came from.
//
// A text is a list of runs. The bytes of a run came from one source: the template itself, or a
// field that the caller numbered when it made the input. Concatenation, slices and every other
// operation that keeps characters keep their origins; characters that an operation made have none,
// and characters that it changed (case, escapes) keep a place with `changed` set. An empty text of
// the caller keeps its origin too, as a run without bytes, so that a rendering tells where an empty
// message stands.
//
// Immutable and counted by references. All texts of a rendering belong to its Heap (value/heap.h),
// which counts their bytes. One thread.

#ifndef CAIRN_JINJA_VALUE_TEXT_H_
#define CAIRN_JINJA_VALUE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::jinja {

class Heap;

// Sources of text. The caller's own are positive.
inline constexpr int32_t kNoSource = -1;       // made by an operation
inline constexpr int32_t kTemplateSource = 0;  // written in the template

// Bytes [begin, begin of the next run) of a text. Runs of the caller's sources may be empty; they
// come before the bytes at their place.
struct Run {
  uint32_t begin = 0;
  // Offset in the source of the byte at `begin`; those behind it follow one by one.
  uint32_t offset = 0;
  int32_t source = kNoSource;
  // They are other bytes than the source has there: of the other case, or escapes, which may have
  // another size.
  bool changed = false;

  bool operator==(const Run&) const = default;
};

struct TextData {
  uint32_t references = 0;
  Heap* heap = nullptr;
  std::string bytes;
  std::vector<Run> runs;  // empty: all bytes are of `only`
  Run only;
  // Number of characters, counted when first asked for.
  mutable uint32_t characters = UINT32_MAX;
  // The last place that was looked up: character and byte.
  mutable uint32_t near_character = 0;
  mutable uint32_t near_byte = 0;
  bool safe = false;  // markup, which is not escaped again
};

class Text {
 public:
  Text() = default;  // empty, of no heap
  explicit Text(TextData* data) : data_(data) { ++data_->references; }
  Text(const Text& other) : data_(other.data_) {
    if (data_ != nullptr) ++data_->references;
  }
  Text(Text&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Text& operator=(Text other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Text() {
    if (data_ != nullptr && --data_->references == 0) Free(data_);
  }

  std::string_view bytes() const {
    return data_ == nullptr ? std::string_view() : std::string_view(data_->bytes);
  }
  size_t size() const { return data_ == nullptr ? 0 : data_->bytes.size(); }
  bool empty() const { return size() == 0; }
  bool safe() const { return data_ != nullptr && data_->safe; }
  // Number of characters; a byte that belongs to none counts as one.
  size_t length() const;
  bool ascii() const { return length() == size(); }
  // Offset of the byte with which a character begins; size() for those behind the last.
  size_t ByteOf(size_t character) const;
  // Number of characters in front of a byte.
  size_t CharacterOf(size_t byte) const;
  const TextData* data() const { return data_; }
  // The runs that overlap bytes [begin, end), cut to it, with `begin` counted from `begin`. Empty
  // ones are left out.
  template <typename Visit>
  void VisitRuns(size_t begin, size_t end, const Visit& visit) const;

 private:
  friend class Value;

  static void Free(TextData* data);

  TextData* data_ = nullptr;
};

// A character and the number of its bytes. A byte that belongs to none is U+DC00 and itself.
struct Character {
  uint32_t code = 0;
  uint32_t bytes = 1;
};
Character CharacterAt(std::string_view text, size_t at);
// Returns where the character that ends at `end` begins.
size_t CharacterBefore(std::string_view text, size_t end);
// Appends a character; halves of surrogate pairs, which have no UTF-8, become U+FFFD.
void AppendCharacter(uint32_t code, std::string* text);

// Puts a text together.
class TextBuilder {
 public:
  explicit TextBuilder(Heap* heap) : heap_(heap) {}
  // Goes on behind `text`, whose contents it takes; nothing else may refer to it.
  TextBuilder(Heap* heap, TextData* text);

  void Append(const Text& text) { Append(text, 0, text.size()); }
  void Append(const Text& text, size_t begin, size_t end);
  // Bytes that an operation made.
  void AppendMade(std::string_view bytes) { AppendRun(bytes, kNoSource, 0, false); }
  // Bytes that stand for those of `text` from `at` on.
  void AppendChanged(std::string_view bytes, const Text& text, size_t at);
  void AppendRun(std::string_view bytes, int32_t source, size_t offset, bool changed);
  // Tells that an empty text of the caller stands here; nothing for other sources.
  void AppendEmpty(int32_t source, size_t offset);

  // Counts a step of the rendering.
  void Step();
  size_t size() const { return bytes_.size(); }
  std::string_view bytes() const { return bytes_; }
  void set_safe(bool safe) { safe_ = safe; }
  Text Build();
  // Returns all that was put together, for a caller who keeps it beyond the heap.
  std::pair<std::string, std::vector<Run>> Take() { return {std::move(bytes_), std::move(runs_)}; }

 private:
  Heap* const heap_;
  std::string bytes_;
  std::vector<Run> runs_;
  bool safe_ = false;
};

// Bytes [begin, end) of a text.
Text Part(const Text& text, size_t begin, size_t end);

template <typename Visit>
void Text::VisitRuns(size_t begin, size_t end, const Visit& visit) const {
  if (data_ == nullptr || begin >= end) return;
  const auto cut = [&](const Run& run, size_t run_end) {
    const size_t from = run.begin < begin ? begin : run.begin;
    const size_t to = run_end < end ? run_end : end;
    if (from >= to) return;
    const size_t moved = run.source == kNoSource ? 0 : from - run.begin;
    visit(from, to, Run{0, static_cast<uint32_t>(run.offset + moved), run.source, run.changed});
  };
  if (data_->runs.empty()) {
    cut(data_->only, data_->bytes.size());
    return;
  }
  const auto& runs = data_->runs;
  size_t low = 0;
  size_t high = runs.size();
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    (runs[middle].begin <= begin ? low : high) = middle;
  }
  for (size_t i = low; i < runs.size() && runs[i].begin < end; ++i) {
    cut(runs[i], i + 1 < runs.size() ? runs[i + 1].begin : data_->bytes.size());
  }
}

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_VALUE_TEXT_H_
