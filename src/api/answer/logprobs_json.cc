#include "api/answer/logprobs_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/utf8.h"

namespace cairn {
namespace {

// Log-probability of an impossible token, because JSON has no infinity. OpenAI's value.
constexpr double kLowest = -9999;

double Told(double logprob) {
  return logprob > kLowest ? logprob : kLowest;  // also true for NaN
}

Json TokenJson(const LikelyToken& token) {
  Json bytes = Json::array();
  for (const char byte : token.bytes) bytes.push_back(static_cast<uint8_t>(byte));
  return {{"id", token.token},
          {"token", ToValidUtf8(token.bytes)},
          {"bytes", std::move(bytes)},
          {"logprob", Told(token.logprob)}};
}

std::string LegacyName(const std::string& bytes) {
  if (ToValidUtf8(bytes) == bytes) return bytes;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name = "bytes:";
  for (const char byte : bytes) {
    const auto value = static_cast<uint8_t>(byte);
    name += "\\x";
    name += kDigits[value >> 4U];
    name += kDigits[value & 15U];
  }
  return name;
}

}  // namespace

Json NativeProbabilitiesJson(std::span<const TokenLogprob> logprobs) {
  Json list = Json::array();
  for (const TokenLogprob& logprob : logprobs) {
    Json entry = TokenJson(logprob.sampled);
    entry["top_logprobs"] = Json::array();
    for (const LikelyToken& top : logprob.top) entry["top_logprobs"].push_back(TokenJson(top));
    list.push_back(std::move(entry));
  }
  return list;
}

Json SampledProbabilitiesJson(std::span<const TokenLogprob> logprobs) {
  const auto one = [](const LikelyToken& token) {
    Json json = TokenJson(token);
    Json told = {{"id", json["id"]}, {"token", json["token"]}, {"bytes", json["bytes"]}};
    told["prob"] = std::exp(token.logprob);
    return told;
  };
  Json list = Json::array();
  for (const TokenLogprob& logprob : logprobs) {
    Json entry = one(logprob.sampled);
    entry["top_probs"] = Json::array();
    for (const LikelyToken& top : logprob.top) entry["top_probs"].push_back(one(top));
    list.push_back(std::move(entry));
  }
  return list;
}

Json ChatLogprobsJson(std::span<const TokenLogprob> logprobs) {
  return {{"content", NativeProbabilitiesJson(logprobs)}, {"refusal", nullptr}};
}

Json LegacyLogprobs::OfPrompt(const LikelyToken& first, bool first_in_text,
                              std::span<const TokenLogprob> rest) {
  Json json = {{"tokens", Json::array({LegacyName(first.bytes)})},
               {"token_logprobs", Json::array({nullptr})},
               {"top_logprobs", Json::array({nullptr})},
               {"text_offset", Json::array({offset_})}};
  if (first_in_text) offset_ += CountCharacters(first.bytes);
  Append(rest, &json);
  return json;
}

Json LegacyLogprobs::Next(std::span<const TokenLogprob> logprobs) {
  Json json = {{"tokens", Json::array()},
               {"token_logprobs", Json::array()},
               {"top_logprobs", Json::array()},
               {"text_offset", Json::array()}};
  Append(logprobs, &json);
  return json;
}

void LegacyLogprobs::Append(std::span<const TokenLogprob> logprobs, Json* lists) {
  Json& json = *lists;
  for (const TokenLogprob& logprob : logprobs) {
    const std::string name = LegacyName(logprob.sampled.bytes);
    Json top = Json::object();
    for (const LikelyToken& likely : logprob.top) {
      // Two tokens may have the same text; the more likely one is reported.
      const std::string likely_name = LegacyName(likely.bytes);
      if (!top.contains(likely_name)) top[likely_name] = Told(likely.logprob);
    }
    if (!top.contains(name)) top[name] = Told(logprob.sampled.logprob);
    json["tokens"].push_back(name);
    json["token_logprobs"].push_back(Told(logprob.sampled.logprob));
    json["top_logprobs"].push_back(std::move(top));
    json["text_offset"].push_back(offset_);
    offset_ += CountCharacters(logprob.sampled.bytes);
  }
}

}  // namespace cairn
