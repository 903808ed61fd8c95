#include "cmd/cache/cache_commands.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/clock.h"
#include "base/json.h"
#include "policy/placement.h"
#include "store/codec/codec.h"

namespace cairn {
namespace {

constexpr int64_t kMinuteS = 60;
constexpr int64_t kHourS = 60 * kMinuteS;
constexpr int64_t kDayS = 24 * kHourS;
constexpr size_t kShortDigits = 8;

double SecondsSince(int64_t time_ns, int64_t now_ns) {
  return (static_cast<double>(now_ns) - static_cast<double>(time_ns)) / kNsPerSecond;
}

// Counts characters: a name may have more bytes than columns.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

std::string BytesText(uint64_t bytes) {
  constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would be printed as 1024.0.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string AgeText(int64_t time_ns, int64_t now_ns) {
  const auto seconds = static_cast<int64_t>(SecondsSince(time_ns, now_ns));
  if (seconds <= 0) return "now";
  if (seconds < 2 * kMinuteS) return std::to_string(seconds) + " s";
  if (seconds < 2 * kHourS) return std::to_string(seconds / kMinuteS) + " min";
  if (seconds < 2 * kDayS) return std::to_string(seconds / kHourS) + " h";
  return std::to_string(seconds / kDayS) + " d";
}

std::string CountText(uint64_t number, std::string_view unit) {
  return std::to_string(number) + " " + std::string(unit) + (number == 1 ? "" : "s");
}

std::string ClassText(const ObjectHeader& header) {
  if (header.kind != ObjectKind::kSnapshot) return "-";
  return std::string(CheckpointClassName(static_cast<CheckpointClass>(header.checkpoint_class)));
}

std::string ShortText(std::string_view name) {
  return std::string(name.substr(0, kShortDigits));
}

std::string TokensText(const FoundObject& object) {
  std::string end = std::to_string(object.end);
  if (object.header.kind != ObjectKind::kSegment) return end;
  return std::to_string(object.header.begin) + "-" + end;
}

std::string ModelText(const FolderContents& contents, const std::string& model) {
  const auto identity = contents.identities.find(model);
  if (identity == contents.identities.end()) return "";
  const std::string text = "\n" + identity->second;
  for (const std::string_view name : {"\ndescription=", "\nmodel="}) {
    const size_t at = text.find(name);
    if (at == std::string::npos) continue;
    const size_t begin = at + name.size();
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  return "";
}

std::string TableText(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Columns(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - Columns(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

Json ObjectJson(const FoundObject& object, int64_t now_ns) {
  const ObjectHeader& header = object.header;
  Json json = {
      {"name", ToText(object.name)}, {"model", object.model}, {"kind", KindName(header.kind)}};
  if (header.kind == ObjectKind::kSnapshot) json["class"] = ClassText(header);
  // 64 bits, which not all JSON parsers support
  json["namespace"] = std::to_string(header.name_space);
  json["begin"] = header.begin;
  json["end"] = object.end;
  json["bytes"] = object.file_bytes;
  json["raw_bytes"] = header.raw_bytes;
  json["codec"] = CodecName(header.codec);
  json["age_s"] = std::max(SecondsSince(object.time_ns, now_ns), 0.0);
  return json;
}

void PrintJson(const Json& json) {
  // Names of folders and files may have any bytes; invalid UTF-8 is replaced instead of throwing.
  const std::string text = ToText(json, 2);
  std::printf("%s\n", text.c_str());
}

}  // namespace cairn
