// Random operations, compared with a map from complete sequences to values. A failure is shrunk to
// a few steps on a few tokens.

#include "tree/prefix_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using RootId = PrefixTree::RootId;
using Value = PrefixTree::Value;
using Place = std::pair<RootId, Tokens>;

enum class Kind { kPut, kErase, kEvict };

struct Step {
  Kind kind = Kind::kPut;
  Place place;
  Place asked;      // matched afterwards
  size_t pick = 0;  // which of the stored ones is erased
};

std::string Text(const Place& place) {
  std::string text = std::to_string(place.first) + ":";
  for (const Token token : place.second) text += static_cast<char>('a' + token);
  return text;
}

// RapidCheck prints the shrunk case.
std::ostream& operator<<(std::ostream& out, const Step& step) {
  switch (step.kind) {
    case Kind::kPut:
      out << "put " << Text(step.place);
      break;
    case Kind::kErase:
      out << "erase " << Text(step.place);
      break;
    case Kind::kEvict:
      out << "evict " << step.pick;
      break;
  }
  return out << ", match " << Text(step.asked);
}

// Any number below `end`, whatever the size of the case: RapidCheck narrows ranges in small cases.
template <typename T>
rc::Gen<T> Below(T end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(0, end));
}

// Three letters and three roots make shared prefixes, splits and merges frequent.
rc::Gen<Place> AnyPlace() {
  constexpr int kTokensMax = 9;
  const auto tokens = rc::gen::nonEmpty(rc::gen::container<Tokens>(Below<Token>(3)));
  return rc::gen::pair(Below<RootId>(3), rc::gen::resize(kTokensMax, tokens));
}

rc::Gen<std::vector<Step>> AnySteps() {
  constexpr double kStepsForASize = 4;
  const auto kind =
      rc::gen::weightedElement<Kind>({{5, Kind::kPut}, {1, Kind::kErase}, {2, Kind::kEvict}});
  const auto step = rc::gen::build<Step>(
      rc::gen::set(&Step::kind, kind), rc::gen::set(&Step::place, AnyPlace()),
      rc::gen::set(&Step::asked, AnyPlace()), rc::gen::set(&Step::pick, Below<size_t>(1000)));
  return rc::gen::scale(kStepsForASize, rc::gen::container<std::vector<Step>>(step));
}

// NaiveTree: the expected contents of the tree, in one map.
class NaiveTree {
 public:
  std::map<Place, Value> values;

  size_t Shared(const Place& asked) const {
    size_t longest = 0;
    for (const auto& [place, value] : values) {
      if (place.first != asked.first) continue;
      longest = std::max(longest, CommonPrefix(place.second, asked.second));
    }
    return longest;
  }
  std::vector<Value> OnTheWay(const Place& asked) const {
    std::vector<Value> found;
    for (size_t n = 1; n <= asked.second.size(); ++n) {
      const auto at = values.find({asked.first, Front(asked.second, n)});
      if (at != values.end()) found.push_back(at->second);
    }
    return found;
  }
  // A token is stored once for all sequences that are the same up to it.
  size_t StoredTokens() const {
    std::set<Place> fronts;
    for (const auto& [place, value] : values) {
      for (size_t n = 1; n <= place.second.size(); ++n) {
        fronts.insert({place.first, Front(place.second, n)});
      }
    }
    return fronts.size();
  }
  size_t Roots() const {
    std::set<RootId> roots;
    for (const auto& [place, value] : values) roots.insert(place.first);
    return roots.size();
  }
  // Whether a stored sequence continues from here.
  bool GoesOn(const Place& place) const {
    return std::any_of(values.begin(), values.end(), [&](const auto& entry) {
      const auto& [other, value] = entry;
      return other.first == place.first && other.second.size() > place.second.size() &&
             CommonPrefix(other.second, place.second) == place.second.size();
    });
  }

 private:
  static Tokens Front(const Tokens& tokens, size_t n) {
    return Tokens(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(n));
  }
};

