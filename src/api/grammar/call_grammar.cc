#include "api/grammar/call_grammar.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/grammar/argument_rules.h"
#include "api/grammar/call_grammar_learned.h"
#include "api/grammar/json_schema.h"
#include "api/grammar/rules/json_grammar.h"
#include "chat/parse/answer_parser.h"

namespace cairn {
namespace {

ApiResult<Json> ObjectSchema(const Json& function, const std::string& place) {
  const auto found = function.find("parameters");
  if (found == function.end() || found->is_null()) return Json{{"type", "object"}};
  if (!found->is_object()) return tl::unexpected(FieldError(place, "a JSON schema"));
  return *found;
}

// Returns the tools that may be called, each once.
ApiResult<std::vector<CallableTool>> CallableTools(const Tools& offered, const ToolChoice& choice,
                                                   Loosened* loosened) {
  const std::unordered_set<std::string_view> wanted(choice.names.begin(), choice.names.end());
  std::unordered_set<std::string_view> callable;
  std::vector<CallableTool> tools;
  for (const Json& entry : offered.list()) {
    const Json* const function = NamedFunction(entry);
    if (function == nullptr) continue;
    const std::string& name = (*function)["name"].text();
    if (!wanted.empty() && !wanted.contains(name)) continue;
    if (!callable.insert(name).second) continue;
    if (name.empty()) return tl::unexpected(FieldError(kToolChoiceField, "a tool with a name"));
    const std::string place = "tools." + name + ".parameters";
    auto schema = ObjectSchema(*function, place);
    if (!schema) return tl::unexpected(schema.error());
    RulesTarget target{place, "t" + std::to_string(tools.size()) + "-"};
    target.loosened = loosened;
    tools.push_back({name, *std::move(schema), std::move(target)});
  }
  // The rules of all tools together have the room of one schema's.
  for (CallableTool& tool : tools) tool.target.bytes_max /= tools.size();
  for (const std::string& name : choice.names) {
    if (callable.contains(name)) continue;
    return tl::unexpected(FieldError(kToolChoiceField, "one of 'tools', not '" + name + "'"));
  }
  if (tools.empty())
    return tl::unexpected(FieldError(kToolChoiceField, "'auto' where there are no 'tools'"));
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
        CheckNames("[]{} \t\r\n");
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
        FieldError(kToolChoiceField, "'auto' or 'none': this model's tool call syntax is unknown"));
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
    return Add(RulesOfObjects(tool.schema, tool.target), tool);
  }

  std::string Add(const ApiResult<std::string>& rules, const CallableTool& tool) {
    if (!rules && !error_) error_ = rules.error();
    if (rules) rules_ += *rules;
    return tool.target.prefix + "root";
  }

  // Refuses tools with characters in their names by which the family marks something else.
  void CheckNames(std::string_view marks) {
    for (const CallableTool& tool : tools_) {
      if (tool.name.find_first_of(marks) == std::string::npos) continue;
      Refuse(kToolChoiceField,
             "a tool whose name this model can write in a call, not '" + tool.name + "'");
    }
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
    return WithJsonRules("root ::= " + root + "\n" + rules_);
  }

  // The reasoning is a separate, optional message, so the grammar contains it; callers do not put
  // reasoning before this grammar.
  ApiResult<std::string> Harmony() {
    CheckNames("<>| \t\r\n");
    const auto begin = [](const CallableTool& tool) {
      return GbnfLiteral("<|channel|>commentary to=functions." + tool.name +
                         " <|constrain|>json<|message|>");
    };
    const std::string call = Choice(begin);
    AddRule("analysis", GbnfLiteral("<|channel|>analysis<|message|>") + " thought");
    AddRule("thought", R"([^<] thought | "<" thought-tag)");
    AddRule("thought-tag", R"("|end|>" | "<" thought-tag | [^<|] thought)");
    auto text = Whole("(analysis " + GbnfLiteral("<|start|>assistant") + ")? " + call);
    if (!text) return text;
    return GbnfWithoutTags(*std::move(text));
  }

  // [weather(city="Rome", days=2)]. JSON's literals are also Python's, except for one escape.
  ApiResult<std::string> Python(std::string_view before, std::string_view after) {
    std::string choices;
    for (const CallableTool& tool : tools_) {
      if (!IsIdentifier(tool.name, ".-")) {
        Refuse(kToolChoiceField,
               "a tool whose name this model can write in a call, not '" + tool.name + "'");
      }
      choices += choices.empty() ? "" : " | ";
      choices += Quoted(tool.name + "(", PythonOf(tool), ")");
    }
    const std::string calls = Repeated(AddRule("call", choices), ", ", several_);
    auto text = Whole(Quoted(before, calls, after));
    if (!text) return text;
    ReplaceAll(R"("\\" ["\\/])", R"("\\" ["\\])", &*text);
    ReplaceAll(R"([\"\\/])", R"([\"\\])", &*text);
    ReplaceAll(R"(x2f ::= "/" | ~"\\" ("/" | )", R"(x2f ::= "/" | ~"\\" ()", &*text);
    return text;
  }

  std::string PythonOf(const CallableTool& tool) {
    return Add(RulesOfSchema(tool.schema, tool.target,
                             [&](SchemaRules* rules, RuleSheet* sheet) {
                               return PythonArguments(tool.target, rules, sheet);
                             }),
               tool);
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
                                      const ToolChoice& choice, Loosened* loosened) {
  auto tools = CallableTools(offered, choice, loosened);
  if (!tools) return tl::unexpected(tools.error());
  const CallFormat format = CallFormatOf(chat_template);
  if (format == CallFormat::kLearned) {
    return GrammarOfLearnedCalls(*chat_template.learned_calls(), *tools,
                                 choice.several ? kForcedCallsMax : 1);
  }
  return CallWriter(*std::move(tools), choice.several).Write(format, chat_template.source());
}

}  // namespace cairn
