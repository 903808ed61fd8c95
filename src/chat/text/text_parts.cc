#include "chat/text/text_parts.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace cairn {
namespace {

void Join(std::string_view separator, Message* message) {
  const std::string_view content = message->content;
  auto medium = message->media.begin();
  std::string joined;
  size_t at = 0;
  size_t added = 0;
  // Media before `end` move by what was added in front of them.
  const auto move_media = [&](size_t end) {
    for (; medium != message->media.end() && medium->begin < end; ++medium) {
      medium->begin += added;
      medium->end += added;
    }
  };
  for (const size_t part : message->part_begins) {
    const size_t begin = std::clamp(part, at, content.size());
    move_media(begin);
    joined += content.substr(at, begin - at);
    joined += separator;
    added += separator.size();
    at = begin;
  }
  move_media(std::string::npos);
  joined += content.substr(at);
  message->content = std::move(joined);
}

}  // namespace

void JoinTextParts(const PartSeparators& separators, Conversation* conversation) {
  // A message with media is given to the template as one text, whether or not it takes parts.
  const PartSeparators of_texts;
  for (Message& message : conversation->messages) {
    const PartSeparators& known = message.media.empty() ? separators : of_texts;
    const std::string& separator = known.Of(message.role);
    if (!message.part_begins.empty() && !separator.empty()) Join(separator, &message);
    message.part_begins.clear();
  }
}

}  // namespace cairn
