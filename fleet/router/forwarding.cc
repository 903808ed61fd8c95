#include "fleet/router/forwarding.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "api/ollama/ollama_models.h"
#include "base/json.h"
#include "fleet/router/proxy.h"
#include "http/server_words.h"

namespace cairn {
namespace {

// Walks over JSON text. After an error it is at the end.
class JsonSkipper {
 public:
  explicit JsonSkipper(std::string_view text) : text_(text) {}

  bool AtEnd() const { return at_ >= text_.size(); }
  // The next character that is no blank, or 0 at the end.
  char Peek() {
    while (!AtEnd() && IsBlank(text_[at_])) ++at_;
    return AtEnd() ? '\0' : text_[at_];
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  // Returns the text of the value that begins here; empty at the end or if there is none.
  std::string_view Value() {
    const char first = Peek();
    const size_t begin = at_;
    if (first == '"') {
      SkipString();
    } else if (first == '{' || first == '[') {
      SkipNested();
    } else {
      while (!AtEnd() && !IsDelimiter(text_[at_])) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  static bool IsDelimiter(char c) {
    return IsBlank(c) || c == ',' || c == ':' || c == '}' || c == ']' || c == '"' || c == '{' ||
           c == '[';
  }

  // REQUIRES: at a quotation mark.
  void SkipString() {
    for (++at_; at_ < text_.size(); ++at_) {
      at_ = text_.find_first_of("\"\\", at_);
      if (at_ == std::string_view::npos) break;
      if (text_[at_] == '"') {
        ++at_;
        return;
      }
      ++at_;  // the character after a backslash
    }
    at_ = text_.size();
  }

  // REQUIRES: at a bracket. Counts brackets of both kinds alike.
  void SkipNested() {
    size_t depth = 0;
    while (!AtEnd()) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return;
    }
  }

  const std::string_view text_;
  size_t at_ = 0;
};

// Returns whether `text`, which is written as a JSON string, says `value`.
bool Says(std::string_view text, std::string_view value) {
  if (text.find('\\') == std::string_view::npos) {
    return text.size() == value.size() + 2 && text.substr(1, value.size()) == value;
  }
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_string() && json.text() == value;
}

NamedModel ModelOf(std::string_view value) {
  if (value == "null") return {};
  const Json json = Json::parse(value, nullptr, /*allow_exceptions=*/false);
  if (!json.is_string()) return {NamedModel::Kind::kNoString, ""};
  return {NamedModel::Kind::kNamed, json.text()};
}

bool Autoloads(const RouterParts& parts, const HttpRequest& request) {
  const std::string asked = ParamOf(request, "autoload");
  return asked.empty() ? parts.autoload : asked == "true" || asked == "1";
}

}  // namespace

NamedModel RequestModel(std::string_view body) {
  JsonSkipper json(body);
  NamedModel model;
  if (!json.Take('{')) return model;
  do {
    if (json.Peek() != '"') break;
    const std::string_view key = json.Value();
    if (!json.Take(':')) break;
    const std::string_view value = json.Value();
    if (value.empty()) break;
    if (Says(key, "model")) model = ModelOf(value);
  } while (json.Take(','));
  return model;
}

std::string ParamOf(const HttpRequest& request, const char* name) {
  const auto found = request.params.find(name);
  return found == request.params.end() ? std::string() : found->second;
}

std::string NamesOf(const std::vector<ModelStatus>& models) {
  std::string names;
  for (const ModelStatus& model : models) {
    names += (names.empty() ? "" : ", ") + model.entry->name;
  }
  return names;
}

const ModelEntry* FindOllamaModel(const RouterParts& parts, const std::string& name) {
  const ModelEntry* const model = parts.models->Find(name);
  return model != nullptr ? model : parts.models->Find(WithoutLatest(name));
}

Result<const ModelEntry*> ModelFor(const RouterParts& parts, const HttpRequest& request) {
  NamedModel named = RequestModel(request.body);
  if (named.kind == NamedModel::Kind::kNoString) {
    return Fail(ErrorCode::kInvalidArgument, "'model' must be a string");
  }
  if (named.name.empty()) named.name = ParamOf(request, "model");
  const auto models = parts.models->List();
  if (!named.name.empty()) {
    const bool is_ollamas = IsOllamaPath(request.path);
    const ModelEntry* const model =
        is_ollamas ? FindOllamaModel(parts, named.name) : parts.models->Find(named.name);
    if (model != nullptr) return model;
    if (is_ollamas) {
      return Fail(ErrorCode::kNotFound, NoOllamaModel(named.name, NamesOf(models)).message);
    }
    return Fail(ErrorCode::kNotFound,
                "there is no model '" + named.name + "' here; the models are " + NamesOf(models));
  }
  if (models.size() == 1) return models.front().entry;
  const auto loaded = parts.models->Loaded();
  if (loaded.size() == 1) return loaded.front();
  return Fail(ErrorCode::kInvalidArgument,
              "the request names no model, and " +
                  std::string(loaded.empty() ? "none is loaded" : "several are loaded") +
                  "; set 'model' to one of " + NamesOf(models));
}

HttpResponse Forward(const RouterParts& parts, const HttpRequest& request) {
  const auto model = ModelFor(parts, request);
  if (!model) return ErrorAnswer(model.error(), request.path);
  // A process that has just died may have a successor, which has not seen the request yet.
  for (;;) {
    const auto lease = parts.models->Use(
        *model, {Autoloads(parts, request), request.method == "POST"}, request.gone);
    if (!lease) return ErrorAnswer(lease.error(), request.path);
    HttpResponse response = parts.proxy->Forward(request, *lease);
    if (!(*lease)->was_refused()) return response;
  }
}

std::map<std::string, std::string> AskAll(const RouterParts& parts, const HttpRequest& request,
                                          const std::string& path) {
  std::map<std::string, std::string> bodies;
  HttpRequest own = request;
  own.method = "GET";
  own.target = path;
  own.body.clear();
  for (auto& lease : parts.models->UseReady()) {
    const std::string name = lease->name();
    HttpResponse response = parts.proxy->Forward(own, std::move(lease));
    if (response.status == 200) bodies[name] = std::move(response.body);
  }
  return bodies;
}

std::optional<HttpResponse> RefuseUnlessAdmin(const RouterParts& parts, const HttpRequest& request,
                                              const std::string& does) {
  if (parts.keys == nullptr || parts.keys->empty()) return std::nullopt;
  if (request.key_number == 0) {
    return ErrorAnswer(401, "an API key is required for " + does, request.path);
  }
  if (parts.keys->IsAdminOrOnly(request.key_number)) return std::nullopt;
  return ErrorAnswer(403, NeedsAdminText(does, parts.keys->has_admin()), request.path);
}

}  // namespace cairn
