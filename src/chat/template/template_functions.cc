#include "chat/template/template_functions.h"

#include <array>
#include <ctime>

#include "chat/text/limited_json.h"
#include "jinja/value/print.h"

namespace cairn {
namespace {

using jinja::Interpreter;
using jinja::Value;

const Value& OnlyArgument(const jinja::Arguments& arguments, const char* function) {
  if (arguments.places.size() != 1 || !arguments.names.empty()) {
    jinja::Raise(std::string(function) + "() takes one argument");
  }
  return arguments.places[0];
}

std::string TextOfArgument(const Value& value, const char* function) {
  jinja::RequireDefined(value);
  if (!value.is_text()) jinja::Raise(std::string(function) + "() takes a text");
  return std::string(value.bytes());
}

Value FromJson(Interpreter& run, const jinja::Arguments& arguments) {
  const std::string text = TextOfArgument(OnlyArgument(arguments, "from_json"), "from_json");
  const Result<Json> json = ParseLimitedJson(text, "from_json's text");
  if (!json) jinja::Raise(json.error().message);
  return jinja::ValueOfJson(&run.heap(), *json);
}

}  // namespace

std::string TimeText(const std::string& format, int64_t now_unix_s) {
  const std::time_t now =
      now_unix_s != 0 ? static_cast<std::time_t>(now_unix_s) : std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 256> text{};
  const size_t size = std::strftime(text.data(), text.size(), format.c_str(), &local);
  return {text.data(), size};
}

void DefineTemplateFunctions(int64_t now_unix_s, std::string* refusal, jinja::Input* variables) {
  variables->DefineFunction(
      "strftime_now", [now_unix_s](Interpreter& run, const jinja::Arguments& arguments) {
        const Value& format = OnlyArgument(arguments, "strftime_now");
        return run.Made(TimeText(TextOfArgument(format, "strftime_now"), now_unix_s));
      });
  variables->DefineFunction(
      "raise_exception", [refusal](Interpreter& run, const jinja::Arguments& arguments) -> Value {
        *refusal = "no reason given";
        if (!arguments.places.empty()) {
          *refusal = jinja::TextOf(&run.heap(), arguments.places[0]).bytes();
        }
        jinja::Raise(*refusal);
      });
}

jinja::Filters TemplateFilters() {
  jinja::Filters filters;
  filters.emplace("from_json", FromJson);
  return filters;
}

}  // namespace cairn
