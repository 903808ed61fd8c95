#include "chat/text/call_arguments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.h"
#include "chat/text/calls_scan.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

constexpr size_t kArgumentsDepthMax = JsonLimits().depth_max;

// Walks the beginning of an object once; what is open at its end is then closed.
class ObjectCloser {
 public:
  explicit ObjectCloser(std::string_view text) : text_(text) {}

  std::optional<std::string> Close() {
    bool fits = text_.substr(std::min(SkipSpace(), text_.size())).starts_with('{');
    while (fits && SkipSpace() < text_.size() && !ended_) fits = Step();
    // Text behind the object means that it was not cut.
    if (!fits || ended_) return std::nullopt;
    std::string closed = Beginning();
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      closed += level->is_object ? '}' : ']';
    }
    return closed;
  }

 private:
  enum class Next : uint8_t { kFirstKey, kKey, kColon, kFirstItem, kValue, kBehindValue };
  struct Level {
    bool is_object = false;
    std::vector<std::string_view> keys = {};  // undecoded
  };

  size_t SkipSpace() {
    at_ = SkipWhiteSpace(text_, at_);
    return at_;
  }

  // Reads one part of the text, which begins at `at_`. Returns false if it is no JSON.
  bool Step() {
    const char c = text_[at_];
    switch (next_) {
      case Next::kFirstKey:
      case Next::kKey:
        if (c == '}' && next_ == Next::kFirstKey) return Pop();
        return c == '"' && TakeString(/*is_key=*/true);
      case Next::kColon:
        ++at_;
        next_ = Next::kValue;
        return c == ':';
      case Next::kFirstItem:
        if (c == ']') return Pop();
        return TakeValue(c);
      case Next::kValue:
        return TakeValue(c);
      case Next::kBehindValue:
        if (c == (levels_.back().is_object ? '}' : ']')) return Pop();
        comma_ = at_++;
        next_ = levels_.back().is_object ? Next::kKey : Next::kValue;
        return c == ',';
    }
    return false;
  }

  bool TakeValue(char c) {
    if (c == '"') return TakeString(/*is_key=*/false);
    if (c == '{' || c == '[') {
      ++at_;
      levels_.push_back({.is_object = c == '{'});
      next_ = c == '{' ? Next::kFirstKey : Next::kFirstItem;
      return levels_.size() <= kArgumentsDepthMax;
    }
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    if (at_ == text_.size()) literal_ = begin;
    next_ = Next::kBehindValue;
    return at_ > begin;
  }

  bool Pop() {
    ++at_;
    levels_.pop_back();
    ended_ = levels_.empty();
    next_ = Next::kBehindValue;
    return true;
  }

  // Reads a string up to its end, or up to its last whole character.
  bool TakeString(bool is_key) {
    const size_t begin = at_++;
    size_t half_pair = text_.size();  // where half of a surrogate pair begins
    bool closed = false;
    while (at_ < text_.size() && !closed) {
      if (text_[at_] != '\\') {
        closed = text_[at_++] == '"';
        half_pair = text_.size();
        continue;
      }
      const bool coded = text_.substr(at_ + 1).starts_with('u');
      const size_t end = at_ + (coded ? 6 : 2);
      if (end > text_.size()) break;
      const bool high = coded && (text_[at_ + 2] == 'd' || text_[at_ + 2] == 'D') &&
                        std::string_view("89abAB").find(text_[at_ + 3]) != std::string_view::npos;
      half_pair = high ? at_ : text_.size();
      at_ = end;
    }
    if (!closed) string_end_ = std::min(at_, half_pair);
    const size_t end = closed ? at_ - 1 : *string_end_;
    if (is_key) levels_.back().keys.push_back(text_.substr(begin + 1, end - (begin + 1)));
    if (!closed) at_ = text_.size();
    next_ = is_key ? Next::kColon : Next::kBehindValue;
    return true;
  }

  static bool IsKeyAgain(const std::vector<std::string_view>& keys) {
    return std::find(keys.begin(), keys.end(), keys.back()) != keys.end() - 1;
  }

  // The text with its last part whole, so that only brackets are open.
  std::string Beginning() const {
    if (literal_) {
      const std::string_view literal = text_.substr(*literal_);
      if (!Json::parse(literal, nullptr, false).is_discarded()) return std::string(text_);
      return std::string(text_.substr(0, *literal_)) + '"' + std::string(literal) + '"';
    }
    std::string text(text_.substr(0, string_end_.value_or(text_.size())));
    if (string_end_) text += '"';
    const bool wants_value = next_ == Next::kValue && levels_.back().is_object;
    if (next_ == Next::kColon || wants_value) {
      // An earlier member of the same name stays what it is.
      if (IsKeyAgain(levels_.back().keys)) return std::string(text_.substr(0, comma_));
      return text + (wants_value ? "\"\"" : ": \"\"");
    }
    const bool wants_more = next_ == Next::kKey || next_ == Next::kValue;
    if (wants_more && !levels_.empty()) text.resize(comma_);
    return text;
  }

  const std::string_view text_;
  size_t at_ = 0;
  Next next_ = Next::kValue;
  std::vector<Level> levels_;
  bool ended_ = false;
  size_t comma_ = 0;                  // the last one
  std::optional<size_t> string_end_;  // the text ends inside a string, whose last character this is
  std::optional<size_t> literal_;     // the text ends with a number or a literal
};

bool IsNone(std::string_view arguments) {
  return arguments.empty() || arguments == "null";
}

}  // namespace

std::optional<std::string> ClosedObject(std::string_view beginning) {
  return ObjectCloser(beginning).Close();
}

Json ArgumentsObject(std::string_view arguments) {
  if (IsNone(Trimmed(arguments))) return Json::object();
  auto parsed = ParseLimitedJson(arguments, "");
  if (parsed && parsed->is_object()) return *std::move(parsed);
  if (const auto closed = parsed ? std::nullopt : ClosedObject(arguments)) {
    auto object = ParseLimitedJson(*closed, "");
    if (object && object->is_object()) return *std::move(object);
  }
  return {{"arguments", std::string(arguments)}};
}

bool AreBrokenArguments(std::string_view arguments) {
  if (IsNone(Trimmed(arguments))) return false;
  const auto parsed = ParseLimitedJson(arguments, "");
  return !parsed || !parsed->is_object();
}

}  // namespace cairn
