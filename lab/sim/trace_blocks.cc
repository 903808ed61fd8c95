// Requests with global block ids: Mooncake's traces and this server's own, which have more fields
// (docs/traces.md). Own traces are read by their numbers of single tokens; their hash_ids are for
// other readers.

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "lab/sim/trace.h"

namespace cairn {
namespace {

constexpr size_t kMooncakeBlockTokens = 512;
// The block size of traces that number single tokens and have no blocks.
constexpr size_t kOwnBlockTokens = 64;

class BlocksReader final : public TraceReader {
 public:
  Status AddLine(const Json& line, Trace* trace) override {
    trace->absolute_time = true;
    const bool own = line.contains("token_ids");
    const auto block_size = TokensField(line, "block_size", kMooncakeBlockTokens);
    if (!own && !block_size) return tl::unexpected(block_size.error());
    const size_t block_tokens = own ? kOwnBlockTokens : *block_size;
    if (block_tokens == 0 || (trace->block_tokens != 0 && trace->block_tokens != block_tokens)) {
      return Fail(ErrorCode::kInvalidArgument, "block_size: expected one for all requests");
    }
    trace->block_tokens = block_tokens;
    const auto at_ms = SizeField(line, "timestamp");
    const auto input = TokensField(line, "input_length");
    const auto output = TokensField(line, "output_length");
    if (!at_ms) return tl::unexpected(at_ms.error());
    if (!input) return tl::unexpected(input.error());
    if (!output) return tl::unexpected(output.error());
    if (*input == 0) return Fail(ErrorCode::kInvalidArgument, "input_length: expected tokens");
    TraceRequest request;
    request.at_ms = static_cast<double>(*at_ms);
    request.input_tokens = *input;
    request.output_tokens = *output;
    request.shape.tokens = *input;
    AddShape(line, &request.shape);
    if (own) return AddOwn(line, request, trace);
    if (!line.contains("hash_ids") || !line["hash_ids"].is_array()) {
      return Fail(ErrorCode::kInvalidArgument, "hash_ids: expected a list of block ids");
    }
    for (const Json& id : line["hash_ids"]) {
      if (!id.is_number_unsigned()) {
        return Fail(ErrorCode::kInvalidArgument, "hash_ids: expected whole numbers");
      }
      if (Status added = AddBlock(id.get<uint64_t>(), block_tokens, &request); !added) return added;
    }
    SessionFor(line, trace).requests.push_back(std::move(request));
    return {};
  }

 private:
  // Ids may be hashes; they are numbered in order of appearance.
  Status AddBlock(uint64_t id, size_t block_tokens, TraceRequest* request) {
    const auto [found, is_new] = numbers_.try_emplace(id, static_cast<uint32_t>(numbers_.size()));
    if (is_new && numbers_.size() * block_tokens > kTraceTokensMax) {
      return Fail(ErrorCode::kInvalidArgument, "hash_ids: more blocks than tokens can be numbered");
    }
    const uint32_t number = found->second;
    if (!request->blocks.empty() && request->blocks.back().last + 1 == number) {
      request->blocks.back().last = number;
    } else {
      request->blocks.push_back({number, number});
    }
    return {};
  }

  // Adds a request for each answer of the line; the first has the line's own fields.
  Status AddOwn(const Json& line, const TraceRequest& asked, Trace* trace) {
    std::vector<TraceRequest> requests = {asked};
    if (Status added = AddAnswer(line, &requests.back()); !added) return added;
    const Json more = line.value("more_answers", Json::array());
    if (!more.is_array()) {
      return Fail(ErrorCode::kInvalidArgument, "more_answers: expected a list");
    }
    for (const Json& answer : more) {
      const auto output = TokensField(answer, "output_length");
      if (!output) return tl::unexpected(output.error());
      requests.push_back(asked);
      requests.back().output_tokens = *output;
      if (Status added = AddAnswer(answer, &requests.back()); !added) return added;
    }
    TraceSession& session = SessionFor(line, trace);
    for (TraceRequest& request : requests) {
      request.reuse = line.value("reuse", true);
      session.requests.push_back(std::move(request));
    }
    return {};
  }

