#include "jinja/syntax/parser.h"

#include <algorithm>
#include <utility>

namespace cairn::jinja {

std::unique_ptr<Tree> Parser::Parse(std::string_view source) {
  Begin(source);
  tree().body = Subparse({});
  if (!unknown().empty()) FailAt(unknown().front().at, unknown().front().what);
  return TakeTree();
}

// --- Statements
// -----------------------------------------------------------------------------------

Body Parser::Subparse(const Ends& ends) {
  const Nesting nesting(this);
  Body body;
  while (!Now().Is(Type::kEnd)) {
    const Token& token = Now();
    if (token.Is(Type::kData)) {
      Stmt* const data = NewStmt(Stmt::Kind::kData, token.at);
      data->text = Take().text;
      body.push_back(data);
    } else if (token.Is(Type::kVariableBegin)) {
      Stmt* const output = NewStmt(Stmt::Kind::kOutput, Take().at);
      output->exprs.push_back(TupleOrOne(false, true, "", false, false));
      Expect(Type::kVariableEnd);
      body.push_back(output);
    } else {
      Take();
      const bool ended =
          Now().Is(Type::kName) && std::find(ends.begin(), ends.end(), Now().text) != ends.end();
      if (ended) return body;
      open_.push_back(Now().text);
      body.push_back(Statement());
      open_.pop_back();
      Expect(Type::kBlockEnd);
    }
  }
  return body;
}

Body Parser::Statements(const Ends& ends, bool drop_end) {
  SkipOperator(":");
  Expect(Type::kBlockEnd);
  Body body = Subparse(ends);
  if (Now().Is(Type::kEnd)) {
    FailAt(Now().at, "Unexpected end of template. '" + std::string(ends.back()) +
                         "' is missing for the block '" + open_.back() + "'");
  }
  if (drop_end) Take();
  return body;
}

const Stmt* Parser::Statement() {
  const Token& token = Now();
  if (!token.Is(Type::kName)) FailAt(token.at, "tag name expected");
  const std::string& tag = token.text;
  if (tag == "for") return For();
  if (tag == "if") return If();
  if (tag == "set") return Set();
  if (tag == "macro") return Macro();
  if (tag == "call") return CallBlock();
  if (tag == "filter") return FilterBlock();
  if (tag == "with") return With();
  if (tag == "block") return Block();
  if (tag == "generation") return Generation();
  if (tag == "print") return Print();
  if (tag == "break") return LoopControl(Stmt::Kind::kBreak);
  if (tag == "continue") return LoopControl(Stmt::Kind::kContinue);
  for (const std::string_view known : {"include", "import", "from", "extends", "autoescape"}) {
    if (tag == known) FailAt(token.at, "'" + tag + "' is not supported");
  }
  FailAt(token.at, "Encountered unknown tag '" + tag + "'.");
}

void Parser::CheckTarget(const Expr* target) const {
  if (target->kind == Expr::Kind::kTuple) {
    for (const Expr* item : target->items) CheckTarget(item);
  } else if (target->kind != Expr::Kind::kName && target->kind != Expr::Kind::kNamespaceRef) {
    FailAt(target->at, "can't assign to this");
  }
  if (target->kind == Expr::Kind::kName && target->name == kLoopName && loops_ > 0) {
    FailAt(target->at, "Can't assign to special loop variable in for-loop");
  }
}

const Expr* Parser::AssignTarget(bool with_namespace, std::string_view extra_end) {
  // A target is no use of the name.
  std::vector<Signature*> macros = std::exchange(this->macros(), {});
  const Expr* const target = TupleOrOne(true, true, extra_end, false, with_namespace);
  this->macros() = std::move(macros);
  CheckTarget(target);
  return target;
}

const Stmt* Parser::For() {
  Stmt* const loop = NewStmt(Stmt::Kind::kFor, Take().at);
  const size_t unknown = unknown_count();
  ++loops_;
  loop->target = AssignTarget(false, "in");
  --loops_;
  ExpectKeyword("in");
  loop->value = TupleOrOne(false, false, "recursive", false, false);
  if (SkipName("if")) loop->test = Expression();
  loop->recursive = SkipName("recursive");
  ++loops_;
  loop->body = Statements({"else", "endfor"}, false);
  --loops_;
  if (Take().text == "else") loop->otherwise = Statements({"endfor"}, true);
  MakeUnknownCertain(unknown);
  return loop;
}

const Stmt* Parser::If() {
  Stmt* const condition = NewStmt(Stmt::Kind::kIf, Take().at);
  const size_t unknown = unknown_count();
  while (true) {
    const Expr* const test = TupleOrOne(false, false, "", false, false);
    Body body = Statements({"elif", "else", "endif"}, false);
    condition->branches.emplace_back(test, std::move(body));
    const std::string end = Take().text;
    if (end == "elif") continue;
    if (end == "else") condition->otherwise = Statements({"endif"}, true);
    break;
  }
  ForgetUnknown(unknown);
  return condition;
}

const Stmt* Parser::Set() {
  const uint32_t at = Take().at;
  const Expr* const target = AssignTarget(true);
  if (SkipOperator("=")) {
    Stmt* const set = NewStmt(Stmt::Kind::kSet, at);
    set->target = target;
    set->value = TupleOrOne(false, true, "", false, false);
    return set;
  }
  Stmt* const set = NewStmt(Stmt::Kind::kSetBlock, at);
  set->target = target;
  set->value = Filters(nullptr);
  set->body = Statements({"endset"}, true);
  return set;
}

void Parser::ReadSignature(Signature* signature) {
  ExpectOperator("(");
  while (!Now().IsOperator(")")) {
    if (!signature->names.empty()) ExpectOperator(",");
    signature->names.push_back(NameIndex(ExpectName()));
    if (SkipOperator("=")) {
      signature->defaults.push_back(Expression());
    } else if (!signature->defaults.empty()) {
      FailAt(Now().at, "non-default argument follows default argument");
    }
  }
  ExpectOperator(")");
}

void Parser::ReadMacroBody(Stmt* macro, std::string_view end) {
  const size_t loops = std::exchange(loops_, 0);
  const size_t unknown = unknown_count();
  macros().push_back(&macro->signature);
  macro->body = Statements({end}, true);
  macros().pop_back();
  MakeUnknownCertain(unknown);
  loops_ = loops;
}

const Stmt* Parser::Macro() {
  Stmt* const macro = NewStmt(Stmt::Kind::kMacro, Take().at);
  macro->text = ExpectName();
  macro->name = NameIndex(macro->text);
  ReadSignature(&macro->signature);
  ReadMacroBody(macro, "endmacro");
  return macro;
}

const Stmt* Parser::CallBlock() {
  Stmt* const block = NewStmt(Stmt::Kind::kCallBlock, Take().at);
  if (Now().IsOperator("(")) ReadSignature(&block->signature);
  block->value = Expression();
  if (block->value->kind != Expr::Kind::kCall) FailAt(block->at, "expected call");
  ReadMacroBody(block, "endcall");
  return block;
}

const Stmt* Parser::FilterBlock() {
  Stmt* const block = NewStmt(Stmt::Kind::kFilterBlock, Take().at);
  block->value = Filters(nullptr, true);
  block->body = Statements({"endfilter"}, true);
  return block;
}

const Stmt* Parser::With() {
  Stmt* const with = NewStmt(Stmt::Kind::kWith, Take().at);
  while (!Now().Is(Type::kBlockEnd)) {
    if (!with->exprs.empty()) ExpectOperator(",");
    with->exprs.push_back(AssignTarget(false));
    ExpectOperator("=");
    with->exprs.push_back(Expression());
  }
  with->body = Statements({"endwith"}, true);
  return with;
}

const Stmt* Parser::Block() {
  Stmt* const block = NewStmt(Stmt::Kind::kBlock, Take().at);
  block->text = ExpectName();
  if (!blocks_.insert(block->text).second) {
    FailAt(block->at, "block '" + std::string(block->text) + "' defined twice");
  }
  block->scoped = SkipName("scoped");
  SkipName("required");
  const size_t loops = std::exchange(loops_, 0);
  block->body = Statements({"endblock"}, true);
  loops_ = loops;
  SkipName(block->text);
  return block;
}

const Stmt* Parser::Generation() {
  Stmt* const generation = NewStmt(Stmt::Kind::kGeneration, Take().at);
  const size_t loops = std::exchange(loops_, 0);
  generation->body = Statements({"endgeneration"}, true);
  loops_ = loops;
  return generation;
}

const Stmt* Parser::Print() {
  Stmt* const output = NewStmt(Stmt::Kind::kOutput, Take().at);
  while (!Now().Is(Type::kBlockEnd)) {
    if (!output->exprs.empty()) ExpectOperator(",");
    output->exprs.push_back(Expression());
  }
  return output;
}

const Stmt* Parser::LoopControl(Stmt::Kind kind) {
  const Token& token = Take();
  if (loops_ == 0) FailAt(token.at, "'" + token.text + "' outside loop");
  return NewStmt(kind, token.at);
}

}  // namespace cairn::jinja
