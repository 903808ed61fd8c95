#include "api/openai/response_tools.h"

#include <utility>

#include "chat/text/message.h"

namespace cairn {
namespace {

// Returns the text of a field; empty if it is absent or not a string.
std::string TextOf(const Json& object, const char* name) {
  const Json value = object.is_object() ? object.value(name, Json()) : Json();
  return value.is_string() ? value.text() : std::string();
}

bool IsClientsSearch(const Json& tool) {
  return TextOf(tool, "type") == kToolSearch && TextOf(tool, "execution") == "client";
}

}  // namespace

ApiResult<void> ResponseToolReader::AddOffered(const Json& tools, const std::string& place) {
  for (const Json& tool : tools) hides_deferred_ = hides_deferred_ || IsClientsSearch(tool);
  return AddList(tools, place, "");
}

ApiResult<void> ResponseToolReader::AddFound(const Json& tools, const std::string& place) {
  hides_deferred_ = false;
  shows_again_ = true;
  return AddList(tools, place, "");
}

ApiResult<void> ResponseToolReader::AddList(const Json& tools, const std::string& place,
                                            const std::string& name_space) {
  if (!tools.is_array()) return tl::unexpected(FieldError(place, "a list"));
  for (size_t i = 0; i < tools.size(); ++i) {
    auto added = AddOne(tools[i], ItemPlace(place, i), name_space);
    if (!added) return added;
  }
  return {};
}

ApiResult<void> ResponseToolReader::AddOne(const Json& tool, const std::string& place,
                                           const std::string& name_space) {
  const auto type = NeededString(tool, place, "type");
  if (!type) return tl::unexpected(type.error());
  if (*type == kToolSearch) {
    if (IsClientsSearch(tool)) {
      AddFunction(kToolSearch, tool, tool.value("parameters", Json()),
                  {.kind = ResponseTool::Kind::kSearch});
    }
    return {};
  }
  if (type->starts_with("web_search")) {
    NoteLeftOut(*type, &left_out_);
    return {};
  }
  const bool nested = *type == "namespace" && name_space.empty();
  if (*type != "function" && *type != "custom" && !nested) {
    return tl::unexpected(
        FieldError(place + ".type",
                   "'function', 'custom', 'namespace' or 'tool_search': this server does "
                   "not run '" +
                       ShownErrorText(*type) + "'; offer a function for it"));
  }
  const auto name = NeededString(tool, place, "name");
  if (!name) return tl::unexpected(name.error());
  if (nested) {
    const auto tools = tool.find("tools");
    return tools == tool.end() ? ApiResult<void>() : AddList(*tools, place + ".tools", *name);
  }
  bool defers = false;
  FieldReader fields(tool, place + ".");
  fields.Bool("defer_loading", &defers);
  if (fields.error()) return tl::unexpected(*fields.error());
  if (defers && hides_deferred_) return {};
  if (*type == "custom") return AddCustom(*name, tool, place, name_space);
  AddFunction(*name, tool, tool.value("parameters", Json()), {.name_space = name_space});
  return {};
}

void ResponseToolReader::AddFunction(const std::string& name, const Json& tool,
                                     const Json& parameters, const ResponseTool& as,
                                     const std::string& addition) {
  if (!known_->emplace(name, as).second && !shows_again_) return;
  Json function = {{"name", name}};
  const std::string description = TextOf(tool, "description") + addition;
  if (!description.empty()) function["description"] = description;
  if (!parameters.is_null()) function["parameters"] = parameters;
  read_.push_back({{"type", "function"}, {"function", std::move(function)}});
}

ApiResult<void> ResponseToolReader::AddCustom(const std::string& name, const Json& tool,
                                              const std::string& place,
                                              const std::string& name_space) {
  const Json parameters = {{"type", "object"},
                           {"properties", {{"input", {{"type", "string"}}}}},
                           {"required", Json::array({"input"})}};
  const Json format = tool.value("format", Json());
  std::string told;
  if (TextOf(format, "type") == "grammar") {
    loosened_->insert(place + ".format");
    const std::string definition = TextOf(format, "definition");
    if (!definition.empty()) {
      told =
          "\n\nThe input must match this " + TextOf(format, "syntax") + " grammar:\n" + definition;
    }
  }
  AddFunction(name, tool, parameters,
              {.kind = ResponseTool::Kind::kCustom, .name_space = name_space}, told);
  return {};
}

}  // namespace cairn
