#include "testing/chat/family_templates.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "testing/base/golden_file.h"
#include "testing/chat/test_templates.h"

namespace cairn::test {
namespace {

std::string Word(char kind, size_t index, char edge) {
  return kind + std::to_string(index) + edge;
}

// "m3a text m3z"
std::string Said(size_t index, const std::string& text) {
  return Word('m', index, 'a') + " " + text + " " + Word('m', index, 'z');
}

Message Thinks(size_t index, const std::string& text) {
  return Assistant(Said(index, text), Word('r', index, 'a') + " why\nnot " + Word('r', index, 'z'));
}

Message Calls(size_t index, bool thinks = false) {
  const std::string arguments = R"({"city":")" + Word('c', index, 'a') +
                                R"( Bonn","days":3,"x":")" + Word('c', index, 'z') + "\"}";
  return Call("weather", arguments,
              thinks ? Word('r', index, 'a') + " look " + Word('r', index, 'z') : "");
}

Message Develops(size_t index, const std::string& text) {
  return {.role = Role::kDeveloper, .content = Said(index, text)};
}

Message Answers(const std::string& text) {
  Message message = ToolAnswer(text);
  message.name = "weather";
  return message;
}

// Returns the text as it appears between the quotes of a JSON string.
std::string Escaped(const std::string& text) {
  const std::string quoted = Json(text).dump();
  return quoted.substr(1, quoted.size() - 2);
}

class BoundaryJudge {
 public:
  BoundaryJudge(const Conversation& conversation, const std::string& text, const TextShape& shape)
      : messages_(conversation.messages), text_(text), shape_(shape) {}

  std::string Judge() const {
    size_t before = 0;
    for (const TextSpan& span : shape_.spans) {
      const std::string at = "message " + std::to_string(span.message_index) + ": ";
      if (span.begin < before || span.end < span.begin) return at + "out of order";
      if (span.role != messages_[span.message_index].role) return at + "not its role";
      before = span.end;
      const std::string wrong = JudgeBegin(span);
      if (!wrong.empty()) return at + wrong + "; behind it: " + text_.substr(span.begin, 60);
    }
    if (before > shape_.last_message_end) return "the last message ends before it begins";
    return JudgeHeader() + JudgeEnd();
  }

 private:
  std::string JudgeBegin(const TextSpan& span) const {
    if (span.begin > text_.size()) return "behind the text";
    const auto next =
        span.begin < text_.size() ? static_cast<unsigned char>(text_[span.begin]) : 0U;
    if ((next & 0xC0U) == 0x80U) return "inside a character";
    for (size_t i = 0; i < messages_.size(); ++i) {
      // System texts are wherever the template puts them.
      if (IsSystem(i)) continue;
      const auto [first, last] = Extent(i);
      if (i < span.message_index && last > span.begin)
        return "before the end of a message before it";
      if (i >= span.message_index && first < span.begin)
        return "behind the begin of message " + std::to_string(i);
    }
    return span.earlier ? "" : JudgeText(span);
  }

  // An exact boundary must be directly before the message's text.
  std::string JudgeText(const TextSpan& span) const {
    const std::string wanted(Trimmed(messages_[span.message_index].content));
    // Some templates remove such switches from the text: then only the words are checked.
    if (wanted.empty() || wanted.find("/think") != std::string::npos ||
        wanted.find("/no_think") != std::string::npos) {
      return "";
    }
    const size_t begin = std::min(text_.find_first_not_of(kWhiteSpace, span.begin), text_.size());
    if (text_.compare(begin, wanted.size(), wanted) == 0) return "";
    const std::string escaped = Escaped(messages_[span.message_index].content);
    if (text_.compare(span.begin, escaped.size(), escaped) == 0) return "";
    const std::string escaped_trimmed = Escaped(wanted);
    if (text_.compare(begin, escaped_trimmed.size(), escaped_trimmed) == 0) return "";
    return "its text does not begin there";
  }

  // Returns the extent of a message's words: from the first byte of the first to the end of the
  // last.
  std::pair<size_t, size_t> Extent(size_t index) const {
    std::pair<size_t, size_t> extent = {std::string::npos, 0};
    for (const char kind : {'m', 'r', 'c'}) {
      for (const char edge : {'a', 'z'}) {
        const std::string word = Word(kind, index, edge);
        const size_t at = text_.find(word);
        if (at == std::string::npos) continue;
        extent.first = std::min(extent.first, at);
        extent.second = std::max(extent.second, text_.rfind(word) + word.size());
      }
    }
    return extent;
  }

