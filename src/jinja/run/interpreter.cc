#include "jinja/run/interpreter.h"

#include <algorithm>
#include <utility>

#include "jinja/run/builtins.h"
#include "jinja/value/print.h"

namespace cairn::jinja {

void Scope::Set(int name, const Value& value) {
  for (auto& [known, held] : variables) {
    if (known != name) continue;
    held = value;
    return;
  }
  variables.emplace_back(name, value);
}

const Value* Scope::Find(int name) const {
  for (const auto& [known, held] : variables) {
    if (known == name) return &held;
  }
  return nullptr;
}

Interpreter::Interpreter(const Tree& tree, const Filters& filters, Heap* heap)
    : tree_(tree),
      filters_(filters),
      heap_(*heap),
      root_(tree.names.size()),
      defined_(tree.names.size()) {
  for (size_t i = kSpecialNames; i < tree.names.size(); ++i) {
    Value global = MakeGlobal(&heap_, tree.names[i]);
    if (global.is_undefined()) continue;
    root_[i] = std::move(global);
    defined_[i] = true;
  }
}

void Interpreter::Define(std::string_view name, const Value& value) {
  const int index = tree_.NameOf(std::string(name));
  if (index < 0) return;
  root_[static_cast<size_t>(index)] = value;
  defined_[static_cast<size_t>(index)] = true;
}

std::optional<size_t> Interpreter::Run(TextBuilder* out, const std::string& watched) {
  stack_begin_ = static_cast<const char*>(__builtin_frame_address(0));
  out_ = out;
  whole_out_ = out;
  watched_ = tree_.NameOf(watched);
  top_ = scope_ = NewScope(nullptr);
  Exec(tree_.body);
  return watched_at_;
}

Scope* Interpreter::NewScope(Scope* parent) {
  auto* const scope = heap_.New<Scope>();
  scope->parent = parent;
  return scope;
}

Interpreter::Flow Interpreter::Exec(const Body& body) {
  for (const Stmt* const stmt : body) {
    const Flow flow = ExecOne(*stmt);
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

Interpreter::Flow Interpreter::ExecOne(const Stmt& stmt) {
  const Depth depth(this, stmt.at);
  heap_.Step();
  switch (stmt.kind) {
    case Stmt::Kind::kData:
      out_->AppendRun(stmt.text, kTemplateSource, stmt.at, false);
      break;
    case Stmt::Kind::kOutput:
      ExecOutput(stmt);
      break;
    case Stmt::Kind::kFor:
      return RunLoop(stmt, Eval(*stmt.value), 0);
    case Stmt::Kind::kIf:
      return ExecIf(stmt);
    case Stmt::Kind::kSet:
      Assign(*stmt.target, Eval(*stmt.value));
      break;
    case Stmt::Kind::kSetBlock:
      ExecSetBlock(stmt);
      break;
    case Stmt::Kind::kMacro:
      scope_->Set(stmt.name, MakeMacro(stmt, stmt.text));
      break;
    case Stmt::Kind::kCallBlock:
      ExecCallBlock(stmt);
      break;
    case Stmt::Kind::kFilterBlock: {
      const Value text = Value::Of(Captured(stmt.body, NewScope(scope_), nullptr));
      AppendTextOf(EvalFilter(*stmt.value, &text), out_);
      break;
    }
    case Stmt::Kind::kWith:
      return ExecWith(stmt);
    case Stmt::Kind::kBlock:
      ExecBlock(stmt);
      break;
    case Stmt::Kind::kGeneration:
      out_->Append(Captured(stmt.body, NewScope(scope_), nullptr));
      break;
    case Stmt::Kind::kBreak:
      return Flow::kBreak;
    case Stmt::Kind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kOn;
}

void Interpreter::ExecOutput(const Stmt& stmt) {
  for (const Expr* const expr : stmt.exprs) {
    const Expr* const outer = std::exchange(printed_, expr);
    const Value value = Eval(*expr);
    printed_ = outer;
    at_ = stmt.at;
    AppendTextOf(value, out_);
  }
}

Interpreter::Flow Interpreter::ExecIf(const Stmt& stmt) {
  for (const auto& [test, body] : stmt.branches) {
    if (IsTrue(Eval(*test))) return Exec(body);
  }
  return Exec(stmt.otherwise);
}

Text Interpreter::Captured(const Body& body, Scope* scope, Flow* flow) {
  TextBuilder text(&heap_);
  TextBuilder* const outer = std::exchange(out_, &text);
  Scope* const around = std::exchange(scope_, scope);
  const Flow ended = Exec(body);
  if (flow != nullptr) *flow = ended;
  out_ = outer;
  scope_ = around;
  return text.Build();
}

void Interpreter::Assign(const Expr& target, const Value& value) {
  at_ = target.at;
  if (target.kind == Expr::Kind::kName) {
    heap_.Step(scope_->variables.size() / 32);
    return scope_->Set(target.name, value);
  }
  if (target.kind == Expr::Kind::kNamespaceRef) {
    const Value space = EvalName(target);
    if (!space.is(Kind::kNamespace)) Raise("cannot assign attribute on non-namespace object");
    space.as<NamespaceObject>().attributes.Set(Made(target.text), value);
    return;
  }
  const std::vector<Value> items = ItemsOf(&heap_, value);
  if (items.size() != target.items.size()) {
    Raise(items.size() < target.items.size() ? "not enough values to unpack"
                                             : "too many values to unpack");
  }
  for (size_t i = 0; i < items.size(); ++i) Assign(*target.items[i], items[i]);
}

void Interpreter::ExecSetBlock(const Stmt& stmt) {
  Value value = Value::Of(Captured(stmt.body, NewScope(scope_), nullptr));
  if (stmt.value != nullptr) value = EvalFilter(*stmt.value, &value);
  Assign(*stmt.target, value);
}

Interpreter::Flow Interpreter::ExecWith(const Stmt& stmt) {
  Scope* const inner = NewScope(scope_);
  for (size_t i = 0; i < stmt.exprs.size(); i += 2) {
    const Value value = Eval(*stmt.exprs[i + 1]);
    Scope* const around = std::exchange(scope_, inner);
    Assign(*stmt.exprs[i], value);
    scope_ = around;
  }
  Scope* const around = std::exchange(scope_, inner);
  const Flow flow = Exec(stmt.body);
  scope_ = around;
  return flow;
}

// Sees what the top of the template has set, or with `scoped` what is around it.
void Interpreter::ExecBlock(const Stmt& stmt) {
  Scope* const around = std::exchange(scope_, NewScope(stmt.scoped ? scope_ : top_));
  Exec(stmt.body);
  scope_ = around;
}

// --- Loops
// ----------------------------------------------------------------------------------------

bool Interpreter::Pull(LoopObject* loop) {
  const Stmt& stmt = *loop->loop;
  while (loop->next < loop->source.size()) {
    const Value& item = loop->source[loop->next++];
    if (stmt.test != nullptr) {
      Scope* const around = std::exchange(scope_, NewScope(loop->scope));
      Assign(*stmt.target, item);
      const bool passes = IsTrue(Eval(*stmt.test));
      scope_ = around;
      if (!passes) continue;
    }
    loop->items.push_back(item);
    return true;
  }
  return false;
}

Interpreter::Flow Interpreter::RunLoop(const Stmt& stmt, const Value& iterable, size_t depth) {
  at_ = stmt.at;
  auto* const loop = heap_.New<LoopObject>();
  loop->source = ItemsOf(&heap_, iterable);
  heap_.Charge(loop->source.size() * 2 * sizeof(Value));
  loop->loop = &stmt;
  loop->scope = scope_;
  loop->depth = depth;
  const Value loop_value = Value::Of(Kind::kLoop, loop);
  Scope* const around = scope_;
  bool finished_a_turn = false;
  Scope* inner = nullptr;
  for (; loop->index < loop->items.size() || Pull(loop); ++loop->index) {
    // A macro that was defined in a turn keeps its scope.
    if (inner == nullptr || inner->captured) inner = NewScope(around);
    inner->variables.clear();
    scope_ = inner;
    inner->Set(kLoopName, loop_value);
    Assign(*stmt.target, loop->items[loop->index]);
    const Flow flow = Exec(stmt.body);
    scope_ = around;
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kOn) finished_a_turn = true;
  }
  if (finished_a_turn || stmt.otherwise.empty()) return Flow::kOn;
  scope_ = NewScope(around);
  const Flow flow = Exec(stmt.otherwise);
  scope_ = around;
  return flow;
}

Value Interpreter::CallLoop(const LoopObject& loop, const Arguments& arguments) {
  if (!loop.loop->recursive) {
    Raise("The loop must have the 'recursive' marker to be called recursively.");
  }
  if (arguments.places.size() != 1 || !arguments.names.empty()) Raise("loop() takes one argument");
  TextBuilder text(&heap_);
  TextBuilder* const outer = std::exchange(out_, &text);
  Scope* const around = std::exchange(scope_, loop.scope);
  RunLoop(*loop.loop, arguments.places[0], loop.depth + 1);
  out_ = outer;
  scope_ = around;
  return Value::Of(text.Build());
}

// --- Macros
// ---------------------------------------------------------------------------------------

Value Interpreter::MakeMacro(const Stmt& stmt, std::string name) {
  for (Scope* scope = scope_; scope != nullptr && !scope->captured; scope = scope->parent) {
    scope->captured = true;
  }
  auto* const macro = heap_.New<MacroObject>();
  macro->macro = &stmt;
  macro->scope = scope_;
  macro->name = std::move(name);
  macro->names = &tree_.names;
  return Value::Of(Kind::kMacro, macro);
}

void Interpreter::ExecCallBlock(const Stmt& stmt) {
  const Value caller = MakeMacro(stmt, "caller");
  const Value callee = Eval(*stmt.value->a);
  Arguments arguments = EvalArguments(*stmt.value);
  arguments.names.emplace_back("caller", caller);
  at_ = stmt.at;
  AppendTextOf(Call(callee, arguments), out_);
}

Value Interpreter::CallMacro(const MacroObject& macro, const Arguments& arguments) {
  const Signature& signature = macro.macro->signature;
  const size_t count = signature.names.size();
  Scope* const scope = NewScope(macro.scope);
  std::vector<bool> used(arguments.names.size());
  const auto named = [&](std::string_view name) -> const Value* {
    heap_.Step(used.size() / 16);
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i] || arguments.names[i].first != name) continue;
      used[i] = true;
      return &arguments.names[i].second;
    }
    return nullptr;
  };
  std::vector<const Value*> given(count);
  for (size_t i = 0; i < count; ++i) {
    given[i] = i < arguments.places.size()
                   ? &arguments.places[i]
                   : named(tree_.names[static_cast<size_t>(signature.names[i])]);
  }
  if (signature.takes_caller) {
    const Value* const caller = named("caller");
    scope->Set(kCallerName, caller != nullptr ? *caller : Undefined("No caller defined"));
  }
  TakeRest(macro, arguments, used, scope);
  Scope* const around = std::exchange(scope_, scope);
  for (size_t i = 0; i < count; ++i) {
    const size_t without = count - signature.defaults.size();
    if (given[i] != nullptr) {
      scope->Set(signature.names[i], *given[i]);
    } else if (i >= without) {
      scope->Set(signature.names[i], Eval(*signature.defaults[i - without]));
    } else {
      scope->Set(signature.names[i],
                 Undefined("parameter '" + tree_.names[static_cast<size_t>(signature.names[i])] +
                           "' was not provided"));
    }
  }
  scope_ = around;
  return Value::Of(Captured(macro.macro->body, scope, nullptr));
}

// The arguments that no parameter takes.
void Interpreter::TakeRest(const MacroObject& macro, const Arguments& arguments,
                           const std::vector<bool>& used, Scope* scope) {
  const Signature& signature = macro.macro->signature;
  auto* const names = heap_.New<DictObject>();
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    const auto& [name, value] = arguments.names[i];
    if (!signature.takes_rest_names) {
      Raise("macro '" + macro.name + "' takes no keyword argument '" + name + "'");
    }
    names->Set(Made(name), value);
  }
  if (signature.takes_rest_names) scope->Set(kKwargsName, Value::Of(Kind::kDict, names));
  const size_t count = std::min(signature.names.size(), arguments.places.size());
  if (!signature.takes_rest && count < arguments.places.size()) {
    Raise("macro '" + macro.name + "' takes not more than " + std::to_string(count) +
          " argument(s)");
  }
  if (!signature.takes_rest) return;
  const auto begin = arguments.places.begin() + static_cast<std::ptrdiff_t>(count);
  scope->Set(kVarargsName, MakeTuple(&heap_, {begin, arguments.places.end()}));
}

}  // namespace cairn::jinja
