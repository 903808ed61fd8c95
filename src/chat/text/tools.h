// Tools: the tools that a request offers, which is the OpenAI `tools` array. It is parsed once,
// where the request is read; everything after that shares the parsed value.

#ifndef CAIRN_CHAT_TEXT_TOOLS_H_
#define CAIRN_CHAT_TEXT_TOOLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn {

class Json;

// An immutable value; a copy costs a pointer. Any thread.
class Tools {
 public:
  // No tools.
  Tools() = default;
  // REQUIRES: `list` is an array within the limits of limited_json.h.
  explicit Tools(Json list);
  // Returns kInvalidArgument if `list` is no array or exceeds a limit. Errors name the field
  // "tools".
  static Result<Tools> Make(Json list);
  // The same for an array as JSON text.
  static Result<Tools> Parse(std::string_view text);

  bool empty() const { return parsed_ == nullptr; }
  size_t size() const;
  // An array, with whatever entries the client sent.
  const Json& list() const;
  // The list as compact JSON text; empty if there are no tools.
  const std::string& text() const;
  // Hash64 of text().
  uint64_t hash() const;

  // Returns the `function` of the first tool of this name; null if there is none. It lives as long
  // as this value or a copy.
  const Json* FindFunction(std::string_view name) const;

  // Return new values. Removes the members of these names beside a tool's or its function's own;
  // members inside a schema stay.
  Tools WithoutMembers(std::span<const std::string_view> names) const;
  // The tool at order[i] comes i-th. REQUIRES: `order` is a permutation of the indices.
  Tools Reordered(const std::vector<size_t>& order) const;
  // Only the functions of these names.
  Tools Named(const std::vector<std::string>& names) const;
  // `change` is called with a copy of the list, which it must leave an array.
  Tools Changed(const std::function<void(Json* list)>& change) const;

  friend bool operator==(const Tools& a, const Tools& b) { return a.text() == b.text(); }

 private:
  struct Parsed;

  std::shared_ptr<const Parsed> parsed_;  // null: no tools; else at least one
};

// Returns the `function` object of an entry of Tools::list(), if it has one with a name that is a
// string; otherwise null.
const Json* NamedFunction(const Json& tool);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEXT_TOOLS_H_
