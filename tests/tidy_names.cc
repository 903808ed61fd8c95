// The rule on private names, which lets several sources of a target be compiled as one.

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tidy_rules.h"

namespace cairn::tidy {
namespace {

// What one source defines for itself alone.
struct PrivateName {
  std::string name;  // with its namespaces: "cairn::kClient"
  std::string line;
  size_t number = 0;
  bool is_local = false;  // a constant inside a function
  bool is_using = false;
  bool is_namespace = false;  // `using namespace`, with no name of its own
};

// Returns the identifier that ends at `end`, after spaces; empty if there is none.
std::string_view NameBefore(std::string_view line, size_t end) {
  while (end > 0 && line[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && IsNameChar(line[begin - 1])) --begin;
  return line.substr(begin, end - begin);
}

bool BeginsWithAny(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return line.starts_with(word); });
}

// Returns where the name of a class ends, before " final", its bases or its body.
size_t ClassNameEnd(std::string_view line) {
  size_t end = line.size();
  for (const std::string_view behind : {" final", " : ", " {"}) {
    end = std::min(end, line.find(behind));
  }
  return end;
}

// Returns the name that a line at namespace scope defines; empty if it defines none.
std::string_view DefinedName(std::string_view line) {
  if (line.empty() || !IsNameChar(line[0]) ||
      BeginsWithAny(line, {"TEST", "INSTANTIATE", "RC_", "static_assert", "template ", "namespace ",
                           "extern ", "return "})) {
    return {};
  }
  if (line.starts_with("using namespace ")) return {};
  if (line.starts_with("using ")) {
    return NameBefore(line, std::min(line.find_first_of("=;"), line.size()));
  }
  if (BeginsWithAny(line, {"struct ", "class ", "enum ", "union "}) &&
      line.find('(') == std::string_view::npos) {
    return line.ends_with(';') && line.find('{') == std::string_view::npos
               ? std::string_view()
               : NameBefore(line, ClassNameEnd(line));
  }
  const size_t end = line.find_first_of("(=[;{");
  if (end == std::string_view::npos) return {};
  const std::string_view name = NameBefore(line, end);
  const size_t begin = static_cast<size_t>(name.data() - line.data());
  const bool is_member = begin >= 2 && line.substr(begin - 2, 2) == "::";
  const bool is_name =
      !name.empty() && (std::isupper(static_cast<unsigned char>(name[0])) != 0 || name[0] == 'k');
  return is_member || begin == 0 || !is_name ? std::string_view() : name;
}

// Returns the name of a constant inside a function; empty if the line defines none.
std::string_view LocalConstant(std::string_view line) {
  const size_t begin = line.find_first_not_of(' ');
  if (begin == 0 || begin == std::string_view::npos) return {};
  if (!BeginsWithAny(line.substr(begin), {"constexpr ", "const "})) return {};
  const std::string_view name =
      NameBefore(line, std::min(line.find_first_of("=[{;("), line.size()));
  return name.size() > 1 && name[0] == 'k' && std::isupper(static_cast<unsigned char>(name[1])) != 0
             ? name
             : std::string_view();
}

constexpr std::string_view kNamespace = "namespace ";

// Returns the name of a namespace that the line opens; empty if it has none.
std::string_view ScopeName(std::string_view line) {
  line.remove_prefix(kNamespace.size());
  return line.substr(0, std::min(line.find_first_of(" {"), line.size()));
}

// Follows the namespaces of a source as clang-format writes them, with a comment at each end.
std::vector<PrivateName> PrivateNames(const SourceFile& file) {
  std::vector<PrivateName> names;
  std::vector<std::string> scopes;  // empty: an unnamed namespace
  const std::string text = WithoutLiterals(file.text);
  size_t number = 0;
  for (const std::string_view line : Lines(text)) {
    ++number;
    if (line.starts_with(kNamespace) && line.ends_with('{')) {
      scopes.emplace_back(ScopeName(line));
      continue;
    }
    if (line.starts_with("}  // namespace")) {
      if (!scopes.empty()) scopes.pop_back();
      continue;
    }
    const bool unnamed = std::find(scopes.begin(), scopes.end(), "") != scopes.end();
    const bool is_private = unnamed || BeginsWithAny(line, {"constexpr ", "static "});
    PrivateName found{"", std::string(line), number};
    found.is_using = line.starts_with("using ");
    found.is_namespace = line.starts_with("using namespace ");
    std::string_view name = is_private ? DefinedName(line) : std::string_view();
    if (name.empty() && !found.is_namespace) {
      name = LocalConstant(line);
      found.is_local = true;
      if (name.empty()) continue;
    }
    for (const std::string& scope : scopes) {
      if (!scope.empty()) found.name += scope + "::";
    }
    found.name += name;
    names.push_back(std::move(found));
  }
  return names;
}

using FilesByPath = std::map<std::string, const SourceFile*>;

// Adds the headers that the file includes, directly or through others.
void AddHeaders(const SourceFile& file, const FilesByPath& files,
                std::set<const SourceFile*>* headers) {
  for (const Include& include : Includes(file.text)) {
    for (const char* const root : {"src/", "tests/", ""}) {
      const auto found = files.find(root + include.path);
      if (found == files.end() || !headers->insert(found->second).second) continue;
      AddHeaders(*found->second, files, headers);
    }
  }
}

// Returns the types and constants of each header, with their namespaces.
std::map<const SourceFile*, std::set<std::string>> PublicNames(const FilesByPath& files) {
  std::map<const SourceFile*, std::set<std::string>> names;
  for (const auto& [path, header] : files) {
    if (!header->IsHeader()) continue;
    const SourceFile& file = *header;
    std::string scope;
    const std::string text = WithoutLiterals(file.text);
    for (const std::string_view line : Lines(text)) {
      if (line.starts_with(kNamespace) && line.ends_with('{')) {
        scope += std::string(ScopeName(line)) + "::";
      } else if (line.starts_with("}  // namespace")) {
        scope.clear();
      } else if (BeginsWithAny(line,
                               {"struct ", "class ", "enum ", "using ", "inline constexpr "})) {
        const std::string_view name = DefinedName(line);
        if (!name.empty()) names[header].insert(scope + std::string(name));
      }
    }
  }
  return names;
}

// Whether both cannot be in one object. The same `using` may be there twice.
bool Collide(const PrivateName& one, const PrivateName& other) {
  if (one.is_local && other.is_local) return false;
  return !one.is_using || !other.is_using || one.line != other.line;
}

struct Target {
  std::string name;
  std::vector<std::string> sources;  // paths in the repository
};

// Returns the targets of a CMakeLists.txt with their .cc files.
std::vector<Target> TargetsOf(const SourceFile& cmake_file) {
  const std::string folder = cmake_file.path.substr(0, cmake_file.path.rfind('/') + 1);
  constexpr std::string_view kRoot = "${PROJECT_SOURCE_DIR}/";
  std::vector<Target> targets;
  for (const std::string_view command :
       {"cairn_library", "cairn_test", "cairn_property_test", "add_library", "add_executable"}) {
    for (size_t at = FindWord(cmake_file.text, command); at != std::string::npos;
         at = FindWord(cmake_file.text, command, at + 1)) {
      const size_t open = at + command.size();
      if (cmake_file.text[open] != '(') continue;
      const size_t close = std::min(cmake_file.text.find(')', open), cmake_file.text.size());
      std::string words = cmake_file.text.substr(open + 1, close - open - 1);
      std::replace(words.begin(), words.end(), '\n', ' ');
      Target target;
      while (!words.empty()) {
        const size_t end = std::min(words.find(' '), words.size());
        const std::string word = words.substr(0, end);
        words.erase(0, end + 1);
        if (target.name.empty()) target.name = word;
        if (!word.ends_with(".cc")) continue;
        const bool from_root = word.starts_with(kRoot);
        target.sources.push_back(from_root ? word.substr(kRoot.size()) : folder + word);
      }
      targets.push_back(std::move(target));
    }
  }
  return targets;
}

// The sources of one target, in the order of their names there.
class TargetNames {
 public:
  TargetNames(const Target& target, const std::map<std::string, std::vector<PrivateName>>& names_of)
      : target_(target), names_of_(names_of) {}

