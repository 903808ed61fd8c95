// The parser of expressions, by Jinja's grammar.

#ifndef CAIRN_JINJA_SYNTAX_EXPRESSION_PARSER_H_
#define CAIRN_JINJA_SYNTAX_EXPRESSION_PARSER_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/syntax/token_reader.h"

namespace cairn::jinja {

class ExpressionParser : protected TokenReader {
 protected:
  // A name of a filter or test that nobody has. Jinja refuses it when it reads the template, unless
  // a condition may keep it from being reached.
  struct Unknown {
    std::string what;
    uint32_t at = 0;
    bool certain = false;
  };

  // `knows_filter` tells filters of the caller.
  ExpressionParser(const Limits& limits, std::function<bool(const std::string&)> knows_filter)
      : TokenReader(limits), knows_filter_(std::move(knows_filter)) {}
  ~ExpressionParser() = default;

  const Expr* Expression(bool with_condition = true);
  // One expression, or a tuple of several with commas between them.
  const Expr* TupleOrOne(bool simplified, bool with_condition, std::string_view extra_end,
                         bool parenthesized, bool with_namespace);
  const Expr* Filters(const Expr* node, bool inline_start = false);

  size_t unknown_count() const { return unknown_.size(); }
  const std::vector<Unknown>& unknown() const { return unknown_; }
  // Those noted since `count` may not be reached.
  void ForgetUnknown(size_t count);
  void MakeUnknownCertain(size_t count);
  // The macros around what is parsed, whose signatures learn what their bodies read.
  std::vector<Signature*>& macros() { return macros_; }

 private:
  const Expr* Condition();
  const Expr* Or();
  const Expr* And();
  const Expr* Not();
  const Expr* Compare();
  const Expr* Sum();
  const Expr* Concat();
  const Expr* Product();
  const Expr* Power();
  const Expr* Unary(bool with_filter);
  const Expr* Primary(bool with_namespace = false);
  const Expr* NameOrLiteral(bool with_namespace);
  const Expr* StringLiteral();
  const Expr* ListLiteral();
  const Expr* DictLiteral();
  const Expr* Postfix(const Expr* node);
  const Expr* FilterExpression(const Expr* node);
  const Expr* Subscript(const Expr* node);
  const Expr* Subscribed();
  const Expr* Call(const Expr* node);
  void CallArguments(Expr* call);
  const Expr* Test(const Expr* node);
  bool IsTupleEnd(std::string_view extra_end) const;
  bool ReadComparison(Comparison* comparison);

  const std::function<bool(const std::string&)> knows_filter_;
  std::vector<Unknown> unknown_;
  std::vector<Signature*> macros_;
};

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_SYNTAX_EXPRESSION_PARSER_H_
