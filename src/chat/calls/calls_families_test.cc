// Renders random calls with the templates of testdata/templates/, parses them at once and byte by
// byte, and renders the result again: the bytes must be the same.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/json.h"
#include "chat/parse/answer_parser.h"
#include "chat/syntax/learned_syntax.h"
#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::calls_families_test {
namespace {

// With the members of all objects in the order of their names.
Json Sorted(const Json& json) {
  if (!json.is_structured()) return json;
  std::map<std::string, Json> members;
  Json sorted = json.is_array() ? Json::array() : Json::object();
  for (const auto& [key, value] : json.items()) {
    if (json.is_array()) {
      sorted.push_back(Sorted(value));
    } else {
      members[key] = Sorted(value);
    }
  }
  for (auto& [key, value] : members) sorted[key] = std::move(value);
  return sorted;
}

using Kind = AnswerDelta::Kind;

constexpr size_t kConversations = 640;  // with one or two calls each
constexpr char kUserText[] = "Zq asks";

struct FoundCalls {
  std::vector<ToolCall> calls;
  std::string text;
  bool operator==(const FoundCalls& other) const {
    const auto same = [](const ToolCall& a, const ToolCall& b) {
      return a.name == b.name && a.arguments == b.arguments && a.id == b.id;
    };
    return text == other.text &&
           std::equal(calls.begin(), calls.end(), other.calls.begin(), other.calls.end(), same);
  }
};

FoundCalls ReadAnswer(AnswerFormat format, const std::string& text, size_t step, bool stream) {
  format.stream_arguments = stream;
  const auto parser = MakeAnswerParser(format);
  FoundCalls found;
  const auto add = [&](const std::vector<AnswerDelta>& pieces) {
    for (const AnswerDelta& piece : pieces) {
      if (piece.kind == Kind::kCallBegin) {
        found.calls.push_back({piece.id, piece.text, ""});
      } else if (piece.kind == Kind::kCallArguments) {
        found.calls.back().arguments += piece.text;
      } else {
        found.text += piece.text;
      }
    }
  };
  for (size_t at = 0; at < text.size(); at += step) add(parser->Push(text.substr(at, step)));
  add(parser->Finish());
  EXPECT_EQ(parser->broken_calls(), 0u) << text;
  return found;
}

class RandomCalls {
 public:
  // `plain_keys`: only keys that are valid Python names.
  RandomCalls(uint32_t seed, const LearnedCalls* learned, bool plain_keys)
      : random_(seed), plain_keys_(plain_keys) {
    if (learned != nullptr) syntax_.emplace(*learned);
  }

  // Makes one tool or two, with a schema that types their arguments, and calls of them.
  Conversation Make(bool several) {
    tools_ = Json::array();
    Message answer{.role = Role::kAssistant};
    for (size_t i = 0; i < 2; ++i) {
      ToolCall call;
      call.name = Pick({"get", "weather_now", "x", "Read-File", "mcp__files__list"}) +
                  (Below(2) == 0 ? "" : std::to_string(Below(100)));
      Json properties = Json::object();
      call.arguments = Arguments(&properties).dump();
      const bool holds = syntax_ && syntax_->calls.id == LearnedCalls::Id::kHoldsName;
      call.id = holds ? "functions." + call.name + ":" + std::to_string(i)
                      : "callid00" + std::to_string(i);
      const bool again = i > 0 && tools_[0]["function"]["name"] == call.name;
      if (i > 0 && (again || !several || Below(3) == 0)) break;
      tools_.push_back({{"type", "function"},
                        {"function",
                         {{"name", call.name},
                          {"description", "A tool."},
                          {"parameters", {{"type", "object"}, {"properties", properties}}}}}});
      answer.tool_calls.push_back(std::move(call));
    }
    Conversation conversation;
    conversation.messages = {test::User(kUserText), std::move(answer)};
    conversation.tools = Tools(tools_);
    conversation.now_unix_s = 1'700'049'600;
    return conversation;
  }

