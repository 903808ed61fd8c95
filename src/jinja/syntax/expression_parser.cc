#include "jinja/syntax/expression_parser.h"

#include <algorithm>
#include <utility>

#include "jinja/run/builtins.h"

namespace cairn::jinja {

const Expr* ExpressionParser::Expression(bool with_condition) {
  return with_condition ? Condition() : Or();
}

const Expr* ExpressionParser::Condition() {
  const Nesting nesting(this);
  const size_t unknown = unknown_.size();
  const Expr* shown = Or();
  while (SkipName("if")) {
    Expr* const condition = NewExpr(Expr::Kind::kCondition, shown->at);
    condition->b = shown;
    condition->a = Or();
    if (SkipName("else")) condition->c = Condition();
    ForgetUnknown(unknown);
    shown = condition;
  }
  return shown;
}

const Expr* ExpressionParser::Or() {
  const Expr* left = And();
  while (Now().IsName("or")) {
    Expr* const node = NewExpr(Expr::Kind::kOr, Take().at);
    node->a = left;
    node->b = And();
    left = node;
  }
  return left;
}

const Expr* ExpressionParser::And() {
  const Expr* left = Not();
  while (Now().IsName("and")) {
    Expr* const node = NewExpr(Expr::Kind::kAnd, Take().at);
    node->a = left;
    node->b = Not();
    left = node;
  }
  return left;
}

const Expr* ExpressionParser::Not() {
  if (!Now().IsName("not")) return Compare();
  const Nesting nesting(this);
  Expr* const node = NewExpr(Expr::Kind::kNot, Take().at);
  node->a = Not();
  return node;
}

bool ExpressionParser::ReadComparison(Comparison* comparison) {
  constexpr std::pair<std::string_view, Comparison> kComparisons[] = {
      {"==", Comparison::kEq}, {"!=", Comparison::kNe}, {"<", Comparison::kLt},
      {"<=", Comparison::kLe}, {">", Comparison::kGt},  {">=", Comparison::kGe}};
  for (const auto& [name, meant] : kComparisons) {
    if (!SkipOperator(name)) continue;
    *comparison = meant;
    return true;
  }
  if (SkipName("in")) {
    *comparison = Comparison::kIn;
    return true;
  }
  if (!Now().IsName("not") || !Ahead().IsName("in")) return false;
  Take();
  Take();
  *comparison = Comparison::kNotIn;
  return true;
}

const Expr* ExpressionParser::Compare() {
  const Expr* const first = Sum();
  Expr* node = nullptr;
  Comparison comparison{};
  for (uint32_t at = Now().at; ReadComparison(&comparison); at = Now().at) {
    if (node == nullptr) {
      node = NewExpr(Expr::Kind::kCompare, at);
      node->a = first;
    }
    node->comparisons.emplace_back(comparison, Sum());
  }
  return node == nullptr ? first : node;
}

const Expr* ExpressionParser::Sum() {
  const Expr* left = Concat();
  while (Now().IsOperator("+") || Now().IsOperator("-")) {
    const Token& sign = Take();
    Expr* const node = NewExpr(Expr::Kind::kBinary, sign.at);
    node->operation = sign.text == "+" ? Arithmetic::kAdd : Arithmetic::kSub;
    node->a = left;
    node->b = Concat();
    left = node;
  }
  return left;
}

const Expr* ExpressionParser::Concat() {
  const Expr* const first = Product();
  if (!Now().IsOperator("~")) return first;
  Expr* const node = NewExpr(Expr::Kind::kConcat, Now().at);
  node->items.push_back(first);
  while (SkipOperator("~")) node->items.push_back(Product());
  return node;
}

const Expr* ExpressionParser::Product() {
  constexpr std::pair<std::string_view, Arithmetic> kProducts[] = {{"*", Arithmetic::kMul},
                                                                   {"/", Arithmetic::kDiv},
                                                                   {"//", Arithmetic::kFloorDiv},
                                                                   {"%", Arithmetic::kMod}};
  const Expr* left = Power();
  while (true) {
    const auto* const found =
        std::find_if(std::begin(kProducts), std::end(kProducts),
                     [this](const auto& known) { return Now().IsOperator(known.first); });
    if (found == std::end(kProducts)) return left;
    Expr* const node = NewExpr(Expr::Kind::kBinary, Take().at);
    node->operation = found->second;
    node->a = left;
    node->b = Power();
    left = node;
  }
}

// From the left, unlike Python's.
const Expr* ExpressionParser::Power() {
  const Expr* left = Unary(true);
  while (Now().IsOperator("**")) {
    Expr* const node = NewExpr(Expr::Kind::kBinary, Take().at);
    node->operation = Arithmetic::kPow;
    node->a = left;
    node->b = Unary(true);
    left = node;
  }
  return left;
}

const Expr* ExpressionParser::Unary(bool with_filter) {
  const Expr* node = nullptr;
  if (Now().IsOperator("-") || Now().IsOperator("+")) {
    const Nesting nesting(this);
    const Token& sign = Take();
    Expr* const signed_node =
        NewExpr(sign.text == "-" ? Expr::Kind::kNegative : Expr::Kind::kPositive, sign.at);
    signed_node->a = Unary(false);
    node = signed_node;
  } else {
    node = Primary();
  }
  node = Postfix(node);
  return with_filter ? FilterExpression(node) : node;
}

const Expr* ExpressionParser::NameOrLiteral(bool with_namespace) {
  const Token& token = Take();
  const std::string& name = token.text;
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    Expr* const node = NewExpr(Expr::Kind::kBool, token.at);
    node->boolean = name[0] == 't' || name[0] == 'T';
    return node;
  }
  if (name == "none" || name == "None") return NewExpr(Expr::Kind::kNone, token.at);
  if (with_namespace && Now().IsOperator(".")) {
    Take();
    Expr* const node = NewExpr(Expr::Kind::kNamespaceRef, token.at);
    node->name = NameIndex(name);
    node->text = ExpectName();
    return node;
  }
  Expr* const node = NewExpr(Expr::Kind::kName, token.at);
  node->text = name;
  node->name = NameIndex(name);
  for (Signature* macro : macros_) {
    macro->takes_caller |= node->name == kCallerName;
    macro->takes_rest |= node->name == kVarargsName;
    macro->takes_rest_names |= node->name == kKwargsName;
  }
  return node;
}

