// FindTemplateCaps: finds out what a template supports by rendering small conversations and
// searching the results.

#ifndef CAIRN_CHAT_TEMPLATE_CAPS_PROBE_H_
#define CAIRN_CHAT_TEMPLATE_CAPS_PROBE_H_

#include <functional>
#include <string>

#include "base/json.h"
#include "chat/template/template_caps.h"
#include "chat/text/tools.h"

namespace cairn {

// Renders `messages` with `tools` and the variables `kwargs`, without the generation prompt;
// returns an empty string if the template refuses.
using ProbeRender =
    std::function<std::string(const Json& messages, const Tools& tools, const Json& kwargs)>;

// `source` is the template's text. Any thread, if `render` is thread-safe.
TemplateCaps FindTemplateCaps(const std::string& source, const ProbeRender& render);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_CAPS_PROBE_H_
