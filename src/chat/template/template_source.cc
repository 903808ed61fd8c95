#include "chat/template/template_source.h"

namespace cairn {

std::string WithToolTemplate(std::string_view usual, std::string_view with_tools) {
  // The empty values keep the white space beside the tags, and the last line break is no text.
  const auto whole = [](std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    return "{{ '' }}" + std::string(text) + "{{ '' }}";
  };
  return "{%- set cairn_with = namespace(tools=tools) %}{%- for message in messages %}"
         "{%- if message.tool_calls or message.role == 'tool' %}"
         "{%- set cairn_with.tools = true %}{%- endif %}{%- endfor %}{%- if cairn_with.tools %}" +
         whole(with_tools) + "{% else %}" + whole(usual) + "{% endif %}";
}

}  // namespace cairn
