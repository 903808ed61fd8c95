#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "jinja/run/builtins.h"
#include "jinja/run/interpreter.h"
#include "jinja/run/lookup.h"
#include "jinja/value/number.h"
#include "jinja/value/print.h"

namespace cairn::jinja {
namespace {

// Whether Jinja computes it when it compiles, which looks slices up in another way.
bool IsConstant(const Expr& expr, int depth) {
  if (depth > 50 || expr.kind == Expr::Kind::kName || expr.kind == Expr::Kind::kCall) return false;
  for (const char* const name : {"map", "select", "reject", "selectattr", "rejectattr"}) {
    if (expr.kind == Expr::Kind::kFilter && expr.text == name) return false;
  }
  const auto constant = [&](const Expr* part) {
    return part == nullptr || IsConstant(*part, depth + 1);
  };
  return constant(expr.a) && constant(expr.b) && constant(expr.c) &&
         std::all_of(expr.items.begin(), expr.items.end(), constant) &&
         std::all_of(expr.comparisons.begin(), expr.comparisons.end(),
                     [&](const auto& comparison) { return constant(comparison.second); });
}

Value Added(Interpreter& run, const Value& a, const Value& b) {
  TextData* const left = a.only_text();
  if (left == nullptr || left->safe || !b.is_text() || b.text().safe()) {
    return Operate(run, Arithmetic::kAdd, a, b);
  }
  // The text between two operators is nobody else's: it grows in place.
  TextBuilder sum(&run.heap(), left);
  sum.Append(b.text());
  return Value::Of(sum.Build());
}

Value WithSign(const Value& value, bool negative) {
  RequireDefined(value);
  if (!value.is_number()) {
    Raise(std::string("bad operand type for unary ") + (negative ? "-" : "+") + ": '" +
          TypeName(value) + "'");
  }
  if (value.is(Kind::kFloat)) return negative ? Value::Float(-value.floating()) : value;
  return negative ? Calculate(Arithmetic::kSub, Value::Integer(0), value)
                  : Value::Integer(value.integer());
}

bool Compared(Heap* heap, Comparison comparison, const Value& a, const Value& b) {
  switch (comparison) {
    case Comparison::kEq:
      return Equal(a, b, heap);
    case Comparison::kNe:
      return !Equal(a, b, heap);
    case Comparison::kIn:
      return IsIn(heap, a, b);
    case Comparison::kNotIn:
      return !IsIn(heap, a, b);
    default:
      break;
  }
  if (a.is_number() && b.is_number()) {
    const int order = CompareNumbers(a, b);
    if (order == 2) return false;
    if (comparison == Comparison::kLt) return order < 0;
    if (comparison == Comparison::kLe) return order <= 0;
    return comparison == Comparison::kGt ? order > 0 : order >= 0;
  }
  if (comparison == Comparison::kLt) return Less(a, b, "<", heap);
  if (comparison == Comparison::kLe) return Less(a, b, "<=", heap) || Equal(a, b, heap);
  if (comparison == Comparison::kGt) return !Less(a, b, ">", heap) && !Equal(a, b, heap);
  return !Less(a, b, ">=", heap);
}

}  // namespace

Value Interpreter::Eval(const Expr& expr) {
  const Depth depth(this, expr.at);
  heap_.Step();
  return EvalHere(expr);
}

Value Interpreter::EvalHere(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kNone:
      return Value::None();
    case Expr::Kind::kBool:
      return Value::Bool(expr.boolean);
    case Expr::Kind::kInteger:
      return Value::Integer(expr.integer);
    case Expr::Kind::kFloat:
      return Value::Float(expr.floating);
    case Expr::Kind::kString: {
      TextBuilder text(&heap_);
      text.AppendRun(expr.text, kTemplateSource, expr.at + 1, expr.boolean);
      return Value::Of(text.Build());
    }
    case Expr::Kind::kName:
      return EvalName(expr);
    case Expr::Kind::kNamespaceRef:
      return {};
    case Expr::Kind::kTuple:
    case Expr::Kind::kList:
      return EvalItems(expr);
    case Expr::Kind::kDict:
      return EvalDict(expr);
    case Expr::Kind::kAttribute: {
      const Value object = Eval(*expr.a);
      at_ = expr.at;
      return AttributeOf(*this, object, expr.text);
    }
    case Expr::Kind::kItem:
      return EvalSubscript(expr);
    case Expr::Kind::kSlice:
      Raise("a slice is not supported here");
    case Expr::Kind::kCall:
      return EvalCall(expr);
    case Expr::Kind::kFilter:
      return EvalFilter(expr, nullptr);
    case Expr::Kind::kTest:
      return EvalTest(expr);
    case Expr::Kind::kNot:
      return Value::Bool(!IsTrue(Eval(*expr.a)));
    case Expr::Kind::kNegative:
    case Expr::Kind::kPositive: {
      const Value value = Eval(*expr.a);
      at_ = expr.at;
      return WithSign(value, expr.kind == Expr::Kind::kNegative);
    }
    case Expr::Kind::kAnd:
    case Expr::Kind::kOr: {
      Value left = Eval(*expr.a);
      if (IsTrue(left) != (expr.kind == Expr::Kind::kAnd)) return left;
      return expr.kind == Expr::Kind::kAnd ? Eval(*expr.b) : InsteadOf(left, Eval(*expr.b));
    }
    case Expr::Kind::kBinary: {
      const Value a = Eval(*expr.a);
      const Value b = Eval(*expr.b);
      at_ = expr.at;
      return expr.operation == Arithmetic::kAdd ? Added(*this, a, b)
                                                : Operate(*this, expr.operation, a, b);
    }
    case Expr::Kind::kConcat:
      return EvalConcat(expr);
    case Expr::Kind::kCompare:
      return EvalCompare(expr);
    case Expr::Kind::kCondition:
      return EvalCondition(expr);
  }
  return {};
}

