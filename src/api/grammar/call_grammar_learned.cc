#include "api/grammar/call_grammar_learned.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/grammar/argument_rules.h"
#include "api/grammar/rules/json_grammar.h"
#include "api/json.h"

namespace cairn {
namespace {

using Id = LearnedCalls::Id;

class LearnedWriter {
 public:
  explicit LearnedWriter(const LearnedCalls& syntax) : syntax_(syntax) {}

  ApiResult<std::string> Write(const std::vector<CallableTool>& tools, size_t calls_max) {
    std::string calls;
    for (const CallableTool& tool : tools) calls += (calls.empty() ? "" : " | ") + Call(tool);
    rules_ += "call ::= " + calls + "\n";
    if (syntax_.id != Id::kNone && syntax_.id != Id::kHoldsName) {
      rules_ += std::string("call-id ::= ") +
                (syntax_.id_is_counter ? "[0-9]{1,3}" : "[a-zA-Z0-9]{9}") + "\n";
    }
    if (error_) return tl::unexpected(*error_);
    std::string root = "call";
    if (syntax_.several && calls_max > 1) {
      root += " (" + Literal(syntax_.between) + " call)" + GbnfTimes(0, calls_max - 1);
    }
    root = Literal(syntax_.block_open) + " " + root + " " + Literal(syntax_.block_close);
    return WithJsonRules("root ::= " + root + "\n" + rules_);
  }

 private:
  static std::string Literal(const std::string& text) {
    return text.empty() ? "" : GbnfLiteral(text);
  }

  std::string Call(const CallableTool& tool) {
    CheckName(tool.name);
    const std::string delimiter = " call-id " + Literal(syntax_.id_delimiter) + " ";
    std::string text = Literal(syntax_.call_open);
    if (syntax_.id == Id::kBeforeName) text += delimiter;
    if (syntax_.id == Id::kHoldsName) {
      text += " " + GbnfLiteral("functions." + tool.name + ":") + " [0-9]{1,3}";
    } else {
      // Within JSON the name is a string of it.
      const std::string quoted = ToText(Json(tool.name));
      text +=
          " " + GbnfLiteral(syntax_.is_object() ? quoted.substr(1, quoted.size() - 2) : tool.name);
    }
    if (syntax_.id == Id::kBehindName) text += " " + Literal(syntax_.id_delimiter) + " call-id";
    text += " " + Literal(syntax_.name_end) + " " + Arguments(tool) + " ";
    if (syntax_.id == Id::kBehindArguments) text += Literal(syntax_.id_delimiter) + " call-id ";
    return text + Literal(syntax_.call_close);
  }

  // A name ends where the syntax says so.
  void CheckName(const std::string& name) {
    if (syntax_.is_object()) return;
    const std::string behind = syntax_.name_end + syntax_.id_delimiter;
    const size_t mark = behind.find_first_not_of(" \t\r\n");
    const bool fits = name.find_first_of("\r\n<>") == std::string::npos &&
                      (mark == std::string::npos || name.find(behind[mark]) == std::string::npos);
    if (fits) return;
    Refuse(FieldError("tool_choice",
                      "a tool whose name this model can write in a call, not '" + name + "'"));
  }

  std::string Arguments(const CallableTool& tool) {
    if (syntax_.arguments == LearnedCalls::Arguments::kPairs) {
      AddTextRules();
      Add(RulesOfSchema(tool.schema, tool.target, [&](SchemaRules* rules, RuleSheet* sheet) {
        return ArgumentRules(syntax_, tool.target, rules, sheet).Write();
      }));
    } else {
      Add(RulesOfObjects(tool.schema, tool.target));
    }
    return tool.target.prefix + "root";
  }

  void AddTextRules() {
    if (std::exchange(has_text_rules_, true)) return;
    rules_ += BareTextRules(syntax_);
  }

  void Add(ApiResult<std::string> rules) {
    if (rules) rules_ += *rules;
    if (!rules) Refuse(rules.error());
  }
  void Refuse(const ApiError& error) {
    if (!error_) error_ = error;
  }

  const LearnedCalls& syntax_;
  std::string rules_;
  bool has_text_rules_ = false;
  std::optional<ApiError> error_;
};

}  // namespace

ApiResult<std::string> GrammarOfLearnedCalls(const LearnedCalls& syntax,
                                             const std::vector<CallableTool>& tools,
                                             size_t calls_max) {
  return LearnedWriter(syntax).Write(tools, calls_max);
}

}  // namespace cairn
