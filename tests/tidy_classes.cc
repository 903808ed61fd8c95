// The rules on the size of classes and folders.

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tidy_rules.h"

namespace cairn::tidy {
namespace {

constexpr size_t kMethodsMax = 40;
constexpr size_t kFieldsMax = 25;
constexpr size_t kDefinitionFilesMax = 2;
constexpr size_t kFolderFilesMax = 25;

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

// Removes "public:" and the like before a member.
std::string_view WithoutLabels(std::string_view head) {
  head = Trimmed(head);
  for (const std::string_view label : {"public:", "protected:", "private:"}) {
    if (head.starts_with(label)) return WithoutLabels(head.substr(label.size()));
  }
  return head;
}

bool BeginsWithWord(std::string_view head, std::string_view word) {
  return head.starts_with(word) && head.size() > word.size() && !IsNameChar(head[word.size()]);
}

// Returns whether a member's declaration is a function's: it has a parenthesis before any "=" that
// is neither in a template argument nor that of GUARDED_BY.
bool DeclaresMethod(std::string_view declaration) {
  const std::string_view head = WithoutLabels(declaration);
  for (const std::string_view word :
       {"using", "friend", "typedef", "static_assert", "enum", "class", "struct", "union"}) {
    if (BeginsWithWord(head, word)) return false;
  }
  if (head.find("= delete") != std::string_view::npos) return false;
  int angles = 0;
  for (size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '<') ++angles;
    if (head[i] == '>' && i > 0 && head[i - 1] != '-') --angles;
    if (angles > 0) continue;
    if (head[i] == '(' && head.substr(0, i).ends_with("GUARDED_BY")) i = head.find(')', i);
    if (i == std::string_view::npos) return false;
    if (head[i] == '(') return true;
    if (head[i] == '{') return false;
    if (head[i] == '=' && head.substr(0, i).find("operator") == std::string_view::npos) {
      return false;
    }
  }
  return false;
}

// Returns whether a member's declaration is that of data in each object.
bool DeclaresField(std::string_view declaration) {
  const std::string_view head = WithoutLabels(declaration);
  for (const std::string_view word : {"using", "friend", "typedef", "static_assert", "enum",
                                      "class", "struct", "union", "static", "template"}) {
    if (BeginsWithWord(head, word)) return false;
  }
  return !head.empty() && head.find("= delete") == std::string_view::npos && !DeclaresMethod(head);
}

size_t MatchingBrace(std::string_view code, size_t open) {
  size_t depth = 0;
  for (size_t i = open; i < code.size(); ++i) {
    if (code[i] == '{') ++depth;
    if (code[i] == '}' && --depth == 0) return i;
  }
  return code.size();
}

struct Members {
  size_t methods = 0;
  size_t fields = 0;
};

// Counts the members in the body of a class, which begins after its brace. Nested classes are
// counted separately.
Members CountMembers(std::string_view body) {
  Members members;
  size_t begin = 0;
  size_t parentheses = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '(') ++parentheses;
    if (body[i] == ')') --parentheses;
    if (parentheses > 0) continue;
    if (body[i] == '{') {
      const bool is_method = DeclaresMethod(body.substr(begin, i - begin));
      i = MatchingBrace(body, i);
      if (!is_method) continue;  // a semicolon follows
      ++members.methods;
      begin = i + 1;
    } else if (body[i] == ';') {
      const std::string_view declaration = body.substr(begin, i - begin);
      if (DeclaresMethod(declaration)) ++members.methods;
      if (DeclaresField(declaration)) ++members.fields;
      begin = i + 1;
    }
  }
  return members;
}

// Returns where the body opens of the class whose keyword ends at `at`; nullopt: no definition.
std::optional<size_t> BodyOf(std::string_view code, size_t at) {
  const size_t end = code.find_first_of("{;()", at);
  if (end == std::string_view::npos || code[end] != '{') return std::nullopt;
  const std::string_view head = code.substr(at, end - at);
  const size_t colon = head.find(':');
  // "template <class T>" declares no class.
  if (head.substr(0, colon).find_first_of(",>=") != std::string_view::npos) return std::nullopt;
  return end;
}

