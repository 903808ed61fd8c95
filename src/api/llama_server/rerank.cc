#include "api/llama_server/rerank.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/prompt/prompt_limits.h"
#include "api/prompt/prompt_tokens.h"
#include "chat/spans/prompt_text.h"

namespace cairn {
namespace {

constexpr size_t kDocumentsMax = 2048;
// The query is read again for each document.
constexpr size_t kQueryBytesMax = size_t{64} << 20;  // of all readings together

struct RerankRequest {
  std::string query;
  std::vector<std::string> documents;
  std::string list = "documents";  // the field of the documents
  size_t results_max = SIZE_MAX;
  bool tei = false;         // in TEI's format
  bool with_texts = false;  // the results contain the documents
};

struct Ranked {
  size_t index = 0;
  float score = 0;
};

std::string DocumentPlace(const RerankRequest& request, size_t index) {
  return ItemPlace(request.list, index);
}

void ReadDocuments(FieldReader* fields, RerankRequest* request) {
  const Json* list = fields->Find("documents");
  if (list == nullptr) list = fields->Find("texts");
  const std::string expected =
      "a list of one to " + std::to_string(kDocumentsMax) + " texts to be ranked";
  if (list == nullptr || !list->is_array() || list->empty() || list->size() > kDocumentsMax) {
    return fields->Fail(request->list, expected);
  }
  for (const Json& entry : *list) {
    // Jina's clients also send {"text": …}.
    const Json* text = &entry;
    if (entry.is_object() && entry.contains("text")) text = &entry["text"];
    if (!text->is_string()) {
      return fields->Fail(DocumentPlace(*request, request->documents.size()), "a string");
    }
    request->documents.push_back(text->get<std::string>());
  }
}

ApiResult<RerankRequest> ParseRerankRequest(const Json& body) {
  RerankRequest request;
  FieldReader fields(body, "");
  request.tei = fields.Find("texts") != nullptr && fields.Find("documents") == nullptr;
  if (request.tei) request.list = "texts";
  if (fields.Find("query") == nullptr) fields.Fail("query", "a string");
  fields.String("query", &request.query);
  ReadDocuments(&fields, &request);
  if (request.query.size() * request.documents.size() > kQueryBytesMax) {
    fields.Fail("query", "of at most " + std::to_string(kQueryBytesMax / request.documents.size()) +
                             " bytes with so many documents: shorten it, or send fewer at once");
  }
  int64_t results = static_cast<int64_t>(request.documents.size());
  fields.Integer("top_n", 0, int64_t{1} << 40, &results);
  request.results_max = static_cast<size_t>(results);
  fields.Bool(request.tei ? "return_text" : "return_documents", &request.with_texts);
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

Json ResultJson(const RerankRequest& request, const Ranked& ranked) {
  Json result = {{"index", ranked.index},
                 {request.tei ? "score" : "relevance_score", ranked.score}};
  const std::string& text = request.documents[ranked.index];
  if (request.with_texts && request.tei) result["text"] = text;
  if (request.with_texts && !request.tei) result["document"] = {{"text", text}};
  return result;
}

std::string AnswerText(const RerankRequest& request, std::vector<Ranked> ranked,
                       const std::string& model, size_t tokens) {
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
  ranked.resize(std::min(ranked.size(), request.results_max));
  Json results = Json::array();
  for (const Ranked& one : ranked) results.push_back(ResultJson(request, one));
  if (request.tei) return ToText(results);
  return ToText({{"model", model},
                 {"object", "list"},
                 {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}},
                 {"results", std::move(results)}});
}

// Appends a client's text; special tokens in it stay text.
void AppendLiteral(const std::string& text, const SpecialTexts& specials, PromptText* prompt) {
  for (size_t from = 0; from < text.size();) {
    const TextRange found = specials.Find(text, from);
    if (found.begin >= text.size()) break;
    prompt->literals.push_back(
        {prompt->text.size() + found.begin, prompt->text.size() + found.end});
    from = found.end;
  }
  prompt->text += text;
}

}  // namespace

Rerank::Rerank(const Engine* engine, Reranker* reranker)
    : engine_(engine),
      reranker_(reranker),
      specials_(reranker->layout().prompt_template.empty() ? SpecialTexts({})
                                                           : FindSpecialTexts(*engine)) {}

Result<Tokens> Rerank::TemplatePromptOf(const std::string& query,
                                        const std::string& document) const {
  const std::string& form = reranker_->layout().prompt_template;
  constexpr std::string_view kQuery = "{query}";
  constexpr std::string_view kDocument = "{document}";
  PromptText prompt;
  for (size_t at = 0; at < form.size();) {
    const size_t next = std::min({form.find(kQuery, at), form.find(kDocument, at), form.size()});
    prompt.text += form.substr(at, next - at);
    at = next;
    if (at == form.size()) break;
    const bool is_query = form.compare(at, kQuery.size(), kQuery) == 0;
    AppendLiteral(is_query ? query : document, specials_, &prompt);
    at += is_query ? kQuery.size() : kDocument.size();
  }
  return TokenizePrompt(*engine_, specials_, prompt, /*adds_bos=*/false, {});
}

Result<Tokens> Rerank::PromptOf(const std::string& query, const std::string& document) const {
  const RerankLayout& layout = reranker_->layout();
  if (!layout.prompt_template.empty()) return TemplatePromptOf(query, document);
  Tokens prompt = layout.before;
  const auto asked = engine_->Tokenize(query, false, false);
  if (!asked) return asked;
  const auto answered = engine_->Tokenize(document, false, false);
  if (!answered) return answered;
  prompt.insert(prompt.end(), asked->begin(), asked->end());
  prompt.insert(prompt.end(), layout.between.begin(), layout.between.end());
  prompt.insert(prompt.end(), answered->begin(), answered->end());
  prompt.insert(prompt.end(), layout.after.begin(), layout.after.end());
  return prompt;
}

ApiResult<float> Rerank::Score(const std::string& query, const std::string& document,
                               const std::string& place, size_t* tokens) const {
  const size_t bytes = query.size() + document.size();
  const auto fits = CheckEncodedText(*engine_, reranker_->tokens_max(), bytes, place);
  if (!fits) return tl::unexpected(fits.error());
  const auto prompt = PromptOf(query, document);
  if (!prompt) {
    return tl::unexpected(FieldError(place, "a text with tokens: " + prompt.error().message));
  }
  if (prompt->empty()) return tl::unexpected(FieldError(place, "a text of one token or more"));
  if (prompt->size() > reranker_->tokens_max()) {
    return tl::unexpected(
        FieldError(place, "of at most " + std::to_string(reranker_->tokens_max()) +
                              " tokens together with the query; " + std::to_string(prompt->size()) +
                              " are too large for the context (--ctx-size)"));
  }
  const auto score = reranker_->Score(*prompt);
  if (!score) return tl::unexpected(ToApiError(score.error()));
  if (std::isnan(*score)) {
    return tl::unexpected(ToApiError({ErrorCode::kInternal, "the model returned no score"}));
  }
  *tokens += prompt->size();
  return *score;
}

ApiResult<std::string> Rerank::Answer(const std::string& model, std::string_view body,
                                      const std::function<bool()>& gone) const {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  const auto request = ParseRerankRequest(*json);
  if (!request) return tl::unexpected(request.error());
  std::vector<Ranked> ranked;
  size_t tokens = 0;
  for (const std::string& document : request->documents) {
    if (gone())
      return tl::unexpected(ToApiError({ErrorCode::kCancelled, "the client disconnected"}));
    const auto score =
        Score(request->query, document, DocumentPlace(*request, ranked.size()), &tokens);
    if (!score) return tl::unexpected(score.error());
    ranked.push_back({ranked.size(), *score});
  }
  return AnswerText(*request, std::move(ranked), model, tokens);
}

ApiResult<std::string> RerankBody(const Rerank* rerank, const std::string& model,
                                  std::string_view body, const std::function<bool()>& gone) {
  if (rerank != nullptr) return rerank->Answer(model, body, gone);
  return tl::unexpected(
      ToApiError({ErrorCode::kUnsupported,
                  "this server does not serve reranking; start it with --reranking"}));
}

}  // namespace cairn