const Expr* ExpressionParser::StringLiteral() {
  Expr* const node = NewExpr(Expr::Kind::kString, Now().at);
  node->text = Now().text;
  node->boolean = Take().changed;
  while (Now().Is(Type::kString)) {
    node->text += Take().text;
    node->boolean = true;
  }
  return node;
}

const Expr* ExpressionParser::Primary(bool with_namespace) {
  const Token& token = Now();
  if (token.Is(Type::kName)) return NameOrLiteral(with_namespace);
  if (token.Is(Type::kString)) return StringLiteral();
  if (token.Is(Type::kInteger)) {
    Expr* const node = NewExpr(Expr::Kind::kInteger, token.at);
    node->integer = Take().integer;
    return node;
  }
  if (token.Is(Type::kFloat)) {
    Expr* const node = NewExpr(Expr::Kind::kFloat, token.at);
    node->floating = Take().floating;
    return node;
  }
  if (token.IsOperator("(")) {
    Take();
    const Expr* const node = TupleOrOne(false, true, "", true, false);
    ExpectOperator(")");
    return node;
  }
  if (token.IsOperator("[")) return ListLiteral();
  if (token.IsOperator("{")) return DictLiteral();
  FailAt(token.at, "unexpected " + Describe(token));
}

bool ExpressionParser::IsTupleEnd(std::string_view extra_end) const {
  if (Now().Is(Type::kVariableEnd) || Now().Is(Type::kBlockEnd) || Now().IsOperator(")")) {
    return true;
  }
  return !extra_end.empty() && Now().IsName(extra_end);
}

