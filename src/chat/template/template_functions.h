// Functions and filters that chat templates have beside Jinja's own.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_FUNCTIONS_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_FUNCTIONS_H_

#include <cstdint>
#include <string>

#include "jinja/template.h"

namespace cairn {

// The local time as strftime writes it. 0: now.
std::string TimeText(const std::string& format, int64_t now_unix_s);

// strftime_now(format) and raise_exception(text), which sets `refusal`; that must outlive the
// rendering.
void DefineTemplateFunctions(int64_t now_unix_s, std::string* refusal, jinja::Input* variables);

// from_json, which some converters write into templates.
jinja::Filters TemplateFilters();

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_FUNCTIONS_H_