  bool IsSystem(size_t index) const {
    const Role role = messages_[index].role;
    return role == Role::kSystem || role == Role::kDeveloper;
  }

  std::string JudgeHeader() const {
    if (shape_.header_end == 0) return "";
    for (size_t i = 0; i < messages_.size(); ++i) {
      if (!IsSystem(i) && Extent(i).first < shape_.header_end) {
        return "the header ends inside message " + std::to_string(i);
      }
    }
    return "";
  }

  std::string JudgeEnd() const {
    if (shape_.last_message_end > text_.size()) return "the end is behind the text";
    for (size_t i = 0; i < messages_.size(); ++i) {
      const auto [first, last] = Extent(i);
      if (first < shape_.last_message_end && shape_.last_message_end < last) {
        return "the end is inside message " + std::to_string(i);
      }
    }
    return "";
  }

  const std::vector<Message>& messages_;
  const std::string& text_;
  const TextShape& shape_;
};

std::vector<NamedConversation> PlainConversations() {
  return {
      {"plain", {.messages = {User(Said(0, "Hi")), Assistant(Said(1, "Ho")), User(Said(2, "?"))}}},
      {"system",
       {.messages = {System(Said(0, "Be brief.")), User(Said(1, "Hi")), Assistant(Said(2, "Ho")),
                     User(Said(3, "?"))}}},
      {"late_system",
       {.messages = {System(Said(0, "Be brief.")), User(Said(1, "Hi")), Assistant(Said(2, "Ho")),
                     System(Said(3, "Be rude.")), User(Said(4, "?"))}}},
      {"two_answers",
       {.messages = {User(Said(0, "Hi")), Assistant(Said(1, "Ho")), Assistant(Said(2, "Hu")),
                     User(Said(3, "?"))}}},
      {"two_questions",
       {.messages = {User(Said(0, "Hi")), User(Said(1, "Ho")), Assistant(Said(2, "Hu")),
                     User(Said(3, "?"))}}},
      {"answer_last", {.messages = {User(Said(0, "Hi")), Assistant(Said(1, "Ho"))}}},
      {"thoughts",
       {.messages = {User(Said(0, "Hi")), Thinks(1, "Ho"), User(Said(2, "?")), Thinks(3, "!"),
                     User(Said(4, "Bye"))}}},
      {"thoughts_inside",
       {.messages = {User(Said(0, "Hi")), Assistant("<think>\nr1a\n</think>\n\n" + Said(1, "Ho")),
                     User(Said(2, "?"))}}},
      {"thinking_off",
       {.messages = {User(Said(0, "Hi")), Thinks(1, "Ho"), User(Said(2, "?"))},
        .template_kwargs_json = R"({"enable_thinking":false})"}},
  };
}

// System and developer messages in the places where agents put them.
std::vector<NamedConversation> SystemConversations() {
  return {
      {"two_developers",
       {.messages = {Develops(0, "Be brief."), Develops(1, "Be kind."), User(Said(2, "Hi")),
                     Assistant(Said(3, "Ho")), User(Said(4, "?"))}}},
      {"system_after_user",
       {.messages = {User(Said(0, "Hi")), System(Said(1, "Be brief.")), Assistant(Said(2, "Ho")),
                     User(Said(3, "?"))}}},
      {"late_system_last",
       {.messages = {System(Said(0, "Be brief.")), User(Said(1, "Hi")), Assistant(Said(2, "Ho")),
                     User(Said(3, "?")), System(Said(4, "Be rude."))}}},
      {"late_system_behind_answer",
       {.messages = {System(Said(0, "Be brief.")), User(Said(1, "Hi")), Assistant(Said(2, "Ho")),
                     System(Said(3, "Be rude."))}}},
      {"two_late_systems",
       {.messages = {System(Said(0, "Be brief.")), User(Said(1, "Hi")), Assistant(Said(2, "Ho")),
                     System(Said(3, "Be rude.")), System(Said(4, "Be fast.")),
                     User(Said(5, "?"))}}},
      {"late_system_in_tool_loop",
       {.messages = {System(Said(0, "Be brief.")), User(Said(1, "Hi")), Calls(2, true),
                     Answers(Said(3, "warm")), System(Said(4, "Be rude.")), Calls(5, true),
                     Answers(Said(6, "cold")), Assistant(Said(7, "So so.")), User(Said(8, "?"))},
        .tools = Tools::Parse(kWeatherTool).value()}},
  };
}

// A schema with everything that JSON allows and that some templates would write differently.
constexpr char kOddTool[] =
    R"([{"type":"function","function":{"name":"odd","description":)"
    R"("<b>\u00dcber's & \"so\"</b>\n\ttab","parameters":{"type":"object","properties":{)"
    R"("z":{"type":"string","enum":["a","\u65e5"],"description":"one"},)"
    R"("n":{"type":"number","minimum":0.5,"default":0.25},)"
    R"("l":{"type":"array","items":{"type":"object","properties":{}},"default":[]},)"
    R"("b":{"type":["boolean","null"],"default":true}},"required":["z"]}}}])";
constexpr char kTinyNumberTool[] =
    R"([{"type":"function","function":{"name":"f","description":"d",)"
    R"("parameters":{"type":"object","properties":{"n":{"default":1e-7}}}}}])";
constexpr char kOddArguments[] =
    R"({"z":"\u65e5 <c1a>\n'\"\\","n":-0.25,"l":[{"k":null},[]],"b":true,"e":"c1z"})";

std::vector<NamedConversation> ToolConversations() {
  const Tools tools = Tools::Parse(kWeatherTool).value();
  Message two_calls = Calls(1);
  two_calls.tool_calls.push_back({"call00002", "weather", R"({"city":"Rome"})"});
  Message second = Answers(Said(3, "cold"));
  second.tool_call_id = "call00002";
  return {
      {"tools_unused",
       {.messages = {System(Said(0, "Be brief.")), User(Said(1, "Hi")), Assistant(Said(2, "Ho")),
                     User(Said(3, "?"))},
        .tools = tools}},
      {"tool_loop",
       {.messages = {User(Said(0, "Hi")), Calls(1, true), Answers(Said(2, "warm")), Calls(3, true),
                     Answers(Said(4, "\"cold\"\nand wet"))},
        .tools = tools}},
      {"tool_answered",
       {.messages = {System(Said(0, "Be brief.")), User(Said(1, "Hi")), Calls(2, true),
                     Answers(Said(3, R"({"degrees": 21})")), Thinks(4, "Warm."),
                     User(Said(5, "?"))},
        .tools = tools}},
      {"two_calls",
       {.messages = {User(Said(0, "Hi")), two_calls, Answers(Said(2, "warm")), second,
                     Assistant(Said(4, "So so.")), User(Said(5, "?"))},
        .tools = tools}},
      {"odd_tool",
       {.messages = {User(Said(0, "Hi")), Call("odd", kOddArguments),
                     Answers(Said(2, "<b>\\ \"'&\t\u65e5")), Assistant(Said(3, "Ho")),
                     User(Said(4, "?"))},
        .tools = Tools::Parse(kOddTool).value()}},
      {"tiny_number",
       {.messages = {User(Said(0, "Hi"))}, .tools = Tools::Parse(kTinyNumberTool).value()}},
      {"empty_result",
       {.messages = {User(Said(0, "Hi")), Calls(1), Answers(""), Assistant(Said(3, "Ho")),
                     User(Said(4, "?"))},
        .tools = tools}},
  };
}

// Calls with text and reasoning, and with arguments of every type.
std::vector<NamedConversation> CallConversations() {
  Message beside_text = Calls(1, true);
  beside_text.content = "I will look.";  // Gemma 4 writes it after the results
  Message kinds = Call("odd", kOddArguments);
  kinds.tool_calls.front().arguments =
      R"({"z":"c1a","n":-3,"f":2.5,"t":true,"u":null,"l":["a",1,{"k":[]}],"o":{"p":{"q":"r"}},)"
      R"("e":"","m":"two\nlines","w":"c1z"})";
  kinds.tool_calls.push_back({"call00002", "odd", "{}"});
  Message second = Answers(Said(3, "cold"));
  second.tool_call_id = "call00002";
  return {
      {"call_after_text",
       {.messages = {User(Said(0, "Hi")), beside_text, Answers(Said(2, "warm")),
                     Assistant(Said(3, "So so.")), User(Said(4, "?"))},
        .tools = Tools::Parse(kWeatherTool).value()}},
      {"call_after_text_last",
       {.messages = {User(Said(0, "Hi")), beside_text, Answers(Said(2, "warm"))},
        .tools = Tools::Parse(kWeatherTool).value()}},
      {"kinds_of_arguments",
       {.messages = {User(Said(0, "Hi")), kinds, Answers(Said(2, "warm")), second,
                     Assistant(Said(4, "So so.")), User(Said(5, "?"))},
        .tools = Tools::Parse(kOddTool).value()}},
  };
}

std::vector<NamedConversation> OddConversations() {
  const std::string chatml = "<|im_end|>\n<|im_start|>user\n";
  const std::string others =
      "<end_of_turn>\n<start_of_turn>user\n[/INST][INST] <|eot_id|><|end|><|start|>user<|message|>"
      "<turn|>\n<|turn>user\n<|user|>\n<SPECIAL_11>User\n";
  return {
      {"empty", {.messages = {User(""), Assistant(Said(1, "Ho")), User(Said(2, "?"))}}},
      {"empty_answer", {.messages = {User(Said(0, "Hi")), Assistant(""), User(Said(2, "?"))}}},
      {"marks_of_templates",
       {.messages = {User(chatml + Said(0, others) + chatml), Assistant(Said(1, chatml)),
                     User(others + Said(2, chatml) + others)}}},
      {"wrapped_result",
       {.messages = {User(Said(0, "Hi")), Thinks(1, "Ho"),
                     User("<tool_response>\n" + Said(2, "warm") + "\n</tool_response>"),
                     Thinks(3, "Hu"), User(Said(4, "?"))}}},
      {"wrapped_result_last",
       {.messages = {User(Said(0, "Hi")), Thinks(1, "Ho"),
                     User("<tool_response>\n" + Said(2, "warm") + "\n</tool_response>")}}},
      {"switches",
       {.messages = {User("/no_think " + Said(0, "Hi")), Assistant(Said(1, "Ho")),
                     User(Said(2, "?") + " /nothink")}}},
      {"switch_in_front",
       {.messages = {System(Said(0, "Be brief.")), User(Said(1, "Hi")), Assistant(Said(2, "Ho")),
                     User("/no_think " + Said(3, "?"))}}},
      {"many_bytes",
       {.messages = {User("\u00e9t\u00e9 " + Said(0, "\u65e5\u672c")),
                     Assistant("\U0001F600" + Said(1, "\U0001F600")),
                     User("\U0001F600\U0001F601" + Said(2, "\u00df") + "\u00e9")}}},
      {"spaces",
       {.messages = {User("\n  " + Said(0, "Hi") + " \n"), Assistant("  " + Said(1, "Ho") + "\n\n"),
                     User("\t" + Said(2, "?\n\n?") + "  ")}}},
      {"the_same_again",
       {.messages = {User("Hi"), Assistant("Hi"), User("Hi"), Assistant("Hi"), User("Hi")}}},
  };
}

}  // namespace

