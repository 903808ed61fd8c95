// Parser: tokens to a Tree, by Jinja's grammar with loop controls and `generation`.
//
// Recursion follows the nesting of the template, which Limits::nesting_max bounds.

#ifndef CAIRN_JINJA_SYNTAX_PARSER_H_
#define CAIRN_JINJA_SYNTAX_PARSER_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/syntax/expression_parser.h"

namespace cairn::jinja {

class Parser : private ExpressionParser {
 public:
  // `knows_filter` tells filters of the caller.
  Parser(const Limits& limits, std::function<bool(const std::string&)> knows_filter)
      : ExpressionParser(limits, std::move(knows_filter)) {}

  // Throws SyntaxError.
  std::unique_ptr<Tree> Parse(std::string_view source);

 private:
  using Ends = std::vector<std::string_view>;

  Body Subparse(const Ends& ends);
  Body Statements(const Ends& ends, bool drop_end);
  const Stmt* Statement();
  const Stmt* For();
  const Stmt* If();
  const Stmt* Set();
  const Stmt* Macro();
  const Stmt* CallBlock();
  const Stmt* FilterBlock();
  const Stmt* With();
  const Stmt* Block();
  const Stmt* Generation();
  const Stmt* Print();
  const Stmt* LoopControl(Stmt::Kind kind);
  const Expr* AssignTarget(bool with_namespace, std::string_view extra_end = "");
  void CheckTarget(const Expr* target) const;
  void ReadSignature(Signature* signature);
  void ReadMacroBody(Stmt* macro, std::string_view end);

  size_t loops_ = 0;                   // around the statement, within its function
  std::set<std::string_view> blocks_;  // the names of all blocks so far
  std::vector<std::string> open_;      // tags that are not closed, for errors
};

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_SYNTAX_PARSER_H_
