#include "jinja/builtin/attribute_path.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "jinja/builtin/text_work.h"
#include "jinja/run/lookup.h"
#include "jinja/value/number.h"

namespace cairn::jinja {
namespace {

// A merge sort: a comparison may raise a Failure and need not be an order.
void MergeSort(Interpreter& run, const std::vector<Value>& keys, bool reverse,
               std::vector<size_t>* order) {
  std::vector<size_t> merged(order->size());
  for (size_t width = 1; width < order->size(); width *= 2) {
    for (size_t begin = 0; begin < order->size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, order->size());
      const size_t end = std::min(begin + 2 * width, order->size());
      size_t left = begin;
      size_t right = middle;
      for (size_t i = begin; i < end; ++i) {
        bool takes_right = left == middle;
        if (!takes_right && right < end) {
          const Value& a = keys[(*order)[left]];
          const Value& b = keys[(*order)[right]];
          takes_right = reverse ? Less(a, b, "<", &run.heap()) : Less(b, a, "<", &run.heap());
        }
        merged[i] = takes_right ? (*order)[right++] : (*order)[left++];
      }
    }
    std::swap(*order, merged);
  }
}

}  // namespace

AttributePath::AttributePath(Interpreter& run, const Value* attribute) : run_(run) {
  if (attribute == nullptr || attribute->is_none()) return;
  if (!attribute->is_text()) {
    parts_.push_back(*attribute);
    return;
  }
  std::string_view rest = attribute->bytes();
  while (true) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    const bool number = !part.empty() && part.size() < 10 &&
                        part.find_first_not_of("0123456789") == std::string_view::npos;
    parts_.push_back(number ? Value::Integer(ParseInt(part, 10).value_or(0)) : run.Made(part));
    if (dot == rest.size()) return;
    rest.remove_prefix(dot + 1);
  }
}

Value AttributePath::Of(const Value& item, const Value* otherwise) const {
  Value found = item;
  for (const Value& part : parts_) {
    found = ItemOf(run_, found, part);
    if (found.is_undefined() && otherwise != nullptr && !otherwise->is_none()) found = *otherwise;
  }
  return found;
}

SortKey::SortKey(Interpreter& run, const Value* attributes, bool case_sensitive)
    : run_(run), case_sensitive_(case_sensitive) {
  if (attributes == nullptr || !attributes->is_text()) {
    paths_.emplace_back(run, attributes);
    return;
  }
  std::string_view rest = attributes->bytes();
  while (true) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const Value one = run.Made(rest.substr(0, comma));
    paths_.emplace_back(run, &one);
    if (comma == rest.size()) return;
    rest.remove_prefix(comma + 1);
  }
}

Value SortKey::Of(const Value& item) const {
  std::vector<Value> keys;
  for (const AttributePath& path : paths_) {
    Value key = path.Of(item);
    keys.push_back(case_sensitive_ ? key : WithoutCase(run_, key));
  }
  return MakeTuple(&run_.heap(), std::move(keys));
}

Value WithoutCase(Interpreter& run, const Value& value) {
  if (!value.is_text()) return value;
  return Value::Of(InCase(&run.heap(), value.text(), Case::kLower));
}

void SortByKeys(Interpreter& run, const std::vector<Value>& keys, bool reverse,
                std::vector<Value>* items) {
  std::vector<size_t> order(items->size());
  std::iota(order.begin(), order.end(), size_t{0});
  MergeSort(run, keys, reverse, &order);
  std::vector<Value> sorted;
  sorted.reserve(items->size());
  for (const size_t i : order) sorted.push_back((*items)[i]);
  *items = std::move(sorted);
}

}  // namespace cairn::jinja
