// The functions and filters that templates may use beside those of the template engine, or in their
// place where the engine's differ from Jinja's.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_FUNCTIONS_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_FUNCTIONS_H_

namespace minja {
class Context;
class Value;
}  // namespace minja

namespace cairn {

class Json;

// As the template engine holds it.
minja::Value TemplateValue(const Json& json);

// Any thread. The functions throw what the engine's throw: a std::exception whose text says why the
// template cannot be rendered.
void DefineTemplateFunctions(minja::Context* context);

// A part of the above: the functions that stand for methods which the engine lacks
// (template_expression.h).
void DefineTemplateMethods(minja::Context* context);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_FUNCTIONS_H_
