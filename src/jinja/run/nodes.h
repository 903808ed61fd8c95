// The tree of a parsed template. Nodes belong to the Tree and point at each other, so that no
// destructor recurses. Constant once parsed.

#ifndef CAIRN_JINJA_RUN_NODES_H_
#define CAIRN_JINJA_RUN_NODES_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "jinja/value/number.h"
#include "jinja/value/value.h"

namespace cairn::jinja {

struct FilterDefinition;
struct TestDefinition;

enum class Comparison : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

struct Expr {
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInteger,
    kFloat,
    kString,
    kName,
    kNamespaceRef,  // a target: name.text
    kTuple,
    kList,
    kDict,       // items: key, value, key, value
    kAttribute,  // a.text
    kItem,       // a[b]
    kSlice,      // a:b:c, each of which may be null
    kCall,       // a(items, names, *rest, **rest_names)
    kFilter,     // a|text(...); in a filter block a is null
    kTest,       // a is text(...)
    kNot,
    kNegative,
    kPositive,
    kAnd,
    kOr,
    kBinary,
    kConcat,
    kCompare,
    kCondition  // b if a else c
  } kind = Kind::kNone;
  uint32_t at = 0;
  Arithmetic operation = Arithmetic::kAdd;
  bool boolean = false;  // of kBool; of kString: it has escapes
  int name = -1;         // of kName and kNamespaceRef: index in Tree::names
  double floating = 0;
  Int integer = 0;
  const Expr* a = nullptr;
  const Expr* b = nullptr;
  const Expr* c = nullptr;
  const Expr* rest = nullptr;
  const Expr* rest_names = nullptr;
  std::string text = {};
  std::vector<const Expr*> items = {};
  std::vector<std::pair<std::string, const Expr*>> names = {};
  std::vector<std::pair<Comparison, const Expr*>> comparisons = {};
  // A filter or test of Jinja's; null: the caller's, or one that nobody has.
  const FilterDefinition* filter = nullptr;
  const TestDefinition* test = nullptr;
};

struct Stmt;
using Body = std::vector<const Stmt*>;

struct Signature {
  std::vector<int> names;             // of the arguments
  std::vector<const Expr*> defaults;  // of the last of them
  bool takes_rest = false;            // the body reads varargs, kwargs, caller
  bool takes_rest_names = false;
  bool takes_caller = false;
};

struct Stmt {
  enum class Kind : uint8_t {
    kData,
    kOutput,  // exprs
    kFor,
    kIf,
    kSet,       // target = value
    kSetBlock,  // target, value: a filter or null
    kMacro,
    kCallBlock,    // value: the call
    kFilterBlock,  // value: the filter
    kWith,         // exprs: target, value, target, value
    kBlock,
    kGeneration,
    kBreak,
    kContinue
  } kind = Kind::kData;
  uint32_t at = 0;
  const Expr* target = nullptr;
  const Expr* value = nullptr;
  const Expr* test = nullptr;  // of a loop: for ... if test
  bool recursive = false;
  bool scoped = false;  // of a block
  int name = -1;        // of a macro
  std::string text = {};
  std::vector<const Expr*> exprs = {};
  Body body = {};
  Body otherwise = {};
  std::vector<std::pair<const Expr*, Body>> branches = {};  // of an if
  Signature signature = {};
};

struct Tree {
  std::string source;  // normalized
  std::vector<std::string> names;
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  Body body;

  int NameOf(const std::string& name) const {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<int>(i);
    }
    return -1;
  }
};

// Names that the interpreter itself gives a meaning; they come first in Tree::names.
enum SpecialName : int { kLoopName, kCallerName, kVarargsName, kKwargsName, kSpecialNames };

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_RUN_NODES_H_
