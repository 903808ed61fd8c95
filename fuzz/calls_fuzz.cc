// Tool calls in learned syntaxes: the parsed answer is the same however the output is cut, parsed
// at once or as a stream; and a call that is written in the syntax is parsed back as the same
// call.

#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/utf8.h"
#include "chat/parse/answer_parser.h"
#include "chat/syntax/known_call_syntaxes.h"
#include "chat/syntax/learned_syntax.h"
#include "fuzz/input.h"

namespace cairn {
namespace {

using Kind = AnswerDelta::Kind;

constexpr char kTools[] = R"json([
  {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}, "exact": {"type": "boolean"},
      "share": {"type": "number"}, "where": {"type": "object"}, "list": {"type": "array"}}}}},
  {"type": "function", "function": {"name": "now"}}])json";

struct Read {
  std::string text;  // of the answer, without the calls
  struct Call {
    std::string name;
    std::string arguments;
    friend bool operator==(const Call&, const Call&) = default;
  };
  std::vector<Call> calls;

  friend bool operator==(const Read&, const Read&) = default;
};

Read ReadIn(const AnswerFormat& format, std::string_view text, ByteSpan cuts) {
  const auto parser = MakeAnswerParser(format);
  Read read;
  const auto add = [&](const std::vector<AnswerDelta>& pieces) {
    for (const AnswerDelta& piece : pieces) {
      CHECK(!piece.text.empty());
      if (piece.kind == Kind::kCallBegin) {
        CHECK(piece.call == read.calls.size());
        read.calls.push_back({piece.text, ""});
      } else if (piece.kind == Kind::kCallArguments) {
        CHECK(piece.call + 1 == read.calls.size());
        read.calls.back().arguments += piece.text;
      } else {
        read.text += piece.text;
      }
    }
  };
  for (size_t i = 0; !text.empty(); ++i) {
    const size_t size = cuts.empty() ? text.size() : size_t{1} + cuts[i % cuts.size()] % 16U;
    const std::string_view part = text.substr(0, size);
    add(parser->Push(part));
    text.remove_prefix(part.size());
  }
  add(parser->Finish());
  return read;
}

bool IsObject(const std::string& text) {
  return Json::parse(text, nullptr, false).is_object();
}

void TryText(AnswerFormat format, const std::string& text, ByteSpan cuts) {
  const Read whole = ReadIn(format, text, {});
  CHECK(ReadIn(format, text, cuts) == whole);
  for (const Read::Call& call : whole.calls) CHECK(IsObject(call.arguments));
  format.stream_arguments = true;
  const Read streamed = ReadIn(format, text, {});
  CHECK(ReadIn(format, text, cuts) == streamed);
  // Without a call no text is lost, except white space at the ends.
  if (whole.calls.empty()) CHECK(text.find(whole.text) != std::string::npos);
}

// Returns whether a bare string in this syntax can hold `text`: its end mark is not inside.
bool MayBeWritten(const LearnedSyntax& syntax, const std::string& text) {
  const std::string& close = syntax.string_close.parts[0];
  return text.find(close) == std::string::npos;
}

void TryCall(const LearnedCalls& learned, const AnswerFormat& format, const std::string& text,
             ByteSpan cuts) {
  WrittenCall call{.id = "functions.weather:0", .name = "weather"};
  if (learned.arguments == LearnedCalls::Arguments::kJson) {
    call.json = Json{{"city", text}}.dump();
  } else {
    if (!MayBeWritten(LearnedSyntax(learned), text)) return;
    call.pairs = {{"city", text, true, {}}, {"days", "7", false, {}}};
  }
  if (learned.id != LearnedCalls::Id::kHoldsName) call.id = "abcdefghi";
  const std::string answer = WriteCalls(learned, {call, call});
  for (const bool stream : {false, true}) {
    AnswerFormat read_as = format;
    read_as.stream_arguments = stream;
    const Read read = ReadIn(read_as, answer, cuts);
    CHECK(read.calls.size() == 2);
    CHECK(read.text.empty());
    for (const Read::Call& found : read.calls) {
      CHECK(found.name == "weather");
      CHECK(Json::parse(found.arguments)["city"] == text);
    }
  }
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  static const auto* const syntaxes = new std::vector<LearnedCalls>(test::KnownCallSyntaxes());
  fuzz::FuzzInput input(data, size);
  const LearnedCalls& learned = (*syntaxes)[input.Below(syntaxes->size())];
  AnswerFormat format;
  format.calls = CallFormat::kLearned;
  format.learned = std::make_shared<const LearnedCalls>(learned);
  format.tools = Tools::Parse(kTools).value();
  const bool written = input.Flag();
  const ByteSpan cuts = input.Take(1 + input.Below(4));
  const std::string text = ToValidUtf8(input.RestText());
  if (written) {
    TryCall(learned, format, text, cuts);
  } else {
    TryText(format, text, cuts);
  }
  return 0;
}
