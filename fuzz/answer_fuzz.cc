// Model output in every family's tool call syntax: the parsed answer is the same however the stream
// is cut, and its calls have names and arguments that are JSON objects.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/utf8.h"
#include "chat/parse/answer_parser.h"
#include "fuzz/input.h"

namespace cairn {
namespace {

constexpr char kTools[] = R"json([
  {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}, "exact": {"type": "boolean"},
      "share": {"type": "number"}, "where": {"type": "object"}, "list": {"type": "array"}}}}},
  {"type": "function", "function": {"name": "now"}}])json";

struct Parsed {
  std::string texts;  // with a mark at each change of kind
  std::map<size_t, std::string> names;
  std::map<size_t, std::string> arguments;

  friend bool operator==(const Parsed&, const Parsed&) = default;
};

void Add(const std::vector<AnswerDelta>& pieces, AnswerDelta::Kind* last, Parsed* parsed) {
  for (const AnswerDelta& piece : pieces) {
    CHECK(!piece.text.empty());
    if (piece.kind == AnswerDelta::Kind::kCallBegin) {
      CHECK(piece.call == parsed->names.size());
      parsed->names[piece.call] = piece.text;
    } else if (piece.kind == AnswerDelta::Kind::kCallArguments) {
      CHECK(parsed->names.contains(piece.call));
      parsed->arguments[piece.call] += piece.text;
    } else {
      if (piece.kind != *last) parsed->texts += '\x01';
      parsed->texts += piece.text;
    }
    *last = piece.kind;
  }
}

Parsed ParseIn(const AnswerFormat& format, std::string_view text, ByteSpan cuts) {
  const auto parser = MakeAnswerParser(format);
  Parsed parsed;
  AnswerDelta::Kind last = AnswerDelta::Kind::kCallBegin;
  for (size_t i = 0; !text.empty(); ++i) {
    const size_t size = cuts.empty() ? text.size() : size_t{1} + cuts[i % cuts.size()] % 16U;
    const std::string_view piece = text.substr(0, size);
    Add(parser->Push(piece), &last, &parsed);
    text.remove_prefix(piece.size());
  }
  Add(parser->Finish(), &last, &parsed);
  return parsed;
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  fuzz::FuzzInput input(data, size);
  AnswerFormat format;
  format.calls = static_cast<CallFormat>(input.Below(10));
  format.starts_in_reasoning = input.Flag();
  format.tools = Tools::Parse(kTools).value();
  const ByteSpan cuts = input.Take(1 + input.Below(4));
  // The parser receives whole characters.
  const std::string text = ToValidUtf8(input.RestText());
  const Parsed whole = ParseIn(format, text, {});
  CHECK(ParseIn(format, text, cuts) == whole);
  for (const auto& [call, name] : whole.names) {
    const auto arguments = whole.arguments.find(call);
    CHECK(arguments != whole.arguments.end());
    CHECK(Json::parse(arguments->second, nullptr, false).is_object());
  }
  return 0;
}