  static bool IsNumber(const Json& json) {
    return json.is_number_unsigned() && json.get<uint64_t>() < kTraceTokensMax;
  }

  static Status AddAnswer(const Json& answer, TraceRequest* request) {
    if (!answer.contains("token_ids") || !answer["token_ids"].is_array()) return BadTokenIds();
    std::vector<BlockRange> numbers;
    uint64_t tokens = 0;
    for (const Json& range : answer["token_ids"]) {
      if (!range.is_array() || range.size() != 2 || !IsNumber(range[0]) || !IsNumber(range[1])) {
        return BadTokenIds();
      }
      numbers.push_back({range[0].get<uint32_t>(), range[1].get<uint32_t>()});
      const auto [first, last] = numbers.back();
      if (first > last) return BadTokenIds();
      tokens += last - first + 1;
    }
    if (tokens != request->input_tokens + request->output_tokens) return BadTokenIds();
    const std::string end = TextField(answer, "end");
    request->ended_by_model = end == "model";
    const auto processed = SizeField(answer, "processed");
    if (processed && *processed < request->input_tokens) request->cancelled_at = *processed;
    if (const auto reused = SizeField(answer, "reused")) request->reused_tokens = *reused;
    request->token_ids = std::move(numbers);
    return {};
  }

  static tl::unexpected<Error> BadTokenIds() {
    return Fail(ErrorCode::kInvalidArgument,
                "token_ids: expected [first, last] of numbers, as many as input_length and "
                "output_length say");
  }

  static std::string TextField(const Json& object, const char* field) {
    const auto found = object.find(field);
    return found != object.end() && found->is_string() ? found->text() : "";
  }

  // Returns the pairs of numbers in a list of them; other entries are skipped.
  static std::vector<std::pair<size_t, size_t>> Pairs(const Json& line, const char* field) {
    std::vector<std::pair<size_t, size_t>> pairs;
    const auto found = line.find(field);
    if (found == line.end() || !found->is_array()) return pairs;
    for (const Json& pair : *found) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
          !pair[1].is_number_unsigned()) {
        continue;
      }
      pairs.emplace_back(pair[0].get<size_t>(), pair[1].get<size_t>());
    }
    return pairs;
  }

  static void AddShape(const Json& line, PromptShape* shape) {
    const auto position = [&](const char* field) {
      return std::min(SizeField(line, field).value_or(0), shape->tokens);
    };
    shape->header_end = position("header_end");
    shape->messages_end = position("messages_end");
    shape->query_end = position("query_end");
    for (const auto& [begin, by_user] : Pairs(line, "turns")) {
      if (begin < shape->tokens) shape->turns.push_back({begin, by_user == 1});
    }
    for (const auto& [begin, end] : Pairs(line, "reasoning")) {
      if (begin < end && end <= shape->tokens) shape->reasoning.push_back({begin, end});
    }
    for (const auto& [at, keep_ms] : Pairs(line, "marks")) {
      if (at <= shape->tokens) shape->marks.push_back({at, static_cast<double>(keep_ms)});
    }
    const auto ends = line.find("eog_ends");
    if (ends == line.end() || !ends->is_array()) return;
    for (const Json& end : *ends) {
      if (!end.is_number_unsigned() || end.get<size_t>() > shape->tokens) continue;
      shape->eog_ends.push_back(end.get<size_t>());
    }
  }

  // Requests without a session name are each a session of their own, which begins at their time.
  TraceSession& SessionFor(const Json& line, Trace* trace) {
    if (!line.contains("conversation")) {
      trace->sessions.push_back({std::to_string(trace->sessions.size()), {}});
      return trace->sessions.back();
    }
    const std::string name = line["conversation"].dump();
    const auto [found, is_new] = sessions_.try_emplace(name, trace->sessions.size());
    if (is_new) trace->sessions.push_back({name, {}});
    return trace->sessions[found->second];
  }

  std::unordered_map<uint64_t, uint32_t> numbers_;
  std::unordered_map<std::string, size_t> sessions_;
};

}  // namespace

std::unique_ptr<TraceReader> MakeBlocksReader() {
  return std::make_unique<BlocksReader>();
}

}  // namespace cairn
