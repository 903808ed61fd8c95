// Requests with global block ids: Mooncake's traces and this server's own.

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/trace_reader.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

constexpr size_t kMooncakeBlockTokens = 512;

class BlocksReader final : public TraceReader {
 public:
  Status AddLine(const Json& line, Trace* trace) override {
    trace->absolute_time = true;
    const size_t block_tokens = line.value("block_size", kMooncakeBlockTokens);
    if (block_tokens == 0 || (trace->block_tokens != 0 && trace->block_tokens != block_tokens)) {
      return Fail(ErrorCode::kInvalidArgument, "block_size: expected one for all requests");
    }
    trace->block_tokens = block_tokens;
    const auto at_ms = SizeField(line, "timestamp");
    const auto input = SizeField(line, "input_length");
    const auto output = SizeField(line, "output_length");
    if (!at_ms) return tl::unexpected(at_ms.error());
    if (!input) return tl::unexpected(input.error());
    if (!output) return tl::unexpected(output.error());
    if (*input == 0) return Fail(ErrorCode::kInvalidArgument, "input_length: expected tokens");
    TraceRequest request;
    request.at_ms = static_cast<double>(*at_ms);
    request.input_tokens = *input;
    request.output_tokens = *output;
    if (!line.contains("hash_ids") || !line["hash_ids"].is_array()) {
      return Fail(ErrorCode::kInvalidArgument, "hash_ids: expected a list of block ids");
    }
    for (const Json& id : line["hash_ids"]) {
      if (!id.is_number_unsigned()) {
        return Fail(ErrorCode::kInvalidArgument, "hash_ids: expected whole numbers");
      }
      if (Status added = AddBlock(id.get<uint64_t>(), block_tokens, &request); !added) return added;
    }
    request.shape.tokens = *input;
    AddShape(line, &request.shape);
    SessionFor(line, trace).requests.push_back(std::move(request));
    return {};
  }

 private:
  // Ids may be hashes; they are numbered in the order in which they come.
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

  static void AddShape(const Json& line, PromptShape* shape) {
    const auto position = [&](const char* field) {
      return std::min(SizeField(line, field).value_or(0), shape->tokens);
    };
    shape->header_end = position("header_end");
    shape->messages_end = position("messages_end");
    shape->query_end = position("query_end");
    if (!line.contains("turns") || !line["turns"].is_array()) return;
    for (const Json& turn : line["turns"]) {
      if (!turn.is_array() || turn.size() != 2 || !turn[0].is_number_unsigned()) continue;
      const auto begin = turn[0].get<size_t>();
      if (begin < shape->tokens) shape->turns.push_back({begin, turn[1] == 1});
    }
  }

  // Without names, each request is a session of its own that begins when it says.
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
