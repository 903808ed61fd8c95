// Filters of lists and other iterables.

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "jinja/builtin/attribute_path.h"
#include "jinja/builtin/text_work.h"
#include "jinja/run/builtins.h"
#include "jinja/run/lookup.h"
#include "jinja/value/print.h"

namespace cairn::jinja {
namespace {

constexpr size_t kCountMax = SIZE_MAX / 64;

bool Given(const Value* value) {
  return value != nullptr && !value->is_none();
}

Value LengthFilter(Interpreter&, const Value& value, const Bound&) {
  return Value::Integer(static_cast<Int>(LengthOf(value)));
}

Value ListFilter(Interpreter& run, const Value& value, const Bound&) {
  return MakeList(&run.heap(), ItemsOf(&run.heap(), value));
}

Value FirstFilter(Interpreter& run, const Value& value, const Bound&) {
  if (value.is(Kind::kIterator)) {
    Value item;
    if (NextItem(&value.as<IteratorObject>(), &item)) return item;
  } else if (value.is_text()) {
    if (!value.bytes().empty()) return CharacterText(value.text(), 0);
  } else if (const auto items = ItemsOf(&run.heap(), value); !items.empty()) {
    return items.front();
  }
  return run.Undefined("No first item, sequence was empty.");
}

Value LastFilter(Interpreter& run, const Value& value, const Bound&) {
  if (value.is(Kind::kIterator)) Raise("'generator' object is not reversible");
  if (value.is_text() && !value.bytes().empty()) {
    return CharacterText(value.text(), value.text().length() - 1);
  }
  const auto items = ItemsOf(&run.heap(), value);
  return items.empty() ? run.Undefined("No last item, sequence was empty.") : items.back();
}

Value RandomFilter(Interpreter& run, const Value& value, const Bound&) {
  if (value.is(Kind::kIterator)) LengthOf(value);
  if (value.is_dict()) Raise("a mapping has no random item");
  const auto items = ItemsOf(&run.heap(), value);
  if (items.empty()) return run.Undefined("No random item, sequence was empty.");
  return items[run.heap().steps() % items.size()];
}

Value JoinFilter(Interpreter& run, const Value& value, const Bound& bound) {
  Heap* const heap = &run.heap();
  std::vector<Value> items = ItemsOf(heap, value);
  if (Given(bound[1])) {
    const AttributePath path(run, bound[1]);
    for (Value& item : items) item = path.Of(item);
  }
  const Text between = bound[0] == nullptr ? Text() : TextOf(heap, *bound[0]);
  return Value::Of(Joined(heap, between, items, true));
}

Value ReverseFilter(Interpreter& run, const Value& value, const Bound&) {
  if (value.is_text()) {
    return SliceOf(run, value, Value::None(), Value::None(), Value::Integer(-1));
  }
  std::vector<Value> items = ItemsOf(&run.heap(), value);
  std::reverse(items.begin(), items.end());
  if (value.is(Kind::kIterator)) return MakeList(&run.heap(), std::move(items));
  Value reversed = MakeIterator(&run.heap(), nullptr);
  reversed.as<IteratorObject>().items = std::move(items);
  reversed.as<IteratorObject>().type = "reversed";
  return reversed;
}

Value SortFilter(Interpreter& run, const Value& value, const Bound& bound) {
  std::vector<Value> items = ItemsOf(&run.heap(), value);
  const SortKey key(run, bound[2], bound.Flag(1));
  std::vector<Value> keys;
  for (const Value& item : items) keys.push_back(key.Of(item));
  SortByKeys(run, keys, bound.Flag(0), &items);
  return MakeList(&run.heap(), std::move(items));
}

Value DictSortFilter(Interpreter& run, const Value& value, const Bound& bound) {
  size_t place = 0;
  if (bound[1] != nullptr) {
    const Value by = *bound[1];
    if (by.is_text() && by.bytes() == "value") {
      place = 1;
    } else if (!by.is_text() || by.bytes() != "key") {
      Raise("You can only sort by either \"key\" or \"value\"");
    }
  }
  RequireDefined(value);
  if (!value.is_dict()) Raise(std::string("'") + TypeName(value) + "' object has no items");
  std::vector<Value> items;
  std::vector<Value> keys;
  for (const auto& [key, item] : value.dict().items) {
    items.push_back(MakeTuple(&run.heap(), {key, item}));
    const Value& by = place == 0 ? key : item;
    keys.push_back(bound.Flag(0) ? by : WithoutCase(run, by));
  }
  SortByKeys(run, keys, bound.Flag(2), &items);
  return MakeList(&run.heap(), std::move(items));
}

Value UniqueFilter(Interpreter& run, const Value& value, const Bound& bound) {
  const bool case_sensitive = bound.Flag(0);
  const Value attribute = bound[1] == nullptr ? Value::None() : *bound[1];
  return MakeIterator(&run.heap(), [=, &run](std::vector<Value>* unique) {
    const AttributePath path(run, &attribute);
    std::unordered_set<Value, ValueHash, ValueEqual> seen;
    for (const Value& item : ItemsOf(&run.heap(), value)) {
      const Value key = path.Of(item);
      HashOf(key, &run.heap());
      if (seen.insert(case_sensitive ? key : WithoutCase(run, key)).second) unique->push_back(item);
    }
  });
}

template <bool kMax>
Value Extreme(Interpreter& run, const Value& value, const Bound& bound) {
  const std::vector<Value> items = ItemsOf(&run.heap(), value);
  if (items.empty()) return run.Undefined("No aggregated item, sequence was empty.");
  const AttributePath path(run, bound[1]);
  const auto key_of = [&](const Value& item) {
    const Value key = path.Of(item);
    return bound.Flag(0) ? key : WithoutCase(run, key);
  };
  size_t best = 0;
  Value best_key = key_of(items[0]);
  for (size_t i = 1; i < items.size(); ++i) {
    Value key = key_of(items[i]);
    if (kMax ? !Less(best_key, key, ">", &run.heap()) : !Less(key, best_key, "<", &run.heap()))
      continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Value SumFilter(Interpreter& run, const Value& value, const Bound& bound) {
  Value sum = bound[1] == nullptr ? Value::Integer(0) : *bound[1];
  if (sum.is_text()) Raise("sum() can't sum strings [use ''.join(seq) instead]");
  const AttributePath path(run, bound[0]);
  for (const Value& item : ItemsOf(&run.heap(), value)) {
    run.heap().Step();
    sum = Operate(run, Arithmetic::kAdd, sum, path.Of(item));
  }
  return sum;
}

Value ItemsFilter(Interpreter& run, const Value& value, const Bound&) {
  return MakeIterator(&run.heap(), [=, &run](std::vector<Value>* items) {
    if (value.is_undefined()) return;
    if (!value.is_dict()) Raise("Can only get item pairs from a mapping.");
    for (const auto& [key, item] : value.dict().items) {
      items->push_back(MakeTuple(&run.heap(), {key, item}));
    }
  });
}

Value BatchFilter(Interpreter& run, const Value& value, const Bound& bound) {
  const Value count = *bound[0];
  const Value fill = bound[1] == nullptr ? Value::None() : *bound[1];
  return MakeIterator(&run.heap(), [=, &run](std::vector<Value>* batches) {
    Heap* const heap = &run.heap();
    // A batch of no items is never full.
    const bool bounded = count.is_number();
    const size_t size = count.is(Kind::kFloat) ? kCountMax
                        : bounded              ? CountOf(count, kCountMax)
                                               : 0;
    std::vector<Value> batch;
    for (const Value& item : ItemsOf(heap, value)) {
      if (batch.size() == size && (size > 0 || Equal(count, Value::Integer(0)))) {
        batches->push_back(MakeList(heap, std::exchange(batch, {})));
      }
      batch.push_back(item);
    }
    if (batch.empty()) return;
    if (!fill.is_none() && Less(Value::Integer(static_cast<Int>(batch.size())), count)) {
      const size_t missing = CountOf(count, kCountMax) - batch.size();
      heap->Charge(missing * sizeof(Value));
      heap->Step(missing);
      batch.insert(batch.end(), missing, fill);
    }
    batches->push_back(MakeList(heap, std::move(batch)));
  });
}

Value SliceFilter(Interpreter& run, const Value& value, const Bound& bound) {
  const Value count = *bound[0];
  const Value fill = bound[1] == nullptr ? Value::None() : *bound[1];
  return MakeIterator(&run.heap(), [=, &run](std::vector<Value>* slices) {
    Heap* const heap = &run.heap();
    const std::vector<Value> items = ItemsOf(heap, value);
    const Int wanted = IntegerOf(count);
    if (wanted == 0) Raise("integer division or modulo by zero");
    const size_t number = CountOf(count, kCountMax);
    const size_t each = number == 0 ? 0 : items.size() / number;
    const size_t with_extra = number == 0 ? 0 : items.size() % number;
    size_t begin = 0;
    for (size_t i = 0; i < number; ++i) {
      heap->Step();
      const size_t end = begin + each + (i < with_extra ? 1 : 0);
      std::vector<Value> slice(items.begin() + static_cast<std::ptrdiff_t>(begin),
                               items.begin() + static_cast<std::ptrdiff_t>(end));
      if (!fill.is_none() && i >= with_extra) slice.push_back(fill);
      slices->push_back(MakeList(heap, std::move(slice)));
      begin = end;
    }
  });
}

Value GroupByFilter(Interpreter& run, const Value& value, const Bound& bound) {
  Heap* const heap = &run.heap();
  std::vector<Value> items = ItemsOf(heap, value);
  const AttributePath path(run, bound[0]);
  const bool case_sensitive = bound.Flag(2);
  const auto key_of = [&](const Value& item) {
    const Value key = path.Of(item, bound[1]);
    return case_sensitive ? key : WithoutCase(run, key);
  };
  std::vector<Value> keys;
  for (const Value& item : items) keys.push_back(key_of(item));
  SortByKeys(run, keys, false, &items);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size();) {
    const Value key = key_of(items[begin]);
    std::vector<Value> members;
    size_t end = begin;
    while (end < items.size() && Equal(key_of(items[end]), key, heap))
      members.push_back(items[end++]);
    if (end == begin) members.push_back(items[end++]);  // a key that is not itself
    const Value grouper = case_sensitive ? key : path.Of(items[begin], bound[1]);
    Value group = MakeTuple(heap, {grouper, MakeList(heap, std::move(members))});
    group.as<ListObject>().is_group = true;
    groups.push_back(std::move(group));
    begin = end;
  }
  return MakeList(heap, std::move(groups));
}

}  // namespace

constexpr FilterDefinition kListFilters[] = {
    {"length", "", LengthFilter},
    {"count", "", LengthFilter},
    {"list", "", ListFilter},
    {"first", "", FirstFilter},
    {"last", "", LastFilter},
    {"random", "", RandomFilter},
    {"join", "d=,attribute=", JoinFilter},
    {"reverse", "", ReverseFilter},
    {"sort", "reverse=,case_sensitive=,attribute=", SortFilter},
    {"dictsort", "case_sensitive=,by=,reverse=", DictSortFilter},
    {"unique", "case_sensitive=,attribute=", UniqueFilter},
    {"min", "case_sensitive=,attribute=", Extreme<false>},
    {"max", "case_sensitive=,attribute=", Extreme<true>},
    {"sum", "attribute=,start=", SumFilter},
    {"items", "", ItemsFilter},
    {"batch", "linecount,fill_with=", BatchFilter},
    {"slice", "slices,fill_with=", SliceFilter},
    {"groupby", "attribute,default=,case_sensitive=", GroupByFilter},
    {nullptr, nullptr, nullptr}};

}  // namespace cairn::jinja
