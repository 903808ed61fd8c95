#include "api/request/answer_format.h"

#include <array>
#include <string_view>
#include <utility>

#include "chat/text/limited_json.h"

namespace cairn {
namespace {

// Reads the fields that say what form an answer has.
class FormReader {
 public:
  FormReader(Loosened* loosened, GrammarCache* cache) : loosened_(loosened), cache_(cache) {}

  ApiResult<std::string> Format(const Json& format, const std::string& field) {
    const Json type = format.is_object() ? format.value("type", Json()) : Json();
    if (type == Json("text")) return std::string();
    if (type == Json("json_object")) {
      // llama.cpp's form has the schema beside the type.
      if (!format.contains("schema")) return GrammarOfAnyObject();
      return Schema(format["schema"], field + ".schema");
    }
    if (type != Json("json_schema")) {
      return tl::unexpected(FieldError(field + ".type", "'text', 'json_object' or 'json_schema'"));
    }
    const Json* holder = format.contains("json_schema") ? &format["json_schema"] : &format;
    const std::string place = format.contains("json_schema") ? field + ".json_schema" : field;
    if (!holder->is_object() || !holder->contains("schema")) {
      return tl::unexpected(FieldError(place + ".schema", "a JSON schema"));
    }
    return Schema((*holder)["schema"], place + ".schema");
  }

  ApiResult<std::string> Field(std::string_view name, const Json& value) {
    const std::string field(name);
    if (name == "response_format") return Format(value, field);
    if (name == "structured_outputs") return Structured(value);
    if (name == "json_schema") return Schema(value, field);
    return Constraint(name.starts_with("guided_") ? name.substr(7) : name, value, field);
  }

  // Returns `grammar` if decoding can be constrained to it; an empty one is none.
  ApiResult<std::string> Enforceable(std::string grammar, const std::string& field) {
    if (grammar.empty()) return grammar;
    if (const auto parsed = ParsedGrammar(cache_, grammar); !parsed) {
      return tl::unexpected(FieldError(field, "enforceable: " + parsed.error().message));
    }
    return grammar;
  }

 private:
  ApiResult<std::string> Schema(const Json& schema, const std::string& field) {
    return RulesOf(cache_, field + "\n" + ToText(schema), loosened_,
                   [&](Loosened* loosened) { return GrammarOfSchema(schema, field, loosened); });
  }

  // vLLM's kinds; it takes a schema as a text too.
  ApiResult<std::string> Constraint(std::string_view kind, const Json& value,
                                    const std::string& field) {
    if (kind == "regex") return GrammarOfPattern(value, field);
    if (kind == "choice") return GrammarOfChoice(value, field);
    if (kind == "json" && value.is_string()) {
      const auto schema = ParseLimitedJson(value.text(), field);
      if (!schema) return tl::unexpected(FieldError(field, "a JSON schema"));
      return Schema(*schema, field);
    }
    if (kind == "json") return Schema(value, field);
    if (kind == "json_object") return value == Json(true) ? GrammarOfAnyObject() : std::string();
    if (!value.is_string()) return tl::unexpected(FieldError(field, "a string of GBNF"));
    // The mark of odd forms is our own; to llama.cpp it is a mistake.
    if (const auto parsed = ParsedGrammar(cache_, value.text());
        parsed && (*parsed)->has_odd_forms()) {
      return tl::unexpected(FieldError(field, "GBNF, which has no '~'"));
    }
    return value.text();
  }

  ApiResult<std::string> Structured(const Json& value) {
    constexpr std::array<std::string_view, 5> kKinds = {"json", "regex", "choice", "grammar",
                                                        "json_object"};
    const std::string field = "structured_outputs";
    const std::string expected =
        "an object with one of 'json', 'regex', 'choice', 'grammar' and "
        "'json_object'";
    if (!value.is_object()) return tl::unexpected(FieldError(field, expected));
    const FieldReader fields(value, field + ".");
    std::string_view found;
    for (const std::string_view kind : kKinds) {
      if (fields.Find(kind) == nullptr) continue;
      if (!found.empty()) return tl::unexpected(FieldError(field, expected));
      found = kind;
    }
    if (found.empty()) return tl::unexpected(FieldError(field, expected));
    return Constraint(found, *fields.Find(found), field + "." + std::string(found));
  }

  Loosened* const loosened_;
  GrammarCache* const cache_;
};

}  // namespace

ApiResult<std::string> ParseAnswerFormat(const Json& format, const std::string& field,
                                         Loosened* loosened, GrammarCache* cache) {
  FormReader reader(loosened, cache);
  auto grammar = reader.Format(format, field);
  if (!grammar) return grammar;
  return reader.Enforceable(std::move(*grammar), field);
}

ApiResult<std::string> ParseAnswerGrammar(const Json& body, Loosened* loosened,
                                          GrammarCache* cache) {
  constexpr std::array<const char*, 8> kFormatFields = {
      "response_format", "json_schema",  "grammar",       "structured_outputs",
      "guided_json",     "guided_regex", "guided_choice", "guided_grammar"};
  const FieldReader fields(body, "");
  FormReader reader(loosened, cache);
  std::string source;
  std::string grammar;
  for (const char* name : kFormatFields) {
    const Json* value = fields.Find(name);
    if (value == nullptr) continue;
    auto made = reader.Field(name, *value);
    if (!made) return made;
    if (made->empty()) continue;
    if (!source.empty()) {
      return tl::unexpected(FieldError(name, "absent with '" + source + "'"));
    }
    source = name;
    grammar = *std::move(made);
  }
  return reader.Enforceable(std::move(grammar), source);
}

}  // namespace cairn