Value Interpreter::EvalName(const Expr& expr) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    heap_.Step(scope->variables.size() / 32);
    if (const Value* const found = scope->Find(expr.name)) return *found;
  }
  if (expr.name == watched_) {
    watched_at_ = out_ == whole_out_ ? std::optional(out_->size()) : std::nullopt;
  }
  const auto name = static_cast<size_t>(expr.name);
  if (defined_[name]) return root_[name];
  return Undefined("'" + expr.text + "' is undefined");
}

Value Interpreter::EvalItems(const Expr& expr) {
  std::vector<Value> items;
  items.reserve(expr.items.size());
  for (const Expr* const item : expr.items) items.push_back(Eval(*item));
  return expr.kind == Expr::Kind::kTuple ? MakeTuple(&heap_, std::move(items))
                                         : MakeList(&heap_, std::move(items));
}

Value Interpreter::EvalDict(const Expr& expr) {
  auto* const dict = heap_.New<DictObject>();
  for (size_t i = 0; i < expr.items.size(); i += 2) {
    const Value key = Eval(*expr.items[i]);
    const Value value = Eval(*expr.items[i + 1]);
    at_ = expr.at;
    HashOf(key, &heap_);
    dict->Set(key, value);
  }
  heap_.Charge(dict->items.size() * 2 * sizeof(Value));
  return Value::Of(Kind::kDict, dict);
}

Value Interpreter::EvalConcat(const Expr& expr) {
  TextBuilder text(&heap_);
  for (const Expr* const item : expr.items) {
    const Value value = Eval(*item);
    at_ = expr.at;
    AppendTextOf(value, &text);
  }
  return Value::Of(text.Build());
}

