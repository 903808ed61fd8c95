#include "chat/calls/quoted_values.h"

#include <optional>

#include "base/json.h"
#include "chat/calls/calls_json.h"
#include "chat/calls/calls_python.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

class QuotedReader {
 public:
  QuotedReader(std::string_view text, std::string_view quote) : text_(text), quote_(quote) {}

  Scan TakeValue(size_t depth, size_t* at, std::string* json) const {
    *at = SkipWhiteSpace(text_, *at);
    if (*at == text_.size()) return Scan::kMore;
    const char c = text_[*at];
    if (c == '{' || c == '[') {
      return depth == 0 ? Scan::kNotHere : TakeItems(depth - 1, at, json);
    }
    const Scan text = TakeText(at, json);
    return text == Scan::kNotHere ? TakeWordValue(at, json) : text;
  }

 private:
  // Reads a list, or an object with bare or quoted keys.
  Scan TakeItems(size_t depth, size_t* at, std::string* json) const {
    const char close = text_[*at] == '{' ? '}' : ']';
    *json += text_[(*at)++];
    for (bool first = true;; first = false) {
      *at = SkipWhiteSpace(text_, *at);
      if (*at == text_.size()) return Scan::kMore;
      if (text_[*at] == close) break;
      if (!first) {
        if (text_[*at] != ',') return Scan::kNotHere;
        ++*at;
        *json += ", ";
      }
      Scan scan = close == '}' ? TakeKey(at, json) : Scan::kFound;
      if (scan == Scan::kFound) scan = TakeValue(depth, at, json);
      if (scan != Scan::kFound) return scan;
    }
    *json += text_[(*at)++];
    return Scan::kFound;
  }

  Scan TakeKey(size_t* at, std::string* json) const {
    *at = SkipWhiteSpace(text_, *at);
    Scan scan = TakeText(at, json);
    if (scan == Scan::kMore) return scan;
    if (scan == Scan::kNotHere) {
      const size_t end = text_.find_first_of(":,{}[]\n", *at);
      if (end == std::string_view::npos) {
        return text_.size() - *at > kQuotedKeyBytesMax ? Scan::kNotHere : Scan::kMore;
      }
      if (end == *at) return Scan::kNotHere;
      *json += JsonString(text_.substr(*at, end - *at));
      *at = end;
    }
    *at = SkipWhiteSpace(text_, *at);
    scan = TakeWord(text_, ":", at);
    *json += ": ";
    return scan;
  }

  Scan TakeText(size_t* at, std::string* json) const {
    const Scan scan = TakeWord(text_, quote_, at);
    if (scan != Scan::kFound) return scan;
    const size_t end = text_.find(quote_, *at);
    if (end == std::string_view::npos) return Scan::kMore;
    *json += JsonString(text_.substr(*at, end - *at));
    *at = end + quote_.size();
    return Scan::kFound;
  }

  // Reads a number, true, false or null, in JSON's or Python's notation.
  Scan TakeWordValue(size_t* at, std::string* json) const {
    const size_t end = text_.find_first_of(",}]", *at);
    if (end == std::string_view::npos) return Scan::kMore;
    std::string word(text_.substr(*at, end - *at));
    word.erase(word.find_last_not_of(kCallWhiteSpace) + 1);
    for (const auto& value : {std::optional<std::string>(word), JsonOfPython(word)}) {
      if (!value || !ParseLimitedJson(*value, "a value")) continue;
      *json += *value;
      *at = end;
      return Scan::kFound;
    }
    return Scan::kNotHere;
  }

  const std::string_view text_;
  const std::string_view quote_;
};

}  // namespace

Scan TakeQuotedValue(std::string_view text, std::string_view quote, size_t* at, std::string* json) {
  return QuotedReader(text, quote).TakeValue(JsonLimits().depth_max, at, json);
}

}  // namespace cairn
