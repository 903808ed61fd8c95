// Texts and JSON of `cairn cache`.
//
// Pure functions: any thread.

#ifndef CAIRN_CMD_CACHE_CACHE_TEXT_H_
#define CAIRN_CMD_CACHE_CACHE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "store/folder/object_folder.h"

namespace cairn {

// Objects of one kind, and the bytes of their files.
struct ObjectTotal {
  uint64_t objects = 0;
  uint64_t bytes = 0;

  void Add(uint64_t file_bytes) {
    ++objects;
    bytes += file_bytes;
  }
};

// "812 B", "1.5 KiB", "49.9 MiB"
std::string BytesText(uint64_t bytes);
// "now", "5 s", "12 min", "3 h", "8 d". A time in the future, as frequently used objects have, is
// "now".
std::string AgeText(int64_t time_ns, int64_t now_ns);
// "1 object", "2 objects"
std::string CountText(uint64_t number, std::string_view unit);

// Returns a snapshot's class: "header", "turn", …; "-" for other kinds.
std::string ClassText(const ObjectHeader& header);
// Returns the first digits of a name, as ls shows them. Commands accept them while they are
// unambiguous.
std::string ShortText(std::string_view name);
// "20480", or "4096-8192" for a segment.
std::string TokensText(const FoundObject& object);
// Returns the model's name; empty if the folder does not record it.
std::string ModelText(const FolderContents& contents, const std::string& model);

// Returns a table with columns as wide as their widest cell, two spaces apart, without trailing
// spaces.
std::string TableText(const std::vector<std::vector<std::string>>& rows);

Json ObjectJson(const FoundObject& object, int64_t now_ns);
// Prints one JSON object and a newline on standard output.
void PrintJson(const Json& json);

}  // namespace cairn

#endif  // CAIRN_CMD_CACHE_CACHE_TEXT_H_