const Expr* ExpressionParser::TupleOrOne(bool simplified, bool with_condition,
                                         std::string_view extra_end, bool parenthesized,
                                         bool with_namespace) {
  const Nesting nesting(this);
  const uint32_t at = Now().at;
  std::vector<const Expr*> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) ExpectOperator(",");
    if (IsTupleEnd(extra_end)) break;
    items.push_back(simplified ? Primary(with_namespace) : Expression(with_condition));
    if (!Now().IsOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!items.empty()) return items[0];
    if (!parenthesized) FailAt(Now().at, "Expected an expression, got " + Describe(Now()));
  }
  Expr* const node = NewExpr(Expr::Kind::kTuple, at);
  node->items = std::move(items);
  return node;
}

const Expr* ExpressionParser::ListLiteral() {
  Expr* const node = NewExpr(Expr::Kind::kList, Take().at);
  while (!Now().IsOperator("]")) {
    if (!node->items.empty()) ExpectOperator(",");
    if (Now().IsOperator("]")) break;
    node->items.push_back(Expression());
  }
  ExpectOperator("]");
  return node;
}

const Expr* ExpressionParser::DictLiteral() {
  Expr* const node = NewExpr(Expr::Kind::kDict, Take().at);
  while (!Now().IsOperator("}")) {
    if (!node->items.empty()) ExpectOperator(",");
    if (Now().IsOperator("}")) break;
    node->items.push_back(Expression());
    ExpectOperator(":");
    node->items.push_back(Expression());
  }
  ExpectOperator("}");
  return node;
}

const Expr* ExpressionParser::Postfix(const Expr* node) {
  while (true) {
    if (Now().IsOperator(".") || Now().IsOperator("[")) {
      node = Subscript(node);
    } else if (Now().IsOperator("(")) {
      node = Call(node);
    } else {
      return node;
    }
  }
}

const Expr* ExpressionParser::FilterExpression(const Expr* node) {
  while (true) {
    if (Now().IsOperator("|")) {
      node = Filters(node);
    } else if (Now().IsName("is")) {
      node = Test(node);
    } else if (Now().IsOperator("(")) {
      node = Call(node);
    } else {
      return node;
    }
  }
}

const Expr* ExpressionParser::Subscript(const Expr* node) {
  const Token& token = Take();
  if (token.text == ".") {
    const Token& attribute = Take();
    if (attribute.Is(Type::kName)) {
      Expr* const made = NewExpr(Expr::Kind::kAttribute, token.at);
      made->a = node;
      made->text = attribute.text;
      return made;
    }
    if (!attribute.Is(Type::kInteger)) FailAt(attribute.at, "expected name or number");
    Expr* const index = NewExpr(Expr::Kind::kInteger, attribute.at);
    index->integer = attribute.integer;
    Expr* const made = NewExpr(Expr::Kind::kItem, token.at);
    made->a = node;
    made->b = index;
    return made;
  }
  std::vector<const Expr*> items;
  while (!Now().IsOperator("]")) {
    if (!items.empty()) ExpectOperator(",");
    items.push_back(Subscribed());
  }
  ExpectOperator("]");
  Expr* const made = NewExpr(Expr::Kind::kItem, token.at);
  made->a = node;
  if (items.size() == 1) {
    made->b = items[0];
  } else {
    Expr* const tuple = NewExpr(Expr::Kind::kTuple, token.at);
    tuple->items = std::move(items);
    made->b = tuple;
  }
  return made;
}

const Expr* ExpressionParser::Subscribed() {
  const uint32_t at = Now().at;
  const Expr* first = nullptr;
  if (!Now().IsOperator(":")) {
    first = Expression();
    if (!Now().IsOperator(":")) return first;
  }
  Take();
  Expr* const slice = NewExpr(Expr::Kind::kSlice, at);
  slice->a = first;
  const auto ends = [this] { return Now().IsOperator("]") || Now().IsOperator(","); };
  if (!Now().IsOperator(":") && !ends()) slice->b = Expression();
  if (SkipOperator(":") && !ends()) slice->c = Expression();
  return slice;
}

