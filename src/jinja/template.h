// Jinja templates as models have them, rendered with the origin of every byte.
//
// The language is that of Jinja 3.1 as Hugging Face's apply_chat_template sets it up: trim_blocks,
// lstrip_blocks, loop controls, {% generation %}, its tojson, an immutable sandbox. Values behave
// as Python's. What needs a file system (include, import, extends) is refused, and so are
// autoescape, urlize and lipsum. Integers have 128 bits.
//
// A template is constant once parsed; any thread may render it. Nothing here throws, and nothing
// that a template or its input does can take more than Limits: no loop, recursion, text or number.
// A thread that parses or renders needs 6 MiB of stack.

#ifndef CAIRN_JINJA_TEMPLATE_H_
#define CAIRN_JINJA_TEMPLATE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "jinja/run/interpreter.h"
#include "jinja/value/heap.h"
#include "jinja/value/value.h"

namespace cairn::jinja {

struct Rendered {
  std::string text;
  // Where its bytes came from, in order. kTemplateSource: offsets count in Template::source().
  std::vector<Run> runs;
  // The size of the text when Input::Watch's variable was last read; nullopt if it was not read, or
  // last while a text was made that is printed later (a macro's, a set block's).
  std::optional<size_t> watched_at;
};

// The variables of one rendering, while they are put together.
class Input {
 public:
  Input(Heap* heap, Interpreter* interpreter) : heap_(*heap), interpreter_(*interpreter) {}

  Heap* heap() { return &heap_; }
  void Define(std::string_view name, const Value& value) { interpreter_.Define(name, value); }
  // Rendered::watched_at tells of this variable.
  void Watch(std::string name) { watched_ = std::move(name); }
  const std::string& watched() const { return watched_; }
  void DefineFunction(const std::string& name, Function function);

 private:
  Heap& heap_;
  Interpreter& interpreter_;
  std::string watched_;
};

// Returns the source of a text in JSON, by which its bytes are told in Rendered::runs.
using SourceOfText = std::function<int32_t(const std::string& text)>;

// A JSON value for a template. `source_of` is asked for every text but names, in order; without it
// they have no source. Raises a Failure, so only inside of Template::Render.
Value ValueOfJson(Heap* heap, const Json& json, const SourceOfText& source_of = {});

class Template {
 public:
  // `filters` are known beside Jinja's own. Returns kInvalidArgument with row, column and tag.
  static Result<std::unique_ptr<Template>> Parse(std::string_view source, const Limits& limits = {},
                                                 Filters filters = {});

  // `fill` defines the variables; it and the functions it defines may raise Failures. Returns
  // kInvalidArgument with what went wrong, row, column and tag.
  Result<Rendered> Render(const std::function<void(Input*)>& fill, uint64_t more_steps = 0) const;

  // The source with all line breaks as "\n" and without the last.
  const std::string& source() const { return tree_->source; }

 private:
  Template(std::unique_ptr<const Tree> tree, const Limits& limits, Filters filters);

  const std::unique_ptr<const Tree> tree_;
  const Limits limits_;
  const Filters filters_;
};

// " at row 3, column 7 in {{ x }}", for an error at a byte of a source.
std::string PlaceInSource(std::string_view source, size_t at);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_TEMPLATE_H_
