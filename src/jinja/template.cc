#include "jinja/template.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "jinja/syntax/parser.h"

namespace cairn::jinja {
namespace {

constexpr size_t kShownBytesMax = 60;
constexpr int kJsonDepthMax = 400;

// The tag around or behind a byte, in one line.
std::string TagAt(std::string_view source, size_t at) {
  at = std::min(at, source.empty() ? 0 : source.size() - 1);
  size_t begin = std::string_view::npos;
  for (const std::string_view open : {"{{", "{%", "{#"}) {
    const size_t found = source.rfind(open, at);
    if (found != std::string_view::npos && (begin == std::string_view::npos || found > begin)) {
      begin = found;
    }
  }
  if (begin == std::string_view::npos) return "";
  const bool print = source.substr(begin, 2) == "{{";
  size_t end = std::min(source.find(print ? "}}" : "%}", begin), source.size());
  end = std::min(end + 2, source.size());
  std::string tag(source.substr(begin, end - begin));
  if (tag.size() > kShownBytesMax) {
    tag.resize(CompleteUtf8Prefix(std::string_view(tag).substr(0, kShownBytesMax)));
    tag += "...";
  }
  std::replace(tag.begin(), tag.end(), '\n', ' ');
  return tag;
}

Value OfJson(Heap* heap, const Json& json, const SourceOfText& source_of, int depth) {
  if (depth > kJsonDepthMax) Raise("a value is nested too deep");
  heap->Step();
  if (json.is_string()) {
    const std::string& text = json.text();
    return Value::Of(heap->MakeText(text, source_of ? source_of(text) : kNoSource));
  }
  if (json.is_array()) {
    std::vector<Value> items;
    items.reserve(json.size());
    for (const Json& item : json) items.push_back(OfJson(heap, item, source_of, depth + 1));
    return MakeList(heap, std::move(items));
  }
  if (json.is_object()) {
    auto* const dict = heap->New<DictObject>();
    heap->Charge(json.size() * 2 * sizeof(Value));
    for (const auto& [key, item] : json.items()) {
      const Value name = MakeText(heap, key);
      dict->Set(name, OfJson(heap, item, source_of, depth + 1));
    }
    return Value::Of(Kind::kDict, dict);
  }
  if (json.is_boolean()) return Value::Bool(json.get<bool>());
  if (json.is_number_float()) return Value::Float(json.get<double>());
  if (json.is_number_unsigned()) return Value::Integer(json.get<uint64_t>());
  if (json.is_number()) return Value::Integer(json.get<int64_t>());
  return Value::None();
}

}  // namespace

std::string PlaceInSource(std::string_view source, size_t at) {
  at = std::min(at, source.size());
  const std::string_view before = source.substr(0, at);
  const auto row = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line = before.rfind('\n') + 1;
  const size_t column = CountCharacters(before.substr(line)) + 1;
  std::string place = " at row " + std::to_string(row) + ", column " + std::to_string(column);
  const std::string tag = TagAt(source, at);
  return tag.empty() ? place : place + " in " + tag;
}

void Input::DefineFunction(const std::string& name, Function function) {
  Define(name, MakeFunction(&heap_, name, std::move(function)));
}

Value ValueOfJson(Heap* heap, const Json& json, const SourceOfText& source_of) {
  return OfJson(heap, json, source_of, 0);
}

Template::Template(std::unique_ptr<const Tree> tree, const Limits& limits, Filters filters)
    : tree_(std::move(tree)), limits_(limits), filters_(std::move(filters)) {}

Result<std::unique_ptr<Template>> Template::Parse(std::string_view source, const Limits& limits,
                                                  Filters filters) {
  if (source.size() > limits.source_bytes_max) {
    return Fail(ErrorCode::kInvalidArgument,
                "it is " + std::to_string(source.size()) + " bytes long; at most " +
                    std::to_string(limits.source_bytes_max) + " are read");
  }
  try {
    Parser parser(limits, [&](const std::string& name) { return filters.contains(name); });
    std::unique_ptr<const Tree> tree = parser.Parse(source);
    return std::unique_ptr<Template>(new Template(std::move(tree), limits, std::move(filters)));
  } catch (const SyntaxError& error) {
    return Fail(ErrorCode::kInvalidArgument,
                error.message + PlaceInSource(NormalizedSource(source), error.at));
  }
}

Result<Rendered> Template::Render(const std::function<void(Input*)>& fill,
                                  uint64_t more_steps) const {
  Limits limits = limits_;
  limits.steps_max += more_steps;
  Heap heap(limits);
  Interpreter interpreter(*tree_, filters_, &heap);
  try {
    Input input(&heap, &interpreter);
    fill(&input);
    TextBuilder out(&heap);
    const std::optional<size_t> watched_at = interpreter.Run(&out, input.watched());
    auto [text, runs] = out.Take();
    return Rendered{std::move(text), std::move(runs), watched_at};
  } catch (const Failure& failure) {
    return Fail(ErrorCode::kInvalidArgument,
                failure.message() + PlaceInSource(tree_->source, interpreter.failed_at()));
  }
}

}  // namespace cairn::jinja
