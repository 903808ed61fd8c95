#include "chat/syntax/learned_calls.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace cairn {
namespace {

std::string WriteArguments(const LearnedCalls& syntax, const WrittenCall& call) {
  if (syntax.arguments == LearnedCalls::Arguments::kJson) return call.json;
  std::string text;
  for (const WrittenCall::Pair& pair : call.pairs) {
    if (!text.empty()) text += syntax.pair_between;
    text += syntax.key_open + pair.key;
    text += pair.is_string ? syntax.string_open : syntax.other_open;
    if (!pair.is_string && !syntax.other_type_end.empty()) {
      text += pair.type + syntax.other_type_end;
    }
    text += pair.value;
    text += pair.is_string ? syntax.string_close : syntax.other_close;
  }
  return text;
}

std::string WriteCall(const LearnedCalls& syntax, const WrittenCall& call) {
  using Id = LearnedCalls::Id;
  std::string text = syntax.call_open;
  if (syntax.id == Id::kBeforeName) text += call.id + syntax.id_delimiter;
  text += syntax.id == Id::kHoldsName ? call.id : call.name;
  if (syntax.id == Id::kBehindName) text += syntax.id_delimiter + call.id;
  text += syntax.name_end + WriteArguments(syntax, call);
  if (syntax.id == Id::kBehindArguments) text += syntax.id_delimiter + call.id;
  return text + syntax.call_close;
}

// Returns the size of the tag that begins at `at`, "<…>" or "[WORD]"; 0 if there is none, or if it
// has no end.
size_t TagSize(std::string_view text, size_t at) {
  if (text[at] == '<') {
    const size_t end = text.find_first_of("<>", at + 1);
    if (end != std::string_view::npos && text[end] == '>' && end > at + 1) return end + 1 - at;
  }
  if (text[at] == '[') {
    const size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", at + 1);
    if (end != std::string_view::npos && text[end] == ']' && end > at + 1) return end + 1 - at;
  }
  return 0;
}

// Whether a '<' has no '>' after it, because the tag contains the name, a key or a value.
bool OpensTag(std::string_view text, size_t at) {
  return text[at] == '<' && at + 1 < text.size() &&
         text.find_first_of("<>", at + 1) == std::string_view::npos;
}

std::string Shown(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text) {
    if (c == '\n') {
      shown += "\\n";
    } else if (c == '"' || c == '\\') {
      shown += std::string("\\") + c;
    } else {
      shown += c;
    }
  }
  return shown + "\"";
}

std::string_view NameOf(LearnedCalls::Id id) {
  using Id = LearnedCalls::Id;
  switch (id) {
    case Id::kNone:
      return "none";
    case Id::kBeforeName:
      return "before the name";
    case Id::kBehindName:
      return "behind the name";
    case Id::kBehindArguments:
      return "behind the arguments";
    case Id::kHoldsName:
      return "in the name's place";
  }
  return "";
}

std::string_view NameOf(LearnedCalls::Strings strings) {
  switch (strings) {
    case LearnedCalls::Strings::kRaw:
      return "raw";
    case LearnedCalls::Strings::kJson:
      return "JSON";
    case LearnedCalls::Strings::kQuoted:
      return "quoted";
  }
  return "";
}

}  // namespace

std::string WriteCalls(const LearnedCalls& syntax, const std::vector<WrittenCall>& calls) {
  std::string text = syntax.block_open;
  for (size_t i = 0; i < calls.size(); ++i) {
    text += (i > 0 ? syntax.between : "") + WriteCall(syntax, calls[i]);
  }
  return text + syntax.block_close;
}

std::vector<std::string> SyntaxParts(std::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  const auto end_part = [&] {
    if (!part.empty()) parts.push_back(std::exchange(part, {}));
  };
  for (size_t at = 0; at < text.size();) {
    const size_t tag = TagSize(text, at);
    if (tag > 0 || OpensTag(text, at)) {
      end_part();
      part = text.substr(at, tag > 0 ? tag : std::string_view::npos);
      at += part.size();
      end_part();
      continue;
    }
    if (kLineSpace.find(text[at]) != std::string_view::npos) {
      end_part();
    } else {
      part += text[at];
    }
    ++at;
  }
  end_part();
  return parts;
}

std::vector<std::string> TagsOfCalls(const LearnedCalls& syntax) {
  std::vector<std::string> tags;
  for (const std::string* text :
       {&syntax.block_open, &syntax.call_open, &syntax.id_delimiter, &syntax.name_end,
        &syntax.key_open, &syntax.string_open, &syntax.string_close, &syntax.other_open,
        &syntax.other_type_end, &syntax.other_close, &syntax.pair_between, &syntax.call_close,
        &syntax.between, &syntax.block_close, &syntax.quote}) {
    for (const std::string& part : SyntaxParts(*text)) {
      if (TagSize(part, 0) != part.size()) continue;
      if (std::find(tags.begin(), tags.end(), part) == tags.end()) tags.push_back(part);
    }
  }
  return tags;
}

std::string DescribeCalls(const LearnedCalls& syntax) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    text += std::string(name) + std::string(16 - name.size(), ' ') + std::string(value) + "\n";
  };
  const auto add_text = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) add(name, Shown(value));
  };
  add_text("block_open", syntax.block_open);
  add_text("call_open", syntax.call_open);
  add_text("name_end", syntax.name_end);
  if (syntax.arguments == LearnedCalls::Arguments::kJson) {
    add("arguments", "a JSON object");
  } else {
    add("arguments", "pairs; strings " + std::string(NameOf(syntax.strings)));
    add_text("key_open", syntax.key_open);
    add_text("string_open", syntax.string_open);
    add_text("string_close", syntax.string_close);
    add_text("other_open", syntax.other_open);
    add_text("other_type_end", syntax.other_type_end);
    add_text("other_close", syntax.other_close);
    add_text("pair_between", syntax.pair_between);
    add_text("quote", syntax.quote);
  }
  add_text("call_close", syntax.call_close);
  if (syntax.several) add("between", Shown(syntax.between));
  add_text("block_close", syntax.block_close);
  if (syntax.is_object()) {
    add("object", syntax.name_key + ", " + syntax.arguments_key +
                      (syntax.id_key.empty() ? "" : ", " + syntax.id_key));
  }
  if (syntax.id != LearnedCalls::Id::kNone) {
    add("id", std::string(NameOf(syntax.id)) + (syntax.id_is_counter ? ", a counter" : ""));
    add_text("id_delimiter", syntax.id_delimiter);
  }
  add("several", syntax.several ? "yes" : "no");
  return text;
}

}  // namespace cairn
