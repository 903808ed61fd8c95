// SchemaDocument: a client's JSON schema with its identifiers, in which references are followed.

#ifndef CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_DOCUMENT_H_
#define CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_DOCUMENT_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/json.h"

namespace cairn {

// Reads the schema when it is made; the schema outlives it. Any thread.
class SchemaDocument {
 public:
  // At most so many of its values are looked at for identifiers.
  static constexpr size_t kValuesMax = 400000;

  explicit SchemaDocument(const Json& root);

  struct Target {
    const Json* schema = nullptr;  // null if there is none
    // The reference leads to another document, which is not read.
    bool elsewhere = false;
  };
  // Follows the reference that stands in `from`, one of the document's schemas.
  Target Follow(const Json& from, std::string_view reference) const;
  // The same for $dynamicRef and $recursiveRef; `elsewhere` where it depends on the way to it.
  Target FollowDynamic(const Json& from, std::string_view reference) const;

  // In drafts up to 7, keywords beside $ref have no meaning.
  bool ref_stands_alone() const { return ref_stands_alone_; }
  // Drafts up to 6 do not know "if".
  bool has_conditions() const { return has_conditions_; }
  // Draft 3 and 4: the id is called "id", without '$'.
  const Json& root() const { return root_; }

 private:
  void Walk(const Json& value, const std::string& base, size_t depth);
  // Notes the identifiers of one schema and returns the base of those in it.
  std::string Enter(const Json& schema, const std::string& base);
  const std::string& BaseOf(const Json& schema) const;

  const Json& root_;
  bool ref_stands_alone_ = false;
  bool has_conditions_ = true;
  const char* id_name_ = "$id";
  size_t values_ = 0;
  std::map<std::string, const Json*> by_uri_;  // resources, and anchors as "URI#name"
  std::map<std::string, size_t, std::less<>> dynamic_anchors_;  // how many of each name
  size_t recursive_anchors_ = 0;
  std::unordered_map<const Json*, std::string> bases_;  // of schemas not below the root's base
};

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_DOCUMENT_H_
