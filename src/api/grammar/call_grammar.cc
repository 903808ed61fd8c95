#include "api/grammar/call_grammar.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/grammar/call_grammar_learned.h"
#include "api/grammar/call_or_text_grammar.h"
#include "api/grammar/call_values.h"
#include "api/grammar/json_grammar.h"
#include "api/grammar/json_schema.h"
#include "chat/parse/answer_parser.h"

namespace cairn {
namespace {

constexpr const char* kField = "tool_choice";
// Characters that some family does not allow in a tool's name.
constexpr std::string_view kNoName = "[]{}()\"'<> \t\r\n\\";

bool IsIdentifier(std::string_view text, std::string_view more) {
  const auto fits = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           more.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

ApiResult<Json> ObjectSchema(const Json& function, const std::string& place) {
  const auto found = function.find("parameters");
  if (found == function.end() || found->is_null()) return Json{{"type", "object"}};
  if (!found->is_object()) return tl::unexpected(FieldError(place, "a JSON schema"));
  Json schema = *found;
  if (!schema.contains("type")) schema["type"] = "object";
  if (schema["type"] != "object") {
    return tl::unexpected(FieldError(place + ".type", "'object'"));
  }
  return schema;
}

// Returns the tools that may be called, each once.
ApiResult<std::vector<CallableTool>> CallableTools(const Tools& offered, const ToolChoice& choice) {
  const std::unordered_set<std::string_view> wanted(choice.names.begin(), choice.names.end());
  std::unordered_set<std::string_view> callable;
  std::vector<CallableTool> tools;
  for (const Json& entry : offered.list()) {
    const Json* const function = NamedFunction(entry);
    if (function == nullptr) continue;
    const std::string& name = (*function)["name"].text();
    if (!wanted.empty() && !wanted.contains(name)) continue;
    if (!callable.insert(name).second) continue;
    if (name.empty() || name.find_first_of(kNoName) != std::string::npos) {
      return tl::unexpected(
          FieldError(kField, "a tool whose name can stand in a call, not '" + name + "'"));
    }
    const std::string place = "tools." + name + ".parameters";
    auto schema = ObjectSchema(*function, place);
    if (!schema) return tl::unexpected(schema.error());
    tools.push_back({name, *std::move(schema), place, "t" + std::to_string(tools.size()) + "-"});
  }
  for (const std::string& name : choice.names) {
    if (callable.contains(name)) continue;
    return tl::unexpected(FieldError(kField, "one of 'tools', not '" + name + "'"));
  }
  if (tools.empty()) return tl::unexpected(FieldError(kField, "'auto' where there are no 'tools'"));
  return tools;
}

// Returns one or more `item`s with `between` as separator.
std::string Repeated(const std::string& item, const std::string& between, bool several) {
  if (!several) return item;
  const std::string more = between.empty() ? item : GbnfLiteral(between) + " " + item;
  return item + " (" + more + ")" + GbnfTimes(0, kForcedCallsMax - 1);
}

void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  for (size_t at = text->find(from); at != std::string::npos;
       at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

// Writes the rules of a family; an error in a tool's schema stops it.
class CallWriter {
 public:
  CallWriter(std::vector<CallableTool> tools, bool several)
      : tools_(std::move(tools)), several_(several) {}

  ApiResult<std::string> Write(CallFormat format, std::string_view source) {
    switch (format) {
      case CallFormat::kHermes:
        return Whole(
            Repeated(Quoted("<tool_call>\n", Call("arguments"), "\n</tool_call>"), "\n", several_));
      case CallFormat::kGranite: {
        const bool closed = source.find("<|/tool_call|>") != std::string_view::npos;
        return Whole(Quoted("<|tool_call|>[", List("arguments"), closed ? "]<|/tool_call|>" : "]"));
      }
      case CallFormat::kLlamaJson:
        // The separator of several calls is unknown, because the template does not show it.
        return Whole(Call("parameters"));
      case CallFormat::kMistral:
        if (source.find("[ARGS]") == std::string_view::npos) {
          return Whole(Quoted("[TOOL_CALLS][", List("arguments"), "]"));
        }
        return Whole(Repeated(Choice([](const CallableTool& tool) {
                                return GbnfLiteral("[TOOL_CALLS]" + tool.name + "[ARGS]");
                              }),
                              "", several_));
      case CallFormat::kHarmony:
        return Harmony();
      case CallFormat::kLfm2:
        return Python("<|tool_call_start|>[", "]<|tool_call_end|>");
      case CallFormat::kLlamaPythonic:
        return Python("[", "]");
      case CallFormat::kQwenXml:
        return GrammarOfLearnedCalls(QwenXml(), tools_, several_ ? kForcedCallsMax : 1);
      case CallFormat::kMiniMaxM3:
      case CallFormat::kLearned:  // handled elsewhere
      case CallFormat::kNone:
        break;
    }
    return tl::unexpected(
        FieldError(kField, "'auto' or 'none': this model's tool call syntax is unknown"));
  }

 private:
  static std::string Quoted(std::string_view before, const std::string& inside,
                            std::string_view after) {
    return GbnfLiteral(before) + " " + inside + " " + GbnfLiteral(after);
  }

  std::string AddRule(const std::string& name, const std::string& rule) {
    rules_ += name + " ::= " + rule + "\n";
    return name;
  }

  // Returns the rule of a tool's arguments as JSON.
  std::string Arguments(const CallableTool& tool) {
    auto rules = RulesOfSchema(tool.schema, tool.place, tool.prefix);
    if (!rules && !error_) error_ = rules.error();
    if (rules) rules_ += *rules;
    return tool.prefix + "root";
  }

  // Returns a rule for a call of one of the tools: `begin`, its arguments as JSON, `end`.
  template <typename Begin>
  std::string Choice(Begin begin, const std::string& end = "") {
    std::string choices;
    for (const CallableTool& tool : tools_) {
      choices += choices.empty() ? "" : " | ";
      choices += begin(tool) + " " + Arguments(tool);
      if (!end.empty()) choices += " " + GbnfLiteral(end);
    }
    return AddRule("call", choices);
  }

  // {"name": …, "arguments": {…}}
  std::string Call(const std::string& arguments) {
    const auto begin = [&](const CallableTool& tool) {
      return GbnfLiteral("{\"name\": " + ToText(Json(tool.name)) + ", \"" + arguments + "\": ");
    };
    return Choice(begin, "}");
  }
  std::string List(const std::string& arguments) {
    return Repeated(Call(arguments), ", ", several_);
  }

  ApiResult<std::string> Whole(const std::string& root) {
    if (error_) return tl::unexpected(*error_);
    return "root ::= " + root + "\n" + rules_ + JsonRulesText();
  }

  // The reasoning is a separate, optional message, so the grammar contains it; callers do not put
  // reasoning before this grammar.
  ApiResult<std::string> Harmony() {
    const auto begin = [](const CallableTool& tool) {
      return GbnfLiteral("<|channel|>commentary to=functions." + tool.name +
                         " <|constrain|>json<|message|>");
    };
    const std::string call = Choice(begin);
    AddRule("analysis", GbnfLiteral("<|channel|>analysis<|message|>") + " thought");
    AddRule("thought", R"([^<] thought | "<" thought-tag)");
    AddRule("thought-tag", R"("|end|>" | "<" thought-tag | [^<|] thought)");
    auto text = Whole("(analysis " + GbnfLiteral("<|start|>assistant") + ")? " + call);
    if (text) *text = GbnfWithoutTags(*std::move(text));
    return text;
  }

  // [weather(city="Rome", days=2)]. JSON's literals are also Python's, except for one escape.
  ApiResult<std::string> Python(std::string_view before, std::string_view after) {
    std::string choices;
    for (const CallableTool& tool : tools_) {
      if (!IsIdentifier(tool.name, ".-")) {
        Refuse(kField, "a tool whose name this model can write in a call, not '" + tool.name + "'");
      }
      choices += choices.empty() ? "" : " | ";
      choices += Quoted(tool.name + "(", PythonArguments(tool), ")");
    }
    const std::string calls = Repeated(AddRule("call", choices), ", ", several_);
    auto text = Whole(Quoted(before, calls, after));
    if (text) ReplaceAll(R"("\\" ["\\/])", R"("\\" ["\\])", &*text);
    return text;
  }

  std::string PythonArguments(const CallableTool& tool) {
    std::vector<GbnfMember> written;
    for (const CallMember& member : Members(tool)) {
      if (!IsIdentifier(member.name, "")) {
        Refuse(tool.place + ".properties." + member.name, "named as a Python argument");
      }
      auto rules = RulesOfSchema(member.schema, member.place, member.prefix);
      if (!rules && !error_) error_ = rules.error();
      if (rules) rules_ += *rules;
      written.push_back(
          {GbnfLiteral(member.name + "=") + " " + member.prefix + "root", member.required});
    }
    const std::string all = GbnfMembers(written, ", ", tool.prefix, &rules_);
    return AddRule(tool.prefix + "args", all);
  }

  static LearnedCalls QwenXml() {
    LearnedCalls calls;
    calls.call_open = "<tool_call>\n<function=";
    calls.name_end = ">";
    calls.call_close = "\n</function>\n</tool_call>";
    calls.between = "\n";
    calls.several = true;
    calls.arguments = LearnedCalls::Arguments::kPairs;
    calls.key_open = "\n<parameter=";
    calls.string_open = calls.other_open = ">\n";
    calls.string_close = calls.other_close = "\n</parameter>";
    return calls;
  }

  // Returns the properties of a tool whose schema is an object with properties only.
  std::vector<CallMember> Members(const CallableTool& tool) {
    auto members = MembersOf(tool.schema, tool.place, tool.prefix);
    if (members) return *std::move(members);
    if (!error_) error_ = members.error();
    return {};
  }

  void Refuse(const std::string& place, const std::string& expected) {
    if (!error_) error_ = FieldError(place, expected);
  }

  const std::vector<CallableTool> tools_;
  const bool several_;
  std::string rules_;
  std::optional<ApiError> error_;
};

}  // namespace

ApiResult<std::string> GrammarOfCalls(const ChatTemplate& chat_template, const Tools& offered,
                                      const ToolChoice& choice) {
  auto tools = CallableTools(offered, choice);
  if (!tools) return tl::unexpected(tools.error());
  const CallFormat format = CallFormatOf(chat_template);
  if (format == CallFormat::kLearned) {
    return GrammarOfLearnedCalls(*chat_template.learned_calls(), *tools,
                                 choice.several ? kForcedCallsMax : 1);
  }
  return CallWriter(*std::move(tools), choice.several).Write(format, chat_template.source());
}

ApiResult<Tools> ApplyToolChoice(const ChatTemplate& chat_template, ChatRequest* request) {
  const ToolChoice& choice = request->tool_choice;
  const Tools& tools = request->conversation.tools;
  if (choice.kind == ToolChoice::Kind::kNone) return Tools();
  const bool forced = choice.kind == ToolChoice::Kind::kRequired;
  if (forced) {
    if (!request->grammar.empty() && !request->grammar_is_format) {
      return tl::unexpected(FieldError(kField, "'auto' or 'none' where the answer has a grammar"));
    }
    // A format is for texts, and the answer has none.
    auto grammar = GrammarOfCalls(chat_template, tools, choice);
    if (!grammar) return tl::unexpected(grammar.error());
    request->grammar = *std::move(grammar);
  }
  if (choice.names.size() > tools.size()) {
    return tl::unexpected(
        FieldError(kField, "a choice among 'tools': it names more than there are"));
  }
  if (!forced && request->grammar_is_format && !request->grammar.empty()) {
    request->grammar = GrammarOfCallsOrText(chat_template, tools, choice, request->grammar);
  }
  return choice.names.empty() ? tools : tools.Named(choice.names);
}

}  // namespace cairn
