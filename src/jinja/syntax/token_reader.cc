#include "jinja/syntax/token_reader.h"

#include <utility>

namespace cairn::jinja {

TokenReader::Nesting::Nesting(TokenReader* reader) : reader_(*reader) {
  if (++reader_.depth_ <= reader_.limits_.nesting_max) return;
  --reader_.depth_;
  reader_.FailAt(
      reader_.Now().at,
      "it is nested more than " + std::to_string(reader_.limits_.nesting_max) + " levels deep");
}

void TokenReader::Begin(std::string_view source) {
  tree_ = std::make_unique<Tree>();
  tree_->source = NormalizedSource(source);
  for (const char* const name : {"loop", "caller", "varargs", "kwargs"}) NameIndex(name);
  tokens_ = Tokenize(tree_->source);
}

const Token& TokenReader::Take() {
  const Token& token = tokens_[next_];
  if (next_ + 1 < tokens_.size()) ++next_;
  return token;
}

bool TokenReader::SkipName(std::string_view name) {
  if (!Now().IsName(name)) return false;
  Take();
  return true;
}

bool TokenReader::SkipOperator(std::string_view name) {
  if (!Now().IsOperator(name)) return false;
  Take();
  return true;
}

void TokenReader::ExpectOperator(std::string_view name) {
  if (!SkipOperator(name)) FailUnexpected("'" + std::string(name) + "'");
}

void TokenReader::Expect(Type type) {
  if (!Now().Is(type)) {
    FailUnexpected(type == Type::kBlockEnd      ? "end of statement block"
                   : type == Type::kVariableEnd ? "end of print statement"
                                                : "name");
  }
  Take();
}

std::string TokenReader::ExpectName() {
  if (!Now().Is(Type::kName)) FailUnexpected("name");
  return Take().text;
}

void TokenReader::ExpectKeyword(std::string_view name) {
  if (!SkipName(name)) FailUnexpected("'" + std::string(name) + "'");
}

void TokenReader::FailAt(uint32_t at, std::string message) const {
  throw SyntaxError{std::move(message), at};
}

void TokenReader::FailUnexpected(std::string_view wanted) const {
  FailAt(Now().at, "expected " + std::string(wanted) + ", got " + Describe(Now()));
}

std::string TokenReader::Describe(const Token& token) {
  switch (token.type) {
    case Type::kData:
      return "template data";
    case Type::kVariableBegin:
      return "begin of print statement";
    case Type::kVariableEnd:
      return "end of print statement";
    case Type::kBlockBegin:
      return "begin of statement block";
    case Type::kBlockEnd:
      return "end of statement block";
    case Type::kInteger:
      return "an integer";
    case Type::kFloat:
      return "a float";
    case Type::kEnd:
      return "end of template";
    case Type::kString:
      return "a string";
    case Type::kName:
    case Type::kOperator:
      break;
  }
  return "'" + token.text + "'";
}

Expr* TokenReader::NewExpr(Expr::Kind kind, uint32_t at) {
  tree_->exprs.push_back({.kind = kind, .at = at});
  return &tree_->exprs.back();
}

Stmt* TokenReader::NewStmt(Stmt::Kind kind, uint32_t at) {
  tree_->stmts.push_back({.kind = kind, .at = at});
  return &tree_->stmts.back();
}

int TokenReader::NameIndex(const std::string& name) {
  const auto [known, is_new] = names_.emplace(name, static_cast<int>(tree_->names.size()));
  if (is_new) tree_->names.push_back(name);
  return known->second;
}

}  // namespace cairn::jinja
