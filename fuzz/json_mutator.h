// JsonMutator: changes JSON structurally: replaces values, and removes, doubles or renames fields.
// libFuzzer's own mutations are used too; most of their results are not JSON.
//
// Included by one file of a target whose input is one byte, followed by lines of JSON. Empty
// without libFuzzer.

#ifndef CAIRN_FUZZ_JSON_MUTATOR_H_
#define CAIRN_FUZZ_JSON_MUTATOR_H_

#ifdef CAIRN_LIBFUZZER

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t size_max);

namespace cairn::fuzz {

class JsonMutator {
 public:
  explicit JsonMutator(unsigned seed) : random_(seed) {}

  // Returns false if `text` is not JSON that can be changed.
  bool Mutate(std::string* text) {
    Json json = Json::parse(*text, nullptr, false);
    if (json.is_discarded()) return false;
    std::vector<Json*> all;
    Collect(&json, &all);
    for (size_t i = 1 + Below(3); i > 0; --i) {
      Change(all[Below(all.size())], all);
      all.clear();
      Collect(&json, &all);
    }
    *text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    return true;
  }

 private:
  size_t Below(size_t end) { return end == 0 ? 0 : random_() % end; }

  static void Collect(Json* json, std::vector<Json*>* all) {
    all->push_back(json);
    if (json->is_structured()) {
      for (Json& item : *json) Collect(&item, all);
    }
  }

  // Returns a value at an edge case of parsers.
  Json Edge() {
    static const auto* const edges = new std::vector<Json>{nullptr,
                                                           true,
                                                           false,
                                                           0,
                                                           -1,
                                                           1,
                                                           2,
                                                           1.5,
                                                           -0.0,
                                                           1e300,
                                                           -1e300,
                                                           1e-300,
                                                           int64_t{9223372036854775807},
                                                           -9223372036854775807 - 1,
                                                           uint64_t{18446744073709551615U},
                                                           9223372036854775808.0,
                                                           uint64_t{4294967296},
                                                           uint64_t{1610612736},
                                                           2147483648,
                                                           "",
                                                           "a",
                                                           "\xEF\xBF\xBD",
                                                           std::string(1, '\0'),
                                                           std::string(300, 'x'),
                                                           "<|im_start|>",
                                                           Json::array(),
                                                           Json::object(),
                                                           Json::array({Json::array()}),
                                                           {{"", ""}}};
    return (*edges)[Below(edges->size())];
  }

  void Change(Json* json, const std::vector<Json*>& all) {
    switch (Below(7)) {
      case 0:
        *json = Edge();
        return;
      case 1: {  // another field's
        Json copy = *all[Below(all.size())];
        if (copy.dump(-1, ' ', false, Json::error_handler_t::replace).size() < 2000) {
          *json = std::move(copy);
        }
        return;
      }
      case 2:
        if (json->is_structured() && !json->empty()) {
          json->erase(std::next(json->begin(), static_cast<std::ptrdiff_t>(Below(json->size()))));
        }
        return;
      case 3:
        if (json->is_array() && !json->empty()) json->push_back((*json)[Below(json->size())]);
        if (json->is_object()) (*json)[SomeName(all)] = Edge();
        return;
      case 4:
        if (json->is_object() && !json->empty()) Rename(json, all);
        return;
      case 5:
        if (json->is_string()) *json = Bytes(json->get<std::string>());
        return;
      default:
        if (json->is_number()) *json = json->get<double>() * (Below(2) == 0 ? -1 : 1000);
        if (json->is_array() && json->size() > 1) std::swap((*json)[0], (*json)[json->size() - 1]);
    }
  }

  std::string SomeName(const std::vector<Json*>& all) {
    const Json* const other = all[Below(all.size())];
    if (!other->is_object() || other->empty()) return Bytes("role");
    return std::next(other->begin(), static_cast<std::ptrdiff_t>(Below(other->size()))).key();
  }

  void Rename(Json* json, const std::vector<Json*>& all) {
    const auto place = std::next(json->begin(), static_cast<std::ptrdiff_t>(Below(json->size())));
    Json value = place.value();
    const std::string name = Below(2) == 0 ? SomeName(all) : Bytes(place.key());
    json->erase(place);
    (*json)[name] = std::move(value);
  }

  // Applies libFuzzer's own mutation to a text, with its dictionary.
  static std::string Bytes(std::string text) {
    const size_t size = text.size();
    text.resize(size + 64);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
    return text;
  }

  std::minstd_rand random_;
};

// Mutates one line, chosen by `seed`; the text before its JSON is unchanged.
inline bool MutateJsonLine(std::string* text, unsigned seed) {
  const auto lines = 1 + static_cast<size_t>(std::count(text->begin(), text->end(), '\n'));
  size_t begin = 0;
  for (size_t i = seed % lines; i > 0; --i) begin = text->find('\n', begin) + 1;
  const size_t end = std::min(text->find('\n', begin), text->size());
  begin = std::min(text->find_first_of("{[", begin), end);
  std::string json = text->substr(begin, end - begin);
  if (!JsonMutator(seed).Mutate(&json)) return false;
  text->replace(begin, end - begin, json);
  return true;
}

}  // namespace cairn::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned seed) {
  constexpr unsigned kOfTenAsBytes = 3;
  if (size < 2 || seed % 10 < kOfTenAsBytes) return LLVMFuzzerMutate(data, size, size_max);
  std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (!cairn::fuzz::MutateJsonLine(&text, seed / 10) || text.size() + 1 > size_max) {
    return LLVMFuzzerMutate(data, size, size_max);
  }
  std::copy(text.begin(), text.end(), data + 1);
  return text.size() + 1;
}

#endif  // CAIRN_LIBFUZZER

#endif  // CAIRN_FUZZ_JSON_MUTATOR_H_