  // A name of one source that another has too.
  void CheckSources(std::set<std::string>* complaints) {
    for (const std::string& source : target_.sources) {
      for (const PrivateName& name : NamesOf(source)) {
        if (name.is_namespace) {
          opens_namespaces_ = true;
          if (!IsOwnNamespace(source, name)) {
            complaints->insert(source + ":" + std::to_string(name.number) +
                               ": `using namespace` holds for other sources of the target " +
                               target_.name + " too: give this one a namespace of its own");
          }
          continue;
        }
        const auto [begin, end] = known_.equal_range(name.name);
        const auto other = std::find_if(begin, end, [&](const auto& one) {
          return *one.second.first != source && Collide(*one.second.second, name);
        });
        if (other != end) {
          complaints->insert(At(source, name) + " is private to " + *other->second.first +
                             " too, of the same target " + target_.name +
                             ": rename one, or move what both share to a header");
        }
        known_.emplace(name.name, std::make_pair(&source, &name));
      }
    }
  }

  // A name of a source that a header which the target includes defines for all.
  void CheckHeader(const SourceFile& header, const std::set<std::string>& public_names,
                   std::set<std::string>* complaints) {
    for (const std::string& name : public_names) {
      CheckName(header, name, complaints);
      const size_t end = name.rfind("::");
      const size_t begin = end == std::string::npos ? end : name.rfind("::", end - 1);
      // A `using namespace` in one source shows the name to the namespace around it.
      if (opens_namespaces_ && begin != std::string::npos) {
        CheckName(header, name.substr(0, begin) + name.substr(end), complaints);
      }
    }
  }

