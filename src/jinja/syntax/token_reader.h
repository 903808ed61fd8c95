// Reads tokens one by one and makes nodes of the tree: what the parsers of expressions and of
// statements share.

#ifndef CAIRN_JINJA_SYNTAX_TOKEN_READER_H_
#define CAIRN_JINJA_SYNTAX_TOKEN_READER_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/run/nodes.h"
#include "jinja/syntax/lexer.h"
#include "jinja/value/heap.h"

namespace cairn::jinja {

class TokenReader {
 protected:
  using Type = Token::Type;

  // While one lives, the parser has recursed one level deeper. Throws SyntaxError beyond the limit.
  class Nesting {
   public:
    explicit Nesting(TokenReader* reader);
    ~Nesting() { --reader_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    TokenReader& reader_;
  };

  explicit TokenReader(const Limits& limits) : limits_(limits) {}
  ~TokenReader() = default;

  void Begin(std::string_view source);
  std::unique_ptr<Tree> TakeTree() { return std::move(tree_); }
  Tree& tree() { return *tree_; }

  const Token& Now() const { return tokens_[next_]; }
  const Token& Ahead() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  const Token& Take();
  bool SkipName(std::string_view name);
  bool SkipOperator(std::string_view name);
  void ExpectOperator(std::string_view name);
  void Expect(Type type);
  std::string ExpectName();
  void ExpectKeyword(std::string_view name);
  [[noreturn]] void FailAt(uint32_t at, std::string message) const;
  [[noreturn]] void FailUnexpected(std::string_view wanted) const;
  static std::string Describe(const Token& token);

  Expr* NewExpr(Expr::Kind kind, uint32_t at);
  Stmt* NewStmt(Stmt::Kind kind, uint32_t at);
  int NameIndex(const std::string& name);

 private:
  const Limits limits_;
  std::unique_ptr<Tree> tree_;
  std::map<std::string, int> names_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  size_t depth_ = 0;
};

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_SYNTAX_TOKEN_READER_H_
