#include "api/grammar/call_or_text_grammar.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/grammar/call_grammar.h"
#include "api/grammar/rules/json_grammar.h"
#include "api/json.h"
#include "chat/parse/answer_parser.h"
#include "engine/grammar/grammar.h"

namespace cairn {
namespace {

constexpr std::string_view kRoot = "root";
constexpr std::string_view kTextPrefix = "text-";

// Returns the position behind the literal, class, comment or repetition that begins at `at`; `at`
// if none does.
size_t SkipUnnamed(std::string_view rules, size_t at) {
  const char open = rules[at];
  const char close = open == '"' ? '"' : open == '[' ? ']' : open == '{' ? '}' : '\n';
  if (open != '"' && open != '[' && open != '{' && open != '#') return at;
  for (++at; at < rules.size() && rules[at] != close; ++at) {
    if (rules[at] == '\\' && open != '#') ++at;
  }
  return std::min(at + 1, rules.size());
}

// Returns the rules with `prefix` before all of their names.
std::string WithPrefix(std::string_view rules, std::string_view prefix) {
  std::string renamed;
  for (size_t at = 0; at < rules.size();) {
    size_t end = SkipUnnamed(rules, at);
    if (end == at) {
      if (IsRuleNameChar(rules[at])) renamed += prefix;
      while (end < rules.size() && IsRuleNameChar(rules[end])) ++end;
      end = std::max(end, at + 1);
    }
    renamed += rules.substr(at, end - at);
    at = end;
  }
  return renamed;
}

// Whether the members of `properties` are all arguments that a tool takes.
bool HasPlainProperties(const Json& parameters) {
  constexpr std::array<std::string_view, 5> kMore = {"anyOf", "oneOf", "allOf", "$ref",
                                                     "patternProperties"};
  const auto others = parameters.find("additionalProperties");
  if (others != parameters.end() && *others != Json(false)) return false;
  return std::none_of(kMore.begin(), kMore.end(),
                      [&](std::string_view name) { return parameters.contains(name); });
}

// Returns the tool with arguments of the same names and any values, or with any arguments.
Json WithFreeArguments(const Json& tool, bool keeps_names) {
  Json parameters = {{"type", "object"}};
  const Json* const given = FindPointer(tool, "/function/parameters/properties");
  if (keeps_names && given != nullptr && given->is_object()) {
    parameters["properties"] = Json::object();
    for (const auto& [name, schema] : given->items()) {
      parameters["properties"][name] = Json::object();
    }
  }
  Json free = tool;
  free["function"]["parameters"] = std::move(parameters);
  return free;
}

class CallOrText {
 public:
  CallOrText(const ChatTemplate& chat_template, const Tools& callable, const ToolChoice& choice,
             const std::string& format)
      : template_(chat_template),
        answer_(FindAnswerFormat(chat_template, "", callable)),
        forced_{ToolChoice::Kind::kRequired, {}, choice.several},
        text_(WithPrefix(format, kTextPrefix)) {}

  // Nullopt if the model's syntax of calls is unknown.
  std::optional<std::string> Write() const {
    if (answer_.tools.empty() || answer_.calls == CallFormat::kNone) return std::nullopt;
    for (const bool frees_all : {false, true}) {
      auto tools = WritableTools(frees_all);
      if (!tools) continue;
      if (tools->empty()) return std::nullopt;
      const auto calls = GrammarOfCalls(template_, Tools(*std::move(tools)), forced_);
      if (!calls) continue;
      std::string rules = Joined(*calls);
      if (Grammar::Parse(rules)) return rules;
    }
    return FreeCalls();
  }

 private:
  // Whether arguments are written one by one, so that a grammar must know their names.
  bool HasNamedArguments() const {
    switch (answer_.calls) {
      case CallFormat::kLearned:
        return answer_.learned->arguments == LearnedCalls::Arguments::kPairs;
      case CallFormat::kQwenXml:
      case CallFormat::kLfm2:
      case CallFormat::kLlamaPythonic:
      case CallFormat::kMiniMaxM3:
        return true;
      default:
        return false;
    }
  }

  bool CanForce(const Json& tool) const {
    return GrammarOfCalls(template_, Tools(Json::array({tool})), forced_).has_value();
  }

  // Returns the tool, or the same with free arguments; nullopt if a grammar can have neither.
  std::optional<Json> Writable(const Json& tool, bool frees) const {
    const Json* const parameters = FindPointer(tool, "/function/parameters");
    const bool plain =
        parameters == nullptr || !parameters->is_object() || HasPlainProperties(*parameters);
    if (!frees && CanForce(tool)) return tool;
    if (HasNamedArguments() && !plain) return std::nullopt;
    Json free = WithFreeArguments(tool, plain);
    if (!CanForce(free)) return std::nullopt;
    return free;
  }

  std::optional<Json> WritableTools(bool frees_all) const {
    Json tools = Json::array();
    for (const Json& entry : answer_.tools.list()) {
      if (NamedFunction(entry) == nullptr) continue;
      auto tool = Writable(entry, frees_all);
      if (!tool) return std::nullopt;
      tools.push_back(*std::move(tool));
    }
    return tools;
  }

  // The rules of the calls begin with their root.
  std::string Joined(const std::string& calls) const {
    const std::string named = "calls" + calls.substr(kRoot.size());
    const std::string text = std::string(kTextPrefix) + std::string(kRoot);
    if (answer_.calls != CallFormat::kHarmony) {
      return "root ::= calls | " + text + "\n" + named + "\n" + text_ + "\n";
    }
    // The text is a message of its own too, and may be without a header.
    const std::string header = GbnfLiteral("<|channel|>final") + " " +
                               GbnfLiteral(" <|constrain|>json") + "? " +
                               GbnfLiteral("<|message|>");
    return "root ::= calls | (analysis " + GbnfLiteral("<|start|>assistant") + ")? (" + header +
           ")? " + text + "\n" + named + "\n" + GbnfWithoutTags(text_) + "\n";
  }

  std::optional<std::string> FreeCalls() const {
    std::string begins;
    for (const std::string& begin : CallBeginsOf(answer_)) {
      begins += (begins.empty() ? "" : " | ") + GbnfLiteral(begin);
    }
    if (begins.empty()) return std::nullopt;
    return Joined("root ::= (" + begins + ") .*\nanalysis ::= \"\"\n");
  }

  const ChatTemplate& template_;
  const AnswerFormat answer_;
  const ToolChoice forced_;
  const std::string text_;
};

}  // namespace

std::string GrammarOfCallsOrText(const ChatTemplate& chat_template, const Tools& offered,
                                 const ToolChoice& choice, const std::string& format) {
  const Tools callable = choice.names.empty() ? offered : offered.Named(choice.names);
  return CallOrText(chat_template, callable, choice, format).Write().value_or(format);
}

}  // namespace cairn