std::string NameIn(std::string_view code, size_t at) {
  while (at < code.size() && !IsNameChar(code[at])) ++at;
  size_t end = at;
  while (end < code.size() && IsNameChar(code[end])) ++end;
  return std::string(code.substr(at, end - at));
}

// Returns "Slot" for "Status Slot::Prefill(TokenSpan tokens)"; empty: not a member's definition.
std::string ClassOf(std::string_view head) {
  const size_t parenthesis = head.find('(');
  const size_t colons = head.substr(0, parenthesis).rfind("::");
  if (parenthesis == std::string_view::npos || colons == std::string_view::npos) return "";
  size_t begin = colons;
  while (begin > 0 && IsNameChar(head[begin - 1])) --begin;
  const std::string name(head.substr(begin, colons - begin));
  // Namespaces are in lower case; a class in the return type is followed by a space.
  const bool is_class = !name.empty() && std::isupper(static_cast<unsigned char>(name[0])) != 0;
  const std::string_view member = head.substr(colons + 2, parenthesis - colons - 2);
  return is_class && member.find(' ') == std::string_view::npos ? name : "";
}

std::string FolderOf(const SourceFile& file) {
  return file.path.substr(0, file.path.rfind('/'));
}

bool IsCounted(const SourceFile& file) {
  return !file.IsTest() && (!InHouse(file.path).empty() || file.path.starts_with("lab/"));
}

// Complains about the classes that have more than `most` of one kind of members.
Complaints CheckMembers(const SourceFile& file, size_t Members::* kind, size_t most,
                        const std::string& name_of_kind) {
  Complaints complaints;
  if (!IsCounted(file)) return complaints;
  const std::string code = CodeOnly(file.text);
  for (const std::string_view keyword : {"class", "struct"}) {
    for (size_t at = FindWord(code, keyword); at != std::string::npos;
         at = FindWord(code, keyword, at + 1)) {
      const bool is_enum = at >= 5 && code.substr(at - 5, 4) == "enum";
      const auto open = BodyOf(code, at + keyword.size());
      if (is_enum || !open) continue;
      const size_t close = MatchingBrace(code, *open);
      const size_t count =
          CountMembers(std::string_view(code).substr(*open + 1, close - *open - 1)).*kind;
      if (count <= most) continue;
      complaints.push_back(file.path + ":" + std::to_string(LineOf(code, at)) + ": " +
                           NameIn(code, at + keyword.size()) + " has " + std::to_string(count) +
                           " " + name_of_kind);
    }
  }
  return complaints;
}

}  // namespace

Complaints CheckClassMethods(const SourceFile& file) {
  return CheckMembers(file, &Members::methods, kMethodsMax, "methods");
}

Complaints CheckClassFields(const SourceFile& file) {
  return CheckMembers(file, &Members::fields, kFieldsMax, "fields");
}

Complaints CheckClassFiles(const std::vector<SourceFile>& files) {
  std::map<std::string, std::set<std::string>> defined_in;  // by folder and class
  for (const SourceFile& file : files) {
    if (file.IsHeader() || !IsCounted(file)) continue;
    const std::string code = CodeOnly(file.text);
    const std::vector<std::string_view> lines = Lines(code);
    for (const FunctionSpan& function : Functions(file.text)) {
      std::string head;
      for (size_t line = function.first_line; line <= function.last_line; ++line) {
        head += lines[line - 1];
        head += ' ';
        if (head.find('(') != std::string::npos) break;
      }
      const std::string name = ClassOf(head);
      if (!name.empty()) defined_in[FolderOf(file) + ": " + name].insert(file.path);
    }
  }
  Complaints complaints;
  for (const auto& [name, paths] : defined_in) {
    if (paths.size() <= kDefinitionFilesMax) continue;
    complaints.push_back(name + " is defined in " + std::to_string(paths.size()) + " files");
  }
  return complaints;
}

Complaints CheckFolderSizes(const std::vector<SourceFile>& files) {
  std::map<std::string, size_t> counts;
  for (const SourceFile& file : files) {
    if (IsCounted(file)) ++counts[FolderOf(file)];
  }
  Complaints complaints;
  for (const auto& [folder, count] : counts) {
    if (count <= kFolderFilesMax) continue;
    complaints.push_back(folder + " has " + std::to_string(count) + " files beside its tests");
  }
  return complaints;
}

}  // namespace cairn::tidy