 private:
  size_t Below(size_t end) { return random_() % end; }
  std::string Pick(const std::vector<std::string>& all) { return all[Below(all.size())]; }

  Json Arguments(Json* properties) {
    Json arguments = Json::object();
    for (size_t n = Below(5); n > 0; --n) {
      const std::vector<std::string> odd = {"käse", "a-b", "x.y", "path", "Days"};
      const std::string key =
          Pick(plain_keys_ ? std::vector<std::string>{"city", "old_string"} : odd) +
          (Below(2) == 0 ? "" : std::to_string(Below(10)));
      if (arguments.contains(key)) continue;
      const auto [type, value] = Value(0);
      arguments[key] = value;
      (*properties)[key] = {{"type", type}};
    }
    return arguments;
  }

  std::pair<std::string, Json> Value(size_t depth) {
    switch (Below(depth > 2 ? 5 : 9)) {
      case 0:
        return {"integer", static_cast<int64_t>(Below(2'000'000)) - 1'000'000};
      case 1:
        return {"number", static_cast<double>(Below(1000)) / 8.0 - 50.0};
      case 2:
        return {"boolean", Below(2) == 0};
      case 3:
      case 4:
      case 5:
      case 6:
        return {"string", depth == 0 ? Text() : NestedText()};
      case 7: {
        Json list = Json::array();
        for (size_t n = Below(4); n > 0; --n) list.push_back(Value(depth + 1).second);
        return {"array", list};
      }
      default: {
        Json object = Json::object();
        for (size_t n = Below(4); n > 0; --n) {
          object[Pick({"a", "b", "c d", "ü"})] = Value(depth + 1).second;
        }
        return {"object", object};
      }
    }
  }

  // Without backslashes, which change where templates write lists and objects as Python.
  std::string NestedText() {
    std::string text = Text();
    std::erase(text, '\\');
    return text;
  }

  std::string Text() {
    std::string text;
    do {
      text.clear();
      for (size_t n = Below(7); n > 0; --n) {
        text += Pick({"Rome",
                      " ",
                      "\n",
                      "\t",
                      "\"",
                      "'",
                      "\\",
                      "\\n",
                      "日本",
                      "😀",
                      "é",
                      "<",
                      ">",
                      "{",
                      "}",
                      "[",
                      "]",
                      ",",
                      ":",
                      "<b>",
                      "</b>",
                      "<tool_call>",
                      "</tool_call>",
                      "<function=x>",
                      "</function>",
                      "</parameter>",
                      "<parameter=a>",
                      "```json\n",
                      "{\"name\": \"get\", \"arguments\": {}}",
                      "<arg_key>",
                      "</arg_value>",
                      "[TOOL_CALLS]",
                      "12",
                      "true",
                      "null",
                      "\r\n"});
      }
    } while (IsAmbiguous(text));
    return text;
  }

  // Whether bare text contains its own terminator followed by a valid continuation, so that it is
  // ambiguous.
  bool IsAmbiguous(const std::string& text) const {
    if (!syntax_ || syntax_->calls.arguments != LearnedCalls::Arguments::kPairs) return false;
    const std::string& close = syntax_->string_close.parts[0];
    for (size_t at = text.find(close); at != std::string::npos; at = text.find(close, at + 1)) {
      if (AnyOfStandsAt(text, syntax_->behind_value, at + close.size()) != Scan::kNotHere) {
        return true;
      }
    }
    return false;
  }

