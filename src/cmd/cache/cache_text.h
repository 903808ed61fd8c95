// How `cairn cache` words what it finds, for people and for programs.
//
// Pure functions: any thread.

#ifndef CAIRN_CMD_CACHE_CACHE_TEXT_H_
#define CAIRN_CMD_CACHE_CACHE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "store/object_folder.h"

namespace cairn {

// "812 B", "1.5 KiB", "49.9 MiB"
std::string BytesText(uint64_t bytes);
// "now", "5 s", "12 min", "3 h", "8 d". A time in the future, as that of what is used often, is
// now.
std::string AgeText(int64_t time_ns, int64_t now_ns);
// "1 object", "2 objects"
std::string CountText(uint64_t number, std::string_view unit);

std::string_view KindName(ObjectKind kind);
// Of a snapshot: "header", "turn", …; of others "-".
std::string ClassText(const ObjectHeader& header);
// The digits that ls shows of a name; they are enough for the commands as long as they are one's.
std::string ShortText(std::string_view name);
// "20480", or of a segment "4096-8192".
std::string TokensText(const FoundObject& object);
// What the model calls itself; empty when the folder does not say.
std::string ModelText(const FolderContents& contents, const std::string& model);

// Columns as wide as their widest cell, two blanks apart; no blanks at the ends of lines.
std::string TableText(const std::vector<std::vector<std::string>>& rows);

Json ObjectJson(const FoundObject& object, int64_t now_ns);
// One JSON object and a line's end on standard output.
void PrintJson(const Json& json);

}  // namespace cairn

#endif  // CAIRN_CMD_CACHE_CACHE_TEXT_H_
