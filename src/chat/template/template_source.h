// A model's two templates as one.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_SOURCE_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_SOURCE_H_

#include <string>
#include <string_view>

namespace cairn {

// Returns one template for a model that has two: `with_tools` where tools are offered, or where the
// conversation has calls or their results, and `usual` elsewhere. Any thread.
std::string WithToolTemplate(std::string_view usual, std::string_view with_tools);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_SOURCE_H_