  std::mt19937 random_;
  const bool plain_keys_;
  std::optional<LearnedSyntax> syntax_;
  Json tools_;
};

class CallsOfFamily : public testing::TestWithParam<std::string> {};

// Returns the text that a model would have generated for a rendering: after the generation prompt
// if the rendering begins with it, and without the tokens that end an answer.
std::string AnswerIn(const ChatTemplate& chat_template, const Conversation& conversation,
                     const std::string& rendered) {
  Conversation asked = conversation;
  asked.messages.resize(1);
  const std::string prompt = test::Render(chat_template, asked);
  std::string answer = rendered.substr(rendered.rfind(kUserText) + sizeof(kUserText) - 1);
  // A message of gpt-oss begins before its generation prompt ends.
  const bool harmony = CallFormatOf(chat_template) == CallFormat::kHarmony;
  if (!harmony && rendered.starts_with(prompt)) answer = rendered.substr(prompt.size());
  for (const std::string end : {"<|eot_id|>", "<|im_end|>\n", "<|call|>"}) {
    if (answer.ends_with(end)) answer.resize(answer.size() - end.size());
  }
  return answer;
}

TEST_P(CallsOfFamily, AreReadAsTheTemplateWritesThem) {
  const auto chat_template = test::Family(GetParam());
  const CallFormat calls_as = CallFormatOf(*chat_template);
  if (calls_as == CallFormat::kNone) GTEST_SKIP() << "this family's template has no calls";
  const LearnedCalls* const learned = chat_template->learned_calls().get();
  const bool one_only = calls_as == CallFormat::kHarmony || calls_as == CallFormat::kLlamaJson ||
                        (calls_as == CallFormat::kLearned && !learned->several);
  RandomCalls random(7, calls_as == CallFormat::kLearned ? learned : nullptr,
                     calls_as == CallFormat::kLfm2);
  const size_t conversations = one_only ? 1000 : kConversations;
  size_t calls = 0;
  for (size_t round = 0; round < conversations; ++round) {
    Conversation conversation = random.Make(!one_only);
    auto rendered = chat_template->Render(conversation, false);
    ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
    const std::string& name = conversation.messages[1].tool_calls[0].name;
    if (rendered->find(name, rendered->rfind(kUserText)) == std::string::npos) {
      // The template treats an answer that is the last message as one to be continued.
      conversation.messages.push_back(test::User("Next"));
      rendered = chat_template->Render(conversation, false);
    }
    const std::string answer = AnswerIn(*chat_template, conversation, *rendered);
    const AnswerFormat format = FindAnswerFormat(*chat_template, "", conversation.tools);
    const FoundCalls whole = ReadAnswer(format, answer, answer.size(), false);
    ASSERT_EQ(ReadAnswer(format, answer, 1, true), whole) << answer;
    ASSERT_EQ(ReadAnswer(format, answer, round % 8 == 0 ? 1 : 7, false), whole) << answer;
    for (size_t cut = 1; round % 100 == 0 && cut < answer.size(); ++cut) {
      ASSERT_EQ(ReadAnswer(format, answer, cut, true), whole) << cut << ": " << answer;
    }
    std::vector<ToolCall>& given = conversation.messages[1].tool_calls;
    ASSERT_EQ(whole.calls.size(), given.size()) << answer;
    for (size_t i = 0; i < given.size(); ++i) {
      ASSERT_EQ(whole.calls[i].name, given[i].name) << answer;
      // Some templates sort the keys. XML has no types inside values.
      if (calls_as != CallFormat::kMiniMaxM3) {
        ASSERT_EQ(Sorted(Json::parse(whole.calls[i].arguments)),
                  Sorted(Json::parse(given[i].arguments)))
            << answer;
      }
      ASSERT_EQ(whole.calls[i].id.empty() ? given[i].id : whole.calls[i].id, given[i].id);
      given[i].arguments = whole.calls[i].arguments;
      ++calls;
    }
    const auto again = chat_template->Render(conversation, false);
    ASSERT_EQ(again.value_or("refused"), *rendered);
  }
  EXPECT_GE(calls, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Families, CallsOfFamily, testing::ValuesIn(test::FamilyNames()),
                         [](const auto& named) {
                           std::string name = named.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace cairn::calls_families_test
