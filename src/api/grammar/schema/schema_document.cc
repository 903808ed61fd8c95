#include "api/grammar/schema/schema_document.h"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

constexpr size_t kDocumentDepthMax = 2000;

int HexOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && HexOf(text[i + 1]) >= 0 && HexOf(text[i + 2]) >= 0;
    if (!escape) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(HexOf(text[i + 1]) * 16 + HexOf(text[i + 2]));
    i += 2;
  }
  return plain;
}

// Takes away "." and ".." as RFC 3986 does.
std::string WithoutDots(const std::string& path) {
  std::string clean;
  size_t at = 0;
  while (at < path.size()) {
    size_t end = path.find('/', at + 1);
    if (end == std::string::npos) end = path.size();
    const std::string part = path.substr(at, end - at);
    const bool last = end == path.size();
    if (part == "/.." || part == "/.") {
      if (part == "/..") clean.erase(std::min(clean.rfind('/'), clean.size()));
      if (last) clean += '/';
    } else {
      clean += part;
    }
    at = end;
  }
  return clean;
}

// Returns the URI that `reference`, without a fragment, means at `base`.
std::string Resolved(const std::string& base, const std::string& reference) {
  if (reference.empty()) return base;
  const size_t colon = reference.find(':');
  const bool absolute = colon != std::string::npos && colon > 0 && reference.find('/') > colon &&
                        reference.find('?') > colon;
  if (absolute) return reference;
  const size_t scheme = base.find(':');
  if (scheme == std::string::npos) {
    const size_t folder = base.rfind('/');
    if (reference[0] == '/' || folder == std::string::npos) return reference;
    return WithoutDots(base.substr(0, folder + 1) + reference);
  }
  const bool has_host = base.compare(scheme, 3, "://") == 0;
  size_t path = base.size();
  if (has_host) path = std::min(base.find('/', scheme + 3), base.size());
  if (!has_host) path = scheme + 1;
  if (reference.starts_with("//")) return base.substr(0, scheme + 1) + reference;
  if (reference[0] == '/') return base.substr(0, path) + WithoutDots(reference);
  std::string folder = base.substr(path);
  folder.erase(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  if (folder.empty()) folder = has_host ? "/" : "";
  return base.substr(0, path) + WithoutDots(folder + reference);
}

struct Split {
  std::string uri;
  std::string fragment;
};

Split SplitReference(std::string_view reference) {
  const size_t hash = reference.find('#');
  if (hash == std::string_view::npos) return {std::string(reference), ""};
  return {std::string(reference.substr(0, hash)), Unescaped(reference.substr(hash + 1))};
}

bool IsOlder(std::string_view dialect) {
  constexpr std::array<std::string_view, 5> kDrafts = {"draft-03", "draft-04", "draft-05",
                                                       "draft-06", "draft-07"};
  return std::any_of(kDrafts.begin(), kDrafts.end(), [&](std::string_view draft) {
    return dialect.find(draft) != std::string_view::npos;
  });
}

// The values below these are no schemas.
bool HoldsValues(std::string_view name) {
  return name == "enum" || name == "const" || name == "default" || name == "examples" ||
         name == "example";
}

}  // namespace

SchemaDocument::SchemaDocument(const Json& root) : root_(root) {
  if (!root.is_object()) return;
  const auto dialect = root.find("$schema");
  if (dialect != root.end() && dialect->is_string()) {
    ref_stands_alone_ = IsOlder(dialect->text());
    const bool plain = dialect->text().find("draft-03") != std::string::npos ||
                       dialect->text().find("draft-04") != std::string::npos;
    if (plain) id_name_ = "id";
    const bool newest = dialect->text().find("draft-07") != std::string::npos;
    has_conditions_ = !ref_stands_alone_ || newest;
  }
  by_uri_.emplace("", &root);
  Walk(root, "", 0);
}

std::string SchemaDocument::Enter(const Json& schema, const std::string& base) {
  std::string own = base;
  const auto id = schema.find(id_name_);
  const bool ignored = ref_stands_alone_ && schema.contains("$ref");
  if (id != schema.end() && id->is_string() && !ignored) {
    const Split split = SplitReference(id->text());
    if (!split.uri.empty()) {
      own = Resolved(base, split.uri);
      by_uri_.emplace(own, &schema);
    }
    // Older drafts write an anchor so.
    if (!split.fragment.empty()) by_uri_.emplace(own + "#" + split.fragment, &schema);
  }
  for (const char* name : {"$anchor", "$dynamicAnchor"}) {
    const auto anchor = schema.find(name);
    if (anchor == schema.end() || !anchor->is_string()) continue;
    by_uri_.emplace(own + "#" + anchor->text(), &schema);
    if (name[1] == 'd') ++dynamic_anchors_[anchor->text()];
  }
  const auto recursive = schema.find("$recursiveAnchor");
  if (recursive != schema.end() && *recursive == Json(true)) ++recursive_anchors_;
  return own;
}

void SchemaDocument::Walk(const Json& value, const std::string& base, size_t depth) {
  if (++values_ > kValuesMax || depth > kDocumentDepthMax || !value.is_structured()) return;
  std::string own = base;
  if (value.is_object()) {
    own = Enter(value, base);
    if (!own.empty()) bases_.emplace(&value, own);
  }
  for (const auto& [name, item] : value.items()) {
    if (!HoldsValues(name)) Walk(item, own, depth + 1);
  }
}

const std::string& SchemaDocument::BaseOf(const Json& schema) const {
  static const auto* const none = new std::string();
  const auto found = bases_.find(&schema);
  return found == bases_.end() ? *none : found->second;
}

SchemaDocument::Target SchemaDocument::Follow(const Json& from, std::string_view reference) const {
  const Split split = SplitReference(reference);
  const std::string uri = Resolved(BaseOf(from), split.uri);
  const auto resource = by_uri_.find(uri);
  const Json* schema = resource == by_uri_.end() ? nullptr : resource->second;
  const bool pointer = split.fragment.empty() || split.fragment[0] == '/';
  if (schema != nullptr && !pointer) {
    const auto anchor = by_uri_.find(uri + "#" + split.fragment);
    schema = anchor == by_uri_.end() ? nullptr : anchor->second;
  } else if (schema != nullptr) {
    schema = FindPointer(*schema, split.fragment);
  }
  if (schema != nullptr) return {schema, false};
  // Many schemas mean their own root, whatever identifiers stand on the way.
  if (split.uri.empty()) {
    if (pointer) return {FindPointer(root_, split.fragment), false};
    for (const auto& [name, anchor] : by_uri_) {
      if (name.ends_with("#" + split.fragment)) return {anchor, false};
    }
    return {};
  }
  return {nullptr, resource == by_uri_.end()};
}

SchemaDocument::Target SchemaDocument::FollowDynamic(const Json& from,
                                                     std::string_view reference) const {
  const Split split = SplitReference(reference);
  const auto anchors = dynamic_anchors_.find(split.fragment);
  const bool moves = split.fragment.empty()
                         ? recursive_anchors_ > 1
                         : anchors != dynamic_anchors_.end() && anchors->second > 1;
  if (moves) return {nullptr, true};
  return Follow(from, reference);
}

}  // namespace cairn