// Pair: a tree and its expected contents, changed together.
class Pair {
 public:
  void Do(const Step& step) {
    switch (step.kind) {
      case Kind::kPut:
        tree_.Put(step.place.first, step.place.second, ++last_value_);
        naive_.values[step.place] = last_value_;
        break;
      case Kind::kErase:
        Erase(step.place);
        break;
      case Kind::kEvict:
        if (naive_.values.empty()) break;
        const size_t pick = step.pick % naive_.values.size();
        Erase(std::next(naive_.values.begin(), static_cast<ptrdiff_t>(pick))->first);
        break;
    }
  }

  void ExpectSame(const Place& asked) const {
    RC_ASSERT(tree_.value_count() == naive_.values.size());
    RC_ASSERT(tree_.stored_tokens() == naive_.StoredTokens());
    RC_ASSERT(tree_.root_count() == naive_.Roots());
    const PrefixTree::MatchResult match = tree_.Match(asked.first, asked.second);
    RC_ASSERT(match.shared == naive_.Shared(asked));
    std::vector<Value> found;
    for (const PrefixTree::Hit& hit : match.hits) {
      RC_ASSERT(PrefixTree::PositionOf(hit.node) == hit.position);
      RC_ASSERT(CommonPrefix(PrefixTree::TokensOf(hit.node), asked.second) == hit.position);
      found.push_back(hit.value);
    }
    RC_ASSERT(found == naive_.OnTheWay(asked));
    RC_ASSERT((match.last == nullptr) == (match.shared == 0));
    if (match.last != nullptr) ExpectEndOf(match, asked);
    tree_.CheckInvariants();
  }

 private:
  // The node at the end of the shared tokens leads to a stored sequence that no other continues.
  void ExpectEndOf(const PrefixTree::MatchResult& match, const Place& asked) const {
    const PrefixTree::Node* leaf = PrefixTree::LeafOf(match.last);
    const Place end{asked.first, PrefixTree::TokensOf(leaf)};
    RC_ASSERT(CommonPrefix(end.second, asked.second) == match.shared);
    RC_ASSERT(naive_.values.count(end) == 1u);
    RC_ASSERT(naive_.values.at(end) == PrefixTree::ValueOf(leaf));
    RC_ASSERT(!naive_.GoesOn(end));
  }

  void Erase(const Place& place) {
    const PrefixTree::Node* node = tree_.Find(place.first, place.second);
    RC_ASSERT((node != nullptr) == (naive_.values.count(place) == 1));
    if (node == nullptr) return;
    RC_ASSERT(PrefixTree::TokensOf(node) == place.second);
    const size_t half = place.second.size() / 2;
    const TokenSpan behind = TokenSpan(place.second).subspan(half);
    RC_ASSERT(PrefixTree::TokensFrom(node, half) == Tokens(behind.begin(), behind.end()));
    const size_t before = tree_.bytes();
    const size_t freed = PrefixTree::BytesFreedBy(node);
    tree_.Erase(node);
    naive_.values.erase(place);
    RC_ASSERT(tree_.bytes() == before - freed);
  }

  PrefixTree tree_;
  NaiveTree naive_;
  Value last_value_ = 0;
};

RC_GTEST_PROP(PrefixTreeProperty, AgreesWithAMapAfterEveryRandomStep, ()) {
  const std::vector<Step> steps = *AnySteps().as("steps");
  Pair pair;
  for (const Step& step : steps) {
    pair.Do(step);
    pair.ExpectSame(step.asked);
  }
}

// Numbers: numbered tokens for sequences, in the order in which their prefixes are first seen.
class Numbers {
 public:
  Place Of(const Place& place) {
    Place numbered{place.first, {}};
    Tokens prefix;
    for (const Token token : place.second) {
      prefix.push_back(token);
      const auto next = static_cast<Token>(numbers_.size());
      numbered.second.push_back(Numbered(numbers_.try_emplace(prefix, next).first->second));
    }
    return numbered;
  }

 private:
  std::map<Tokens, Token> numbers_;
};

RC_GTEST_PROP(PrefixTreeProperty, AgreesWithAMapOfNumberedTokens, ()) {
  const std::vector<Step> steps = *AnySteps().as("steps");
  Numbers numbers;
  Pair pair;
  for (Step step : steps) {
    step.place = numbers.Of(step.place);
    step.asked = numbers.Of(step.asked);
    pair.Do(step);
    pair.ExpectSame(step.asked);
  }
}

}  // namespace
}  // namespace cairn
