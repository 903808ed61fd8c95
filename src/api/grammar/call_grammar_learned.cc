#include "api/grammar/call_grammar_learned.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/grammar/call_values.h"
#include "api/grammar/json_grammar.h"
#include "api/grammar/json_schema.h"

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
    return "root ::= " + root + "\n" + rules_ + JsonRulesText();
  }

 private:
  static std::string Literal(const std::string& text) {
    return text.empty() ? "" : GbnfLiteral(text);
  }

  std::string Call(const CallableTool& tool) {
    const std::string delimiter = " call-id " + Literal(syntax_.id_delimiter) + " ";
    std::string text = Literal(syntax_.call_open);
    if (syntax_.id == Id::kBeforeName) text += delimiter;
    if (syntax_.id == Id::kHoldsName) {
      text += " " + GbnfLiteral("functions." + tool.name + ":") + " [0-9]{1,3}";
    } else {
      text += " " + GbnfLiteral(tool.name);
    }
    if (syntax_.id == Id::kBehindName) text += " " + Literal(syntax_.id_delimiter) + " call-id";
    text += " " + Literal(syntax_.name_end) + " " + Arguments(tool) + " ";
    if (syntax_.id == Id::kBehindArguments) text += Literal(syntax_.id_delimiter) + " call-id ";
    return text + Literal(syntax_.call_close);
  }

  std::string Arguments(const CallableTool& tool) {
    if (syntax_.arguments == LearnedCalls::Arguments::kPairs) return Pairs(tool);
    Add(RulesOfSchema(tool.schema, tool.place, tool.prefix));
    return tool.prefix + "root";
  }

  std::string Pairs(const CallableTool& tool) {
    auto members = MembersOf(tool.schema, tool.place, tool.prefix);
    if (!members) {
      Refuse(members.error());
      return "";
    }
    AddTextRules();
    std::vector<GbnfMember> pairs;
    for (const CallMember& member : *members) {
      if (!IsKey(member.name)) {
        Refuse(FieldError(member.place, "named without the tags that this model writes"));
      }
      Add(RulesOfBareValue(member, syntax_));
      pairs.push_back({GbnfLiteral(syntax_.key_open + member.name) + " " + member.prefix + "bare",
                       member.required});
    }
    std::string rules;
    const std::string all = GbnfMembers(pairs, syntax_.pair_between, tool.prefix, &rules);
    rules_ += rules + tool.prefix + "args ::= " + all + "\n";
    return tool.prefix + "args";
  }

  // Returns whether the parser accepts a key of that name.
  bool IsKey(const std::string& name) const {
    if (name.empty() || name.find_first_of("<>\r\n") != std::string::npos) return false;
    for (const std::string* open : {&syntax_.string_open, &syntax_.other_open}) {
      const std::vector<std::string> parts = SyntaxParts(*open);
      if (!parts.empty() && name.find(parts[0]) != std::string::npos) return false;
    }
    return true;
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
