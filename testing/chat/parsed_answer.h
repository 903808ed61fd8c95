// For the tests of answer parsers: an answer assembled from its deltas.

#ifndef CAIRN_TESTING_CHAT_PARSED_ANSWER_H_
#define CAIRN_TESTING_CHAT_PARSED_ANSWER_H_

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "chat/parse/answer_parser.h"

namespace cairn::test {

// In the order of the deltas, so that it also shows what came before what:
//
//   reasoning{…} content{…} call0{name arguments}
struct ParsedAnswer {
  std::string text;
  bool operator==(const ParsedAnswer&) const = default;
};

inline void PrintTo(const ParsedAnswer& answer, std::ostream* out) {
  *out << answer.text;
}

class AnswerCollector {
 public:
  void Add(const std::vector<AnswerDelta>& pieces) {
    using Kind = AnswerDelta::Kind;
    for (const AnswerDelta& piece : pieces) {
      EXPECT_FALSE(piece.text.empty());
      if (piece.kind == Kind::kCallBegin) {
        EXPECT_EQ(piece.call, calls_);
        ++calls_;
        Open("call" + std::to_string(piece.call));
        answer_ += piece.text + " ";
      } else if (piece.kind == Kind::kCallArguments) {
        EXPECT_EQ(piece.call + 1, calls_);
        answer_ += piece.text;
      } else {
        const std::string name = piece.kind == Kind::kReasoning ? "reasoning" : "content";
        if (open_ != name) Open(name);
        answer_ += piece.text;
      }
    }
  }

  ParsedAnswer Get() { return {open_.empty() ? "" : answer_ + "}"}; }

 private:
  void Open(const std::string& name) {
    if (!open_.empty()) answer_ += "} ";
    answer_ += name + "{";
    open_ = name;
  }

  std::string answer_;
  std::string open_;
  size_t calls_ = 0;
};

inline ParsedAnswer ParsePushed(const AnswerFormat& format,
                                const std::vector<std::string>& pushes) {
  const auto parser = MakeAnswerParser(format);
  AnswerCollector collector;
  for (const std::string& push : pushes) collector.Add(parser->Push(push));
  collector.Add(parser->Finish());
  return collector.Get();
}

// Pushes the text at once; checks that pushing it byte by byte, and in two parts cut anywhere,
// gives the same.
inline std::string Parse(const AnswerFormat& format, const std::string& text) {
  const ParsedAnswer whole = ParsePushed(format, {text});
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  EXPECT_EQ(ParsePushed(format, bytes), whole) << "byte by byte: " << text;
  for (size_t cut = 1; cut < text.size(); ++cut) {
    EXPECT_EQ(ParsePushed(format, {text.substr(0, cut), text.substr(cut)}), whole)
        << "cut at " << cut << ": " << text;
  }
  return whole.text;
}

// The result for an answer that is only content.
inline std::string Content(const std::string& text) {
  return "content{" + text + "}";
}

inline constexpr char kTools[] = R"json([
  {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}, "exact": {"type": "boolean"},
      "share": {"type": "number"}, "where": {"type": "object"}, "list": {"type": "array"},
      "maybe": {"type": ["string", "null"]}, "unit": {"enum": ["1", "2"]},
      "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
      "id": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}}},
  {"type": "function", "function": {"name": "now"}}
])json";

inline AnswerFormat Format(CallFormat calls, bool starts_in_reasoning = false) {
  return {calls, starts_in_reasoning, Tools::Parse(kTools).value()};
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_CHAT_PARSED_ANSWER_H_
