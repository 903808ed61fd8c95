// The functions and filters that templates may use in addition to those of the template engine, or
// instead of them where the engine's differ from Jinja's.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_FUNCTIONS_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_FUNCTIONS_H_

namespace minja {
class Context;
class Value;
}  // namespace minja

namespace cairn {

class Json;

// Returns the value as the template engine holds it.
minja::Value TemplateValue(const Json& json);

// Any thread. The functions throw as the engine's do: a std::exception whose text says why the
// template cannot be rendered.
void DefineTemplateFunctions(minja::Context* context);

// Called by DefineTemplateFunctions: defines the functions that replace methods which the engine
// lacks (template_expression.h).
void DefineTemplateMethods(minja::Context* context);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_FUNCTIONS_H_