const std::vector<std::string>& FamilyNames() {
  static const auto* const names = new std::vector<std::string>{
      "cohere2-moe",   "command-r7b",      "deepseek-v3",   "deepseek-v3.2", "deepseek-v4",
      "deepseek-v4.1", "falcon-h1",        "gemma2",        "gemma3",        "gemma4",
      "glm-4.5",       "glm-4.7",          "glm-5.2",       "gpt-oss",       "granite4",
      "kimi-k2",       "kimi-k2-thinking", "kimi-k3",       "lfm2",          "llama3.1",
      "minimax-m2",    "minimax-m3",       "mistral-small", "mistral-v3",    "nemotron-3",
      "nemotron-h",    "qwen2.5",          "qwen3",         "qwen3-coder",   "qwen3.5",
      "seed-oss"};
  return *names;
}

std::unique_ptr<ChatTemplate> Family(const std::string& name) {
  auto parsed = ChatTemplate::Parse(ReadSourceFile("testdata/templates/" + name + ".jinja"),
                                    kFamilyBos, kFamilyEos);
  EXPECT_TRUE(parsed.has_value()) << name << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? *std::move(parsed) : nullptr;
}

std::vector<NamedConversation> FamilyConversations() {
  std::vector<NamedConversation> all = PlainConversations();
  for (auto* more : {ToolConversations, OddConversations, SystemConversations, CallConversations}) {
    for (NamedConversation& named : more()) all.push_back(std::move(named));
  }
  // Noon in UTC, which is the same day almost everywhere.
  for (NamedConversation& named : all) named.conversation.now_unix_s = 1'700'049'600;
  return all;
}

std::string WrongBoundary(const Conversation& conversation, const std::string& text,
                          const TextShape& shape) {
  return BoundaryJudge(conversation, text, shape).Judge();
}

}  // namespace cairn::test
