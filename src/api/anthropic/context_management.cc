#include "api/anthropic/context_management.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {
namespace {

constexpr const char* kManagement = "context_management";
constexpr const char* kClearThinking = "clear_thinking_20251015";
constexpr const char* kClearToolUses = "clear_tool_uses_20250919";
constexpr int64_t kValueMax = int64_t{1} << 40;
constexpr size_t kToolNamesMax = 1000;

// Fails if the object has another field.
void RefuseOthers(const Json& object, std::initializer_list<std::string_view> known,
                  FieldReader* fields) {
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string expected = "absent: this server knows";
    for (const std::string_view one : known) {
      expected += (one == *known.begin() ? " '" : ", '") + std::string(one) + "'";
    }
    return fields->Fail(ShownErrorText(name), expected);
  }
}

// Reads {"type": one of `units`, "value": a number} and returns which of them it is. An absent one
// leaves `value` and is the first.
size_t ReadAmount(const std::string& place, const char* name, const std::vector<std::string>& units,
                  int64_t least, size_t* value, FieldReader* fields) {
  const Json* const amount = fields->Find(name);
  if (amount == nullptr) return 0;
  std::string expected = "an object with a 'value' and the 'type' '" + units.front() + "'";
  for (size_t i = 1; i < units.size(); ++i) expected += " or '" + units[i] + "'";
  const Json type = amount->is_object() ? amount->value("type", Json()) : Json();
  const auto unit =
      type.is_string() ? std::find(units.begin(), units.end(), type.text()) : units.end();
  if (unit == units.end()) {
    fields->Fail(name, expected);
    return 0;
  }
  FieldReader inner(*amount, place + name + ".");
  RefuseOthers(*amount, {"type", "value"}, &inner);
  int64_t number = -1;
  inner.Integer("value", least, kValueMax, &number);
  if (number < 0) inner.Fail("value", "a whole number of at least " + std::to_string(least));
  if (inner.error()) fields->Fail(*inner.error());
  *value = static_cast<size_t>(number);
  return static_cast<size_t>(unit - units.begin());
}

void ReadNames(const char* name, const char* expected, FieldReader* fields,
               std::vector<std::string>* names) {
  const Json* const list = fields->Find(name);
  if (list == nullptr) return;
  if (!list->is_array() || list->size() > kToolNamesMax) return fields->Fail(name, expected);
  for (const Json& one : *list) {
    if (!one.is_string()) return fields->Fail(name, expected);
    names->push_back(one.text());
  }
}

void ReadClearToolUses(const Json& edit, const std::string& place, FieldReader* fields,
                       ContextEdits* edits) {
  RefuseOthers(edit,
               {"type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"},
               fields);
  ContextEdits::ToolUses uses;
  uses.counts_uses =
      ReadAmount(place, "trigger", {"input_tokens", "tool_uses"}, 1, &uses.trigger, fields) == 1;
  ReadAmount(place, "keep", {"tool_uses"}, 0, &uses.keep, fields);
  ReadAmount(place, "clear_at_least", {"input_tokens"}, 0, &uses.clear_at_least, fields);
  ReadNames("exclude_tools", "a list of at most 1000 names of tools", fields, &uses.excluded);
  const Json* const inputs = fields->Find("clear_tool_inputs");
  if (inputs != nullptr && inputs->is_boolean()) {
    uses.clears_inputs = inputs->get<bool>();
  } else {
    ReadNames("clear_tool_inputs", "true, false or a list of at most 1000 names of tools", fields,
              &uses.cleared_inputs);
  }
  edits->tool_uses = std::move(uses);
}

// `keep` is "all", an object of that type, or a number of turns.
void ReadClearThinking(const Json& edit, const std::string& place, FieldReader* fields,
                       ContextEdits* edits) {
  RefuseOthers(edit, {"type", "keep"}, fields);
  const Json* const keep = fields->Find("keep");
  const bool object = keep != nullptr && keep->is_object();
  if (keep != nullptr && !object && *keep != Json("all")) {
    return fields->Fail("keep", "'all', or an object of the type 'thinking_turns' or 'all'");
  }
  if (keep != nullptr && (!object || keep->value("type", Json()) == Json("all"))) return;
  size_t turns = 1;
  ReadAmount(place, "keep", {"thinking_turns"}, 1, &turns, fields);
  edits->reasoning_turns = turns;
}

ApiResult<void> ReadEdit(const Json& edit, const std::string& place, std::vector<std::string>* seen,
                         ContextEdits* edits) {
  if (!edit.is_object()) return tl::unexpected(FieldError(place, "an object with a 'type'"));
  const auto type = NeededString(edit, place, "type");
  if (!type) return tl::unexpected(type.error());
  FieldReader fields(edit, place + ".");
  if (std::find(seen->begin(), seen->end(), *type) != seen->end()) {
    fields.Fail("type", "another than that of an earlier edit");
  } else if (*type == kClearToolUses) {
    ReadClearToolUses(edit, place + ".", &fields, edits);
  } else if (*type != kClearThinking) {
    fields.Fail("type", std::string("'") + kClearToolUses + "' or '" + kClearThinking +
                            "': this server makes no other edits; send a shorter conversation");
  } else if (!seen->empty()) {
    fields.Fail("type", "that of the first edit");
  } else {
    ReadClearThinking(edit, place + ".", &fields, edits);
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  seen->push_back(*type);
  return {};
}

}  // namespace

ApiResult<ContextEdits> ParseContextManagement(const Json& body) {
  ContextEdits edits;
  const Json* const management = FieldReader(body, "").Find(kManagement);
  if (management == nullptr) return edits;
  if (!management->is_object()) return tl::unexpected(FieldError(kManagement, "an object"));
  FieldReader fields(*management, std::string(kManagement) + ".");
  RefuseOthers(*management, {"edits"}, &fields);
  const Json* const list = fields.Find("edits");
  if (list != nullptr && !list->is_array()) fields.Fail("edits", "a list");
  if (fields.error()) return tl::unexpected(*fields.error());
  edits.asked = true;
  std::vector<std::string> seen;
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const std::string place = ItemPlace(std::string(kManagement) + ".edits", i);
    if (auto read = ReadEdit((*list)[i], place, &seen, &edits); !read) {
      return tl::unexpected(read.error());
    }
  }
  return edits;
}

Json AppliedEditsJson(const AppliedEdits& applied) {
  Json edits = Json::array();
  if (applied.reasoning_turns > 0) {
    edits.push_back({{"type", kClearThinking},
                     {"cleared_thinking_turns", applied.reasoning_turns},
                     {"cleared_input_tokens", applied.reasoning_tokens}});
  }
  if (applied.tool_uses > 0) {
    edits.push_back({{"type", kClearToolUses},
                     {"cleared_tool_uses", applied.tool_uses},
                     {"cleared_input_tokens", applied.tool_tokens}});
  }
  Json told = Json::object();
  told["applied_edits"] = std::move(edits);
  return told;
}

}  // namespace cairn
