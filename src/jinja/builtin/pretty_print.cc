// The layout of Python's pprint.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "jinja/run/builtins.h"
#include "jinja/value/print.h"

namespace cairn::jinja {
namespace {

constexpr size_t kWidth = 80;
constexpr int kPrettyDepthMax = 100;

using Members = std::vector<std::pair<Value, Value>>;

class PrettyPrinter {
 public:
  explicit PrettyPrinter(Heap* heap) : heap_(*heap) {}

  // `indent`: columns before it; `allowance`: those behind it in its line.
  std::string Print(const Value& value, size_t indent, size_t allowance, int depth) {
    if (depth > kPrettyDepthMax) Raise("a value is nested too deep to be printed");
    std::string line = OneLine(value, depth);
    if (indent + CountCharacters(line) + allowance <= kWidth) return line;
    if (value.is_dict()) return Dict(value, indent, allowance, depth);
    if (value.is_list()) return Items(value, "[", "]", indent, allowance, depth);
    if (value.is(Kind::kTuple)) {
      return Items(value, "(", value.items().size() == 1 ? ",)" : ")", indent, allowance, depth);
    }
    return line;
  }

 private:
  std::string Repr(const Value& value) {
    TextBuilder text(&heap_);
    AppendRepr(value, &text);
    return std::string(text.bytes());
  }

  // With sorted keys.
  std::string OneLine(const Value& value, int depth) {
    if (depth > kPrettyDepthMax) Raise("a value is nested too deep to be printed");
    heap_.Step();
    std::string line;
    const auto separate = [&] {
      if (line.size() > 1) line += ", ";
    };
    if (value.is_dict()) {
      line = "{";
      for (const auto& [key, item] : Sorted(value)) {
        separate();
        line += OneLine(key, depth + 1) + ": " + OneLine(item, depth + 1);
      }
      return line + "}";
    }
    if (!value.is_sequence()) return Repr(value);
    line = value.is_list() ? "[" : "(";
    for (const Value& item : value.items()) {
      separate();
      line += OneLine(item, depth + 1);
    }
    if (value.is_list()) return line + "]";
    return line + (value.items().size() == 1 ? ",)" : ")");
  }

  static Members Sorted(const Value& value) {
    Members members = value.dict().items;
    const auto before = [](const auto& a, const auto& b) {
      const bool same =
          a.first.kind() == b.first.kind() || (a.first.is_number() && b.first.is_number());
      if (same && (a.first.is_text() || a.first.is_number())) return Less(a.first, b.first);
      return std::string_view(TypeName(a.first)) < TypeName(b.first);
    };
    std::stable_sort(members.begin(), members.end(), before);
    return members;
  }

  std::string Dict(const Value& value, size_t indent, size_t allowance, int depth) {
    std::string text = "{";
    const Members members = Sorted(value);
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) text += ",\n" + std::string(indent + 1, ' ');
      const std::string key = OneLine(members[i].first, depth + 1);
      const size_t behind = i + 1 < members.size() ? 1 : allowance + 1;
      text += key + ": ";
      text += Print(members[i].second, indent + 1 + CountCharacters(key) + 2, behind, depth + 1);
    }
    return text + "}";
  }

  std::string Items(const Value& value, const char* open, const char* close, size_t indent,
                    size_t allowance, int depth) {
    std::string text = open;
    const auto& items = value.items();
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text += ",\n" + std::string(indent + 1, ' ');
      text += Print(items[i], indent + 1, i + 1 < items.size() ? 1 : allowance + 1, depth + 1);
    }
    return text + close;
  }

  Heap& heap_;
};

}  // namespace

std::string PrettyPrinted(Heap* heap, const Value& value) {
  return PrettyPrinter(heap).Print(value, 0, 0, 0);
}

}  // namespace cairn::jinja
