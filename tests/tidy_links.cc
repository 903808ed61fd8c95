#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "tidy_rules.h"

namespace cairn::tidy {
namespace {

bool IsFence(std::string_view line) {
  const size_t begin = line.find_first_not_of(' ');
  return begin != line.npos && line.substr(begin, 3) == "```";
}

// Returns the page with code blanked; every character stays on its line.
std::string WithoutCode(std::string_view text) {
  std::string kept;
  bool in_block = false;
  for (const std::string_view line : Lines(text)) {
    if (IsFence(line)) in_block = !in_block;
    bool in_code = in_block || IsFence(line);
    for (const char letter : line) {
      if (letter == '`' && !in_block) in_code = !in_code;
      kept += in_code ? ' ' : letter;
    }
    kept += '\n';
  }
  return kept;
}

// Returns the anchor of a heading: "What lies where?" is #what-lies-where.
std::string Anchor(std::string_view heading) {
  std::string anchor;
  for (const char letter : heading) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0 || letter == '-' || letter == '_' || byte >= 0x80) {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (letter == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::set<std::string> Anchors(std::string_view page) {
  std::set<std::string> anchors;
  std::map<std::string, int> count;
  bool in_block = false;
  for (const std::string_view line : Lines(page)) {
    if (IsFence(line)) in_block = !in_block;
    const size_t level = line.find_first_not_of('#');
    if (in_block || level == 0 || level == line.npos || line[level] != ' ') continue;
    const std::string anchor = Anchor(line.substr(level + 1));
    const int before = count[anchor]++;
    anchors.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
  }
  return anchors;
}

bool LeadsOutside(const std::string& target) {
  return target.find("://") != target.npos || target.substr(0, 7) == "mailto:";
}

}  // namespace

Complaints CheckLinks(const SourceFile& page, const std::vector<SourceFile>& pages,
                      const std::function<bool(const std::string& path)>& is_there) {
  const std::string text = WithoutCode(page.text);
  Complaints complaints;
  for (size_t at = text.find("]("); at != text.npos; at = text.find("](", at + 1)) {
    const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
    if (LeadsOutside(target)) continue;
    const auto complain = [&](const std::string& what) {
      complaints.push_back(page.path + ":" + std::to_string(LineOf(text, at)) + ": " + what);
    };
    const size_t hash = std::min(target.find('#'), target.size());
    const std::string file = target.substr(0, hash);
    const auto folder = std::filesystem::path(page.path).parent_path();
    const std::string path = file.empty() ? page.path : (folder / file).lexically_normal().string();
    if (!is_there(path)) {
      complain("there is no " + path);
    } else if (hash < target.size()) {
      const auto found = std::find_if(pages.begin(), pages.end(),
                                      [&](const SourceFile& other) { return other.path == path; });
      if (found != pages.end() && !Anchors(found->text).contains(target.substr(hash + 1))) {
        complain(path + " has no heading for " + target.substr(hash));
      }
    }
  }
  return complaints;
}

}  // namespace cairn::tidy