 private:
  void CheckName(const SourceFile& header, const std::string& name,
                 std::set<std::string>* complaints) const {
    const auto [begin, end] = known_.equal_range(name);
    for (auto one = begin; one != end; ++one) {
      if (one->second.second->is_local || one->second.second->is_using) continue;
      complaints->insert(At(*one->second.first, *one->second.second) + " is private, and in " +
                         header.path + " public, which a source of the target " + target_.name +
                         " includes: rename it");
    }
  }
  const std::vector<PrivateName>& NamesOf(const std::string& source) const {
    static const std::vector<PrivateName> kNone;
    const auto found = names_of_.find(source);
    return found == names_of_.end() ? kNone : found->second;
  }
  // Whether a namespace around the name is called as the source.
  static bool IsOwnNamespace(const std::string& source, const PrivateName& name) {
    const size_t begin = source.rfind('/') + 1;
    return name.name.find("::" + source.substr(begin, source.size() - begin - 3) + "::") !=
           std::string::npos;
  }
  static std::string At(const std::string& source, const PrivateName& name) {
    return source + ":" + std::to_string(name.number) + ": " + name.name;
  }

  const Target& target_;
  const std::map<std::string, std::vector<PrivateName>>& names_of_;
  std::multimap<std::string, std::pair<const std::string*, const PrivateName*>> known_;
  bool opens_namespaces_ = false;
};

}  // namespace

Complaints CheckPrivateNames(const std::vector<SourceFile>& files,
                             const std::vector<SourceFile>& cmake_files) {
  std::map<std::string, std::vector<PrivateName>> names_of;
  FilesByPath by_path;
  for (const SourceFile& file : files) {
    by_path[file.path] = &file;
    if (!file.IsHeader()) names_of[file.path] = PrivateNames(file);
  }
  const auto public_names = PublicNames(by_path);
  std::set<std::string> complaints;
  for (const SourceFile& cmake_file : cmake_files) {
    for (const Target& target : TargetsOf(cmake_file)) {
      if (target.sources.size() < 2) continue;
      TargetNames names(target, names_of);
      names.CheckSources(&complaints);
      std::set<const SourceFile*> headers;
      for (const std::string& source : target.sources) {
        const auto found = by_path.find(source);
        if (found != by_path.end()) AddHeaders(*found->second, by_path, &headers);
      }
      std::map<std::string, std::string> seen;  // names of headers, and where they are
      for (const SourceFile* const header : headers) {
        const auto names_there = public_names.find(header);
        if (names_there == public_names.end()) continue;
        names.CheckHeader(*header, names_there->second, &complaints);
        for (const std::string& name : names_there->second) {
          const auto [first, is_new] = seen.emplace(name, header->path);
          if (is_new) continue;
          const auto [one, other] = std::minmax(first->second, header->path);
          complaints.insert(other + ":1: " + name + " is in " + one + " too, and the target " +
                            target.name + " includes both: keep one");
        }
      }
    }
  }
  return {complaints.begin(), complaints.end()};
}

}  // namespace cairn::tidy
