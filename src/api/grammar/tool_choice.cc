#include "api/grammar/tool_choice.h"

#include <optional>

namespace cairn {
namespace {

using Kind = ToolChoice::Kind;

tl::unexpected<ApiError> Refuse(const std::string& place, const std::string& expected) {
  return tl::unexpected(FieldError(place, expected));
}

std::optional<std::string> StringAt(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

// In chat the name is one level deeper than in Responses.
ApiResult<std::string> FunctionName(const Json& function, const std::string& place) {
  const bool nested = function.is_object() && function.contains("function");
  const Json& holder = nested ? function["function"] : function;
  const std::string holder_place = nested ? place + ".function" : place;
  if (!holder.is_object()) return Refuse(holder_place, "an object");
  auto name = StringAt(holder, "name");
  if (!name) return Refuse(holder_place + ".name", "a string");
  return *name;
}

ApiResult<ToolChoice> ReadAllowed(const Json& choice) {
  const bool nested = choice.contains("allowed_tools");
  const Json& allowed = nested ? choice["allowed_tools"] : choice;
  const std::string place = std::string(kToolChoiceField) + (nested ? ".allowed_tools" : "");
  if (!allowed.is_object()) return Refuse(place, "an object");
  ToolChoice read;
  const auto mode = StringAt(allowed, "mode");
  if (mode != "auto" && mode != "required") {
    return Refuse(place + ".mode", "'auto' or 'required'");
  }
  if (mode == "required") read.kind = Kind::kRequired;
  const auto tools = allowed.find("tools");
  if (tools == allowed.end() || !tools->is_array() || tools->empty()) {
    return Refuse(place + ".tools", "a list of at least one tool");
  }
  for (size_t i = 0; i < tools->size(); ++i) {
    auto name = FunctionName((*tools)[i], place + ".tools[" + std::to_string(i) + "]");
    if (!name) return tl::unexpected(name.error());
    read.names.push_back(*std::move(name));
  }
  return read;
}

ApiResult<ToolChoice> ReadChoice(const Json& choice) {
  const std::string expected =
      "'none', 'auto', 'required', a function by its name, or 'allowed_tools'";
  ToolChoice read;
  if (choice.is_string()) {
    if (choice == "none") read.kind = Kind::kNone;
    if (choice == "required") read.kind = Kind::kRequired;
    if (read.kind == Kind::kAuto && choice != "auto") return Refuse(kToolChoiceField, expected);
    return read;
  }
  if (!choice.is_object()) return Refuse(kToolChoiceField, expected);
  const auto type = StringAt(choice, "type");
  if (type == "allowed_tools") return ReadAllowed(choice);
  // A custom tool of Responses is a function of one text.
  if (type != "function" && type != "custom") {
    return Refuse(std::string(kToolChoiceField) + ".type", "'function' or 'allowed_tools'");
  }
  auto name = FunctionName(choice, kToolChoiceField);
  if (!name) return tl::unexpected(name.error());
  read.kind = Kind::kRequired;
  read.names = {*std::move(name)};
  return read;
}

// Chat's older form: "none", "auto", or the name of a function. It knows one call.
ApiResult<ToolChoice> ReadFunctionChoice(const Json& choice) {
  ToolChoice read;
  read.several = false;
  if (choice == "none") read.kind = Kind::kNone;
  if (choice == "none" || choice == "auto") return read;
  if (!choice.is_object()) {
    return Refuse("function_call", "'none', 'auto', or an object with a 'name'");
  }
  auto name = StringAt(choice, "name");
  if (!name) return Refuse("function_call.name", "a string");
  read.kind = Kind::kRequired;
  read.names = {*std::move(name)};
  return read;
}

}  // namespace

ApiResult<ToolChoice> ParseToolChoice(const Json& body) {
  FieldReader fields(body, "");
  ApiResult<ToolChoice> read = ToolChoice();
  const Json* const older = fields.Find("function_call");
  if (const Json* choice = fields.Find(kToolChoiceField)) {
    read = ReadChoice(*choice);
  } else if (older != nullptr && fields.Find("functions") != nullptr) {
    read = ReadFunctionChoice(*older);
  }
  if (!read) return read;
  fields.Bool("parallel_tool_calls", &read->several);
  if (fields.error()) return tl::unexpected(*fields.error());
  return read;
}

ApiResult<ToolChoice> ParseMessagesToolChoice(const Json& body) {
  ToolChoice read;
  const Json* choice = FieldReader(body, "").Find(kToolChoiceField);
  if (choice == nullptr) return read;
  if (!choice->is_object()) return Refuse(kToolChoiceField, "an object with a 'type'");
  const auto type = StringAt(*choice, "type");
  const bool named = type == "tool";
  if (type == "none") read.kind = Kind::kNone;
  if (type == "any" || named) read.kind = Kind::kRequired;
  if (read.kind == Kind::kAuto && type != "auto") {
    return Refuse(std::string(kToolChoiceField) + ".type", "'auto', 'any', 'tool' or 'none'");
  }
  if (named) {
    auto name = StringAt(*choice, "name");
    if (!name) return Refuse(std::string(kToolChoiceField) + ".name", "a string");
    read.names = {*std::move(name)};
  }
  FieldReader fields(*choice, std::string(kToolChoiceField) + ".");
  bool one_only = false;
  fields.Bool("disable_parallel_tool_use", &one_only);
  if (fields.error()) return tl::unexpected(*fields.error());
  read.several = !one_only;
  return read;
}

}  // namespace cairn
