#include "jinja/value/text.h"

#include <algorithm>
#include <tuple>

#include "base/utf8.h"
#include "jinja/value/heap.h"

namespace cairn::jinja {
namespace {

bool Continues(std::string_view text, size_t at) {
  return at < text.size() && IsContinuationByte(text[at]);
}

uint32_t Low6(char c) {
  return static_cast<unsigned char>(c) & 0x3FU;
}

constexpr uint32_t kNoCharacter = 0xDC00;

}  // namespace

Character CharacterAt(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1};
  if (first >= 0xC2 && first < 0xE0 && Continues(text, at + 1)) {
    return {((first & 0x1FU) << 6U) | Low6(text[at + 1]), 2};
  }
  if (first >= 0xE0 && first < 0xF0 && Continues(text, at + 1) && Continues(text, at + 2)) {
    const uint32_t code =
        ((first & 0x0FU) << 12U) | (Low6(text[at + 1]) << 6U) | Low6(text[at + 2]);
    if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) return {code, 3};
  }
  if (first >= 0xF0 && first < 0xF5 && Continues(text, at + 1) && Continues(text, at + 2) &&
      Continues(text, at + 3)) {
    const uint32_t code = ((first & 0x07U) << 18U) | (Low6(text[at + 1]) << 12U) |
                          (Low6(text[at + 2]) << 6U) | Low6(text[at + 3]);
    if (code >= 0x10000 && code <= 0x10FFFF) return {code, 4};
  }
  return {kNoCharacter + first, 1};
}

size_t CharacterBefore(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at + CharacterAt(text, at).bytes == end ? at : end - 1;
}

void AppendCharacter(uint32_t code, std::string* text) {
  if (code >= kNoCharacter + 0x80 && code <= kNoCharacter + 0xFF) {
    text->push_back(static_cast<char>(code - kNoCharacter));
  } else {
    AppendUtf8((code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF ? 0xFFFD : code, text);
  }
}

void Text::Free(TextData* data) {
  data->heap->Free(data);
}

size_t Text::length() const {
  if (data_ == nullptr) return 0;
  if (data_->characters == UINT32_MAX) {
    const std::string_view bytes = data_->bytes;
    uint32_t count = 0;
    for (size_t at = 0; at < bytes.size(); ++count) {
      at += static_cast<unsigned char>(bytes[at]) < 0x80 ? 1 : CharacterAt(bytes, at).bytes;
    }
    data_->characters = count;
  }
  return data_->characters;
}

size_t Text::ByteOf(size_t character) const {
  if (character >= length()) return size();
  if (ascii()) return character;
  size_t at = 0;
  size_t count = 0;
  if (data_->near_character <= character) {
    at = data_->near_byte;
    count = data_->near_character;
  }
  for (; count < character; ++count) at += CharacterAt(data_->bytes, at).bytes;
  data_->near_character = static_cast<uint32_t>(count);
  data_->near_byte = static_cast<uint32_t>(at);
  return at;
}

size_t Text::CharacterOf(size_t byte) const {
  if (byte >= size()) return length();
  if (ascii()) return byte;
  size_t count = 0;
  for (size_t at = 0; at < byte; ++count) at += CharacterAt(data_->bytes, at).bytes;
  return count;
}

TextBuilder::TextBuilder(Heap* heap, TextData* text) : heap_(heap), safe_(text->safe) {
  std::tie(bytes_, runs_) = heap->TakeContents(text);
}

void TextBuilder::Append(const Text& text, size_t begin, size_t end) {
  if (text.data() == nullptr || (begin >= end && !text.empty())) return;
  const std::vector<Run>& runs = text.data()->runs;
  if (text.empty() && runs.empty()) {
    return AppendEmpty(text.data()->only.source, text.data()->only.offset);
  }
  // Empty runs, which VisitRuns leaves out: those in front of a byte, and behind the last.
  auto next = std::lower_bound(runs.begin(), runs.end(), begin,
                               [](const Run& run, size_t at) { return run.begin < at; });
  const auto append_empty = [&](size_t up_to) {
    for (; next != runs.end() && next->begin <= up_to; ++next) {
      const size_t run_end = next + 1 != runs.end() ? (next + 1)->begin : text.size();
      if (run_end == next->begin) AppendEmpty(next->source, next->offset);
    }
  };
  text.VisitRuns(begin, end, [&](size_t from, size_t to, const Run& run) {
    append_empty(from);
    AppendRun(text.bytes().substr(from, to - from), run.source, run.offset, run.changed);
  });
  if (end == text.size()) append_empty(end);
}

void TextBuilder::AppendChanged(std::string_view bytes, const Text& text, size_t at) {
  Run run;
  text.VisitRuns(at, at + 1, [&](size_t, size_t, const Run& found) { run = found; });
  AppendRun(bytes, run.source, run.offset, run.source != kNoSource);
}

void TextBuilder::AppendRun(std::string_view bytes, int32_t source, size_t offset, bool changed) {
  if (bytes.empty()) return;
  heap_->CheckTextBytes(bytes_.size() + bytes.size(), runs_.size());
  const auto begin = static_cast<uint32_t>(bytes_.size());
  const bool grows = [&] {
    if (runs_.empty()) return false;
    const Run& last = runs_.back();
    if (last.source != source || last.changed != changed) return false;
    if (source == kNoSource) return true;
    return last.offset + (begin - last.begin) == offset;
  }();
  if (!grows) {
    runs_.push_back(
        {begin, source == kNoSource ? 0 : static_cast<uint32_t>(offset), source, changed});
  }
  bytes_.append(bytes);
}

void TextBuilder::AppendEmpty(int32_t source, size_t offset) {
  if (source <= kTemplateSource) return;
  const Run run = {static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(offset), source,
                   false};
  if (!runs_.empty() && runs_.back() == run) return;
  heap_->CheckTextBytes(bytes_.size(), runs_.size() + 1);
  runs_.push_back(run);
}

void TextBuilder::Step() {
  heap_->Step();
}

Text TextBuilder::Build() {
  Run only;
  if (runs_.size() == 1) {
    only = runs_.front();
    runs_.clear();
  }
  TextData* const data = heap_->NewText(std::move(bytes_), std::move(runs_));
  data->only = only;
  data->safe = safe_;
  bytes_.clear();
  runs_.clear();
  return Text(data);
}

Text Part(const Text& text, size_t begin, size_t end) {
  if (begin == 0 && end >= text.size()) return text;
  if (text.data() == nullptr) return text;
  TextBuilder builder(text.data()->heap);
  builder.Append(text, begin, end);
  if (begin >= end && !text.empty()) {
    // A text that was trimmed away still tells where it stood.
    const size_t near = std::min(begin, text.size() - 1);
    text.VisitRuns(near, near + 1, [&](size_t, size_t, const Run& run) {
      builder.AppendEmpty(run.source, run.offset + (begin - near));
    });
  }
  builder.set_safe(text.safe());
  return builder.Build();
}

}  // namespace cairn::jinja