Value Interpreter::EvalCompare(const Expr& expr) {
  Value left = Eval(*expr.a);
  for (const auto& [comparison, operand] : expr.comparisons) {
    Value right = Eval(*operand);
    at_ = expr.at;
    if (!Compared(&heap_, comparison, left, right)) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

Value Interpreter::EvalSubscript(const Expr& expr) {
  const Value object = Eval(*expr.a);
  if (expr.b->kind != Expr::Kind::kSlice) {
    const Value key = Eval(*expr.b);
    at_ = expr.at;
    return ItemOf(*this, object, key);
  }
  const auto bound = [this](const Expr* at) { return at == nullptr ? Value::None() : Eval(*at); };
  const Value begin = bound(expr.b->a);
  const Value end = bound(expr.b->b);
  const Value step = bound(expr.b->c);
  at_ = expr.at;
  if (!IsSliceable(object) && !object.is_undefined() && printed_ != nullptr &&
      IsConstant(*printed_, 0)) {
    return Undefined(std::string(TypeName(object)) + " object has no such slice");
  }
  return SliceOf(*this, object, begin, end, step);
}

Arguments Interpreter::EvalArguments(const Expr& expr) {
  Arguments arguments;
  arguments.places.reserve(expr.items.size());
  for (const Expr* const item : expr.items) arguments.places.push_back(Eval(*item));
  for (const auto& [name, value] : expr.names) arguments.names.emplace_back(name, Eval(*value));
  if (expr.rest != nullptr) {
    for (Value& item : ItemsOf(&heap_, Eval(*expr.rest))) {
      arguments.places.push_back(std::move(item));
    }
  }
  if (expr.rest_names != nullptr) {
    const Value names = Eval(*expr.rest_names);
    if (!names.is_dict()) Raise("argument after ** must be a mapping");
    for (const auto& [key, value] : names.dict().items) {
      if (!key.is_text()) Raise("keywords must be strings");
      heap_.Step(arguments.names.size() / 16);
      for (const auto& known : arguments.names) {
        if (known.first == key.bytes()) {
          Raise("got multiple values for keyword argument '" + known.first + "'");
        }
      }
      arguments.names.emplace_back(key.bytes(), value);
    }
  }
  return arguments;
}

Value Interpreter::EvalCall(const Expr& expr) {
  const Value callee = Eval(*expr.a);
  const Arguments arguments = EvalArguments(expr);
  at_ = expr.at;
  return Call(callee, arguments);
}

Value Interpreter::EvalFilter(const Expr& expr, const Value* subject) {
  // The value that is filtered: the last of a chain is the filter block's own.
  const Value value = expr.a == nullptr ? (subject == nullptr ? Value() : *subject)
                      : expr.a->kind == Expr::Kind::kFilter && subject != nullptr
                          ? EvalFilter(*expr.a, subject)
                          : Eval(*expr.a);
  const Arguments arguments = EvalArguments(expr);
  at_ = expr.at;
  if (expr.filter == nullptr) return ApplyFilter(expr.text, value, arguments);
  return expr.filter->run(*this, value, Bound(expr.text, expr.filter->parameters, arguments));
}

Value Interpreter::EvalTest(const Expr& expr) {
  const Value value = Eval(*expr.a);
  const Arguments arguments = EvalArguments(expr);
  at_ = expr.at;
  if (expr.test == nullptr) Raise("No test named '" + expr.text + "'.");
  return Value::Bool(
      expr.test->run(*this, value, Bound(expr.text, expr.test->parameters, arguments)));
}

Value Interpreter::EvalCondition(const Expr& expr) {
  if (IsTrue(Eval(*expr.a))) return Eval(*expr.b);
  if (expr.c != nullptr) return Eval(*expr.c);
  return Undefined("the inline if-expression evaluated to false and no else section was defined.");
}

Value Interpreter::ApplyFilter(std::string_view name, const Value& value,
                               const Arguments& arguments) {
  heap_.Step();
  if (const FilterDefinition* const filter = FindFilter(name)) {
    return filter->run(*this, value, Bound(name, filter->parameters, arguments));
  }
  const auto own = filters_.find(name);
  if (own == filters_.end()) Raise("No filter named '" + std::string(name) + "'.");
  Arguments with_value = arguments;
  with_value.places.insert(with_value.places.begin(), value);
  return own->second(*this, with_value);
}

bool Interpreter::ApplyTest(std::string_view name, const Value& value, const Arguments& arguments) {
  heap_.Step();
  const TestDefinition* const test = FindTest(name);
  if (test == nullptr) Raise("No test named '" + std::string(name) + "'.");
  return test->run(*this, value, Bound(name, test->parameters, arguments));
}

Value Interpreter::Call(const Value& callee, const Arguments& arguments) {
  const Depth depth(this, at_);
  heap_.Step();
  switch (callee.kind()) {
    case Kind::kUndefined:
      RequireDefined(callee);
      break;
    case Kind::kFunction:
      return callee.as<FunctionObject>().function(*this, arguments);
    case Kind::kMethod: {
      const auto& method = callee.as<MethodObject>();
      const MethodDefinition& definition = *method.definition;
      return definition.run(*this, method.self,
                            Bound(definition.name, definition.parameters, arguments));
    }
    case Kind::kMacro:
      return CallMacro(callee.as<MacroObject>(), arguments);
    case Kind::kLoop:
      return CallLoop(callee.as<LoopObject>(), arguments);
    case Kind::kJoiner: {
      auto& joiner = callee.as<JoinerObject>();
      if (!arguments.places.empty() || !arguments.names.empty()) {
        Raise("joiner takes no arguments");
      }
      return std::exchange(joiner.used, true) ? joiner.separator : Made("");
    }
    default:
      break;
  }
  Raise(std::string("'") + TypeName(callee) + "' object is not callable");
}

}  // namespace cairn::jinja
