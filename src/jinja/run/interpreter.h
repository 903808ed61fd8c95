// Interpreter: runs a tree once.
//
// It recurses with the nesting of the template and of its calls, within Limits::depth_max and
// kStackBytesMax of C++'s stack: a thread that renders needs twice that much left. Errors are
// Failures; failed_at() is where in the source. One thread.

#ifndef CAIRN_JINJA_RUN_INTERPRETER_H_
#define CAIRN_JINJA_RUN_INTERPRETER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/run/nodes.h"
#include "jinja/value/heap.h"
#include "jinja/value/value.h"

namespace cairn::jinja {

inline constexpr size_t kStackBytesMax = 3U * 1024 * 1024;

using Filters = std::map<std::string, Function, std::less<>>;

// The variables of a block, a loop's turn or a macro's call.
struct Scope final : Object {
  Scope* parent = nullptr;
  std::vector<std::pair<int, Value>> variables;
  bool captured = false;  // by a macro, which outlives the block

  void Set(int name, const Value& value);
  const Value* Find(int name) const;  // here only
};

struct MacroObject final : Object {
  const Stmt* macro = nullptr;
  Scope* scope = nullptr;  // where it was defined
  std::string name;
  const std::vector<std::string>* names = nullptr;  // of the tree
};

struct LoopObject final : Object {
  std::vector<Value> source;
  size_t next = 0;           // of the source
  std::vector<Value> items;  // those of the source that pass the loop's test, as far as known
  size_t index = 0;          // of the current one
  size_t depth = 0;
  const Stmt* loop = nullptr;
  Scope* scope = nullptr;  // around the loop
  Value changed;           // the last arguments of loop.changed()
  bool has_changed = false;
};

class Interpreter {
 public:
  // All must outlive it. `filters` are the caller's.
  Interpreter(const Tree& tree, const Filters& filters, Heap* heap);

  // A variable of the template; unknown ones are ignored.
  void Define(std::string_view name, const Value& value);
  // Renders into `out`. Returns the size of the output when the variable `watched` was last read;
  // nullopt if it was not read, or last while a text was made that is printed later.
  std::optional<size_t> Run(TextBuilder* out, const std::string& watched = "");

  Heap& heap() { return heap_; }
  uint32_t failed_at() const { return at_; }

  // --- For what is built in ---
  // Makes the next item of a loop known; false if there is none.
  bool Pull(LoopObject* loop);
  Value Call(const Value& callee, const Arguments& arguments);
  Value ApplyFilter(std::string_view name, const Value& value, const Arguments& arguments);
  bool ApplyTest(std::string_view name, const Value& value, const Arguments& arguments);
  Value Undefined(std::string message) { return MakeUndefined(&heap_, std::move(message)); }
  Value Made(std::string_view text) { return MakeText(&heap_, text); }

 private:
  enum class Flow : uint8_t { kOn, kBreak, kContinue };
  class Depth;

  // --- Expressions ---
  Value Eval(const Expr& expr);
  Value EvalHere(const Expr& expr);
  Value EvalName(const Expr& expr);
  Value EvalItems(const Expr& expr);
  Value EvalDict(const Expr& expr);
  Value EvalConcat(const Expr& expr);
  Value EvalCompare(const Expr& expr);
  Value EvalCall(const Expr& expr);
  Value EvalFilter(const Expr& expr, const Value* subject);
  Value EvalTest(const Expr& expr);
  Value EvalCondition(const Expr& expr);
  Arguments EvalArguments(const Expr& expr);
  Value EvalSubscript(const Expr& expr);

  // --- Statements ---
  Flow Exec(const Body& body);
  Flow ExecOne(const Stmt& stmt);
  Flow ExecIf(const Stmt& stmt);
  void ExecOutput(const Stmt& stmt);
  void ExecSetBlock(const Stmt& stmt);
  void ExecCallBlock(const Stmt& stmt);
  Flow ExecWith(const Stmt& stmt);
  void ExecBlock(const Stmt& stmt);
  Flow RunLoop(const Stmt& stmt, const Value& iterable, size_t depth);
  void Assign(const Expr& target, const Value& value);
  // Runs the body in a scope of its own and returns what it printed.
  Text Captured(const Body& body, Scope* scope, Flow* flow);
  Value MakeMacro(const Stmt& stmt, std::string name);
  Value CallMacro(const MacroObject& macro, const Arguments& arguments);
  void TakeRest(const MacroObject& macro, const Arguments& arguments, const std::vector<bool>& used,
                Scope* scope);
  Value CallLoop(const LoopObject& loop, const Arguments& arguments);
  Scope* NewScope(Scope* parent);

  const Tree& tree_;
  const Filters& filters_;
  Heap& heap_;
  std::vector<Value> root_;  // variables of the context, by name
  std::vector<bool> defined_;
  Scope* scope_ = nullptr;
  Scope* top_ = nullptr;
  TextBuilder* out_ = nullptr;
  const TextBuilder* whole_out_ = nullptr;
  int watched_ = -1;
  std::optional<size_t> watched_at_;
  const Expr* printed_ = nullptr;  // the whole expression that is printed
  uint32_t at_ = 0;
  size_t depth_ = 0;
  const char* stack_begin_ = nullptr;
};

// How deep the interpreter has recursed: while one lives, it is one level deeper. Raises a Failure
// beyond a limit.
class Interpreter::Depth {
 public:
  Depth(Interpreter* run, uint32_t at) : run_(*run) {
    run_.at_ = at;
    ++run_.depth_;
    const auto* const here = static_cast<const char*>(__builtin_frame_address(0));
    const auto used = static_cast<size_t>(here < run_.stack_begin_ ? run_.stack_begin_ - here
                                                                   : here - run_.stack_begin_);
    if (run_.depth_ > run_.heap_.limits().depth_max || used > kStackBytesMax) {
      Raise("it is nested too deep, or calls itself without end");
    }
  }
  ~Depth() { --run_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  Interpreter& run_;
};

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_RUN_INTERPRETER_H_