void ExpressionParser::CallArguments(Expr* call) {
  const uint32_t at = Now().at;
  ExpectOperator("(");
  const auto ensure = [&](bool valid) {
    if (!valid) FailAt(at, "invalid syntax for function call expression");
  };
  bool first = true;
  while (!Now().IsOperator(")")) {
    if (!first) {
      ExpectOperator(",");
      if (Now().IsOperator(")")) break;
    }
    first = false;
    if (SkipOperator("*")) {
      ensure(call->rest == nullptr && call->rest_names == nullptr);
      call->rest = Expression();
    } else if (SkipOperator("**")) {
      ensure(call->rest_names == nullptr);
      call->rest_names = Expression();
    } else if (Now().Is(Type::kName) && Ahead().IsOperator("=")) {
      ensure(call->rest_names == nullptr);
      std::string name = Now().text;
      Take();
      Take();
      for (const auto& known : call->names) {
        if (known.first == name) FailAt(Now().at, "keyword argument repeated: " + name);
      }
      call->names.emplace_back(std::move(name), Expression());
    } else {
      ensure(call->rest == nullptr && call->rest_names == nullptr && call->names.empty());
      call->items.push_back(Expression());
    }
  }
  ExpectOperator(")");
}

const Expr* ExpressionParser::Call(const Expr* node) {
  Expr* const call = NewExpr(Expr::Kind::kCall, Now().at);
  call->a = node;
  CallArguments(call);
  return call;
}

const Expr* ExpressionParser::Filters(const Expr* node, bool inline_start) {
  while (inline_start || Now().IsOperator("|")) {
    if (!inline_start) Take();
    inline_start = false;
    Expr* const filter = NewExpr(Expr::Kind::kFilter, Now().at);
    filter->text = ExpectName();
    while (SkipOperator(".")) filter->text += "." + ExpectName();
    filter->a = node;
    filter->filter = FindFilter(filter->text);
    if (filter->filter == nullptr && !knows_filter_(filter->text)) {
      unknown_.push_back({"No filter named '" + filter->text + "'.", filter->at});
    }
    if (Now().IsOperator("(")) CallArguments(filter);
    node = filter;
  }
  return node;
}

const Expr* ExpressionParser::Test(const Expr* node) {
  const uint32_t at = Take().at;
  const bool negated = SkipName("not");
  Expr* const test = NewExpr(Expr::Kind::kTest, at);
  test->a = node;
  test->text = ExpectName();
  while (SkipOperator(".")) test->text += "." + ExpectName();
  test->test = FindTest(test->text);
  if (test->test == nullptr) unknown_.push_back({"No test named '" + test->text + "'.", at});
  const Token& next = Now();
  if (next.IsOperator("(")) {
    CallArguments(test);
  } else if (((next.Is(Type::kName) && !next.IsName("else") && !next.IsName("or") &&
               !next.IsName("and")) ||
              next.Is(Type::kString) || next.Is(Type::kInteger) || next.Is(Type::kFloat) ||
              next.IsOperator("[") || next.IsOperator("{"))) {
    if (next.IsName("is")) FailAt(next.at, "You cannot chain multiple tests with is");
    const Nesting nesting(this);
    test->items.push_back(Postfix(Primary()));
  }
  if (!negated) return test;
  Expr* const made = NewExpr(Expr::Kind::kNot, at);
  made->a = test;
  return made;
}

void ExpressionParser::ForgetUnknown(size_t count) {
  const auto uncertain = [](const Unknown& unknown) { return !unknown.certain; };
  const auto from =
      unknown_.begin() + static_cast<std::ptrdiff_t>(std::min(count, unknown_.size()));
  unknown_.erase(std::remove_if(from, unknown_.end(), uncertain), unknown_.end());
}

void ExpressionParser::MakeUnknownCertain(size_t count) {
  for (size_t i = count; i < unknown_.size(); ++i) unknown_[i].certain = true;
}

}  // namespace cairn::jinja
