// StateLayout and StateSplice on states that are written here, word by word, as libllama writes
// them.

#include "engine/llama/state/state_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace cairn {
namespace {

constexpr uint32_t kMagic = 0xAF143918;
constexpr size_t kTokens = 24;

struct Shape {
  size_t extra_words = 0;  // in a table entry
  size_t head_words = 0;   // after the number of layers
  uint32_t layers = 3;
  uint32_t layers_with_v = 3;
  bool transposed = false;
  uint32_t streams = 1;
  uint32_t stream = 0;
  size_t rest_bytes = 40;
};

const std::vector<Shape> kShapes = {
    {},
    {.extra_words = 3, .head_words = 2, .streams = 4, .stream = 2},
    {.layers_with_v = 0, .streams = 2, .stream = 1, .rest_bytes = 0},
    {.transposed = true, .streams = 3},
    {.extra_words = 2, .layers = 0, .layers_with_v = 0},
};

void PutWord(uint32_t word, Bytes* bytes) {
  const auto* const raw = reinterpret_cast<const uint8_t*>(&word);
  bytes->insert(bytes->end(), raw, raw + sizeof(word));
}

// A row's byte depends on everything that tells it apart from others.
uint8_t DataByte(uint32_t position, uint32_t tensor, size_t index) {
  return static_cast<uint8_t>(position * 131 + tensor * 17 + index * 5 + 1);
}

uint32_t RowBytesOf(uint32_t layer) {
  return 8 + 4 * layer;
}

void PutRows(const std::vector<uint32_t>& positions, uint32_t tensor, uint32_t row_bytes,
             Bytes* bytes) {
  for (const uint32_t position : positions) {
    for (size_t i = 0; i < row_bytes; ++i) bytes->push_back(DataByte(position, tensor, i));
  }
}

void PutTransposed(const std::vector<uint32_t>& positions, uint32_t tensor, uint32_t row_bytes,
                   Bytes* bytes) {
  for (uint32_t element = 0; element < row_bytes / 2; ++element) {
    for (const uint32_t position : positions) {
      for (size_t i = 0; i < 2; ++i) bytes->push_back(DataByte(position, tensor, 2 * element + i));
    }
  }
}

Bytes MakeState(const Shape& shape, const std::vector<uint32_t>& positions) {
  Bytes bytes;
  PutWord(kMagic, &bytes);
  PutWord(shape.stream, &bytes);
  PutWord(shape.streams, &bytes);
  for (uint32_t i = 0; i < shape.stream; ++i) PutWord(0, &bytes);
  PutWord(static_cast<uint32_t>(positions.size()), &bytes);
  for (const uint32_t position : positions) {
    PutWord(position, &bytes);
    PutWord(1, &bytes);
    for (size_t i = 0; i < shape.extra_words; ++i) PutWord(position * 7 + 3, &bytes);
    PutWord(0, &bytes);
  }
  PutWord(shape.transposed ? 1 : 0, &bytes);
  PutWord(shape.layers, &bytes);
  for (size_t i = 0; i < shape.head_words; ++i) PutWord(0, &bytes);
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    PutWord(1, &bytes);
    PutWord(RowBytesOf(layer), &bytes);
    PutWord(0, &bytes);
    PutRows(positions, layer, RowBytesOf(layer), &bytes);
  }
  for (uint32_t layer = 0; layer < shape.layers_with_v; ++layer) {
    PutWord(1, &bytes);
    PutWord(shape.transposed ? 2 : RowBytesOf(layer), &bytes);
    PutWord(shape.transposed ? RowBytesOf(layer) / 2 : 0, &bytes);
    const auto put = shape.transposed ? PutTransposed : PutRows;
    put(positions, 100 + layer, RowBytesOf(layer), &bytes);
  }
  for (uint32_t i = shape.stream + 1; i < shape.streams; ++i) PutWord(0, &bytes);
  for (size_t i = 0; i < shape.rest_bytes; ++i) bytes.push_back(static_cast<uint8_t>(200 + i));
  return bytes;
}

std::vector<uint32_t> Positions(uint32_t begin, uint32_t end) {
  std::vector<uint32_t> positions(end - begin);
  std::iota(positions.begin(), positions.end(), begin);
  return positions;
}

ByteSpan RestOf(const Bytes& state, const Shape& shape) {
  return ByteSpan(state).last(shape.rest_bytes);
}

StateLayout Learned(const Shape& shape) {
  auto layout =
      StateLayout::Learn(MakeState(shape, Positions(0, kTokens)), kTokens, shape.rest_bytes);
  EXPECT_TRUE(layout.has_value()) << layout.error().message;
  return *layout;
}

template <typename Test>
void WithEveryShape(const Test& test) {
  for (size_t i = 0; i < kShapes.size(); ++i) {
    SCOPED_TRACE("shape " + std::to_string(i));
    test(kShapes[i]);
  }
}

Result<StateLayout::Kv> FindWithRest(const StateLayout& layout, const Shape& shape,
                                     ByteSpan state) {
  auto kv = layout.Find(state);
  if (kv && kv->end + shape.rest_bytes != state.size()) {
    return Fail(ErrorCode::kCorrupt, "the rest has another size");
  }
  return kv;
}

// The state of positions [begin, end), cut out of `state`.
Result<Bytes> CutOut(const StateLayout& layout, const Shape& shape, ByteSpan state, size_t begin,
                     size_t end) {
  const auto kv = FindWithRest(layout, shape, state);
  if (!kv) return tl::unexpected(kv.error());
  Bytes bytes;
  StateSplice::Plan plan{shape.stream, shape.streams, end - begin, 0, state.subspan(kv->end)};
  auto splice = StateSplice::Begin(&layout, plan, &bytes);
  if (!splice) return tl::unexpected(splice.error());
  if (Status cut = splice->Append(*kv, {begin, end, end - begin}); !cut)
    return tl::unexpected(cut.error());
  EXPECT_TRUE(splice->is_whole());
  return bytes;
}

TEST(StateLayout, FindsTheKvOfLongerStatesThanTheOneItLearned) {
  WithEveryShape([](const Shape& shape) {
    const Bytes state = MakeState(shape, Positions(5, 300));
    const StateLayout layout = Learned(shape);
    const auto kv = layout.Find(state);
    ASSERT_TRUE(kv.has_value()) << kv.error().message;
    EXPECT_EQ(kv->cells, 295U);
    EXPECT_EQ(kv->end, state.size() - shape.rest_bytes);
    EXPECT_EQ(kv->tensors.size(), size_t{shape.layers} + shape.layers_with_v);
  });
}

TEST(StateLayout, ARangeCutOutIsTheStateThatHoldsItAlone) {
  WithEveryShape([](const Shape& shape) {
    const Bytes state = MakeState(shape, Positions(0, 100));
    const StateLayout layout = Learned(shape);
    for (const auto& [begin, end] : {std::pair{0U, 100U}, {0U, 1U}, {40U, 77U}, {99U, 100U}}) {
      EXPECT_EQ(*CutOut(layout, shape, state, begin, end), MakeState(shape, Positions(begin, end)));
    }
  });
}

TEST(StateLayout, PiecesOfOtherStatesAreSplicedIntoTheWholeOne) {
  std::mt19937_64 random(3);
  WithEveryShape([&](const Shape& shape) {
    const StateLayout layout = Learned(shape);
    for (int round = 0; round < 20; ++round) {
      const auto tokens = static_cast<uint32_t>(2 + random() % 120);
      const Bytes whole = MakeState(shape, Positions(0, tokens));
      Bytes spliced;
      StateSplice::Plan plan{shape.stream, shape.streams, tokens, 9, RestOf(whole, shape)};
      auto splice = StateSplice::Begin(&layout, plan, &spliced);
      ASSERT_TRUE(splice.has_value());
      for (uint32_t begin = 0; begin < tokens;) {
        const auto end = static_cast<uint32_t>(begin + 1 + random() % (tokens - begin));
        // The piece comes from a state of another stream that holds more, in some order.
        Shape other = shape;
        other.stream = 0;
        other.streams = 1 + static_cast<uint32_t>(random() % 3);
        std::vector<uint32_t> positions =
            Positions(begin - std::min(begin, 3U), end + static_cast<uint32_t>(random() % 9));
        if (random() % 2 == 0) std::shuffle(positions.begin(), positions.end(), random);
        const Bytes from = MakeState(other, positions);
        ASSERT_TRUE(splice->Append(*layout.Find(from), {begin, end, end - begin}).has_value());
        begin = end;
      }
      EXPECT_TRUE(splice->is_whole());
      EXPECT_EQ(Bytes(spliced.begin() + 9, spliced.end()), whole);
    }
  });
}

TEST(StateLayout, RefusesARangeWithAPositionMissingOrTwice) {
  const Shape shape;
  const StateLayout layout = Learned(shape);
  const auto cut = [&](const std::vector<uint32_t>& positions) {
    return CutOut(layout, shape, MakeState(shape, positions), 2, 6);
  };
  EXPECT_TRUE(cut({2, 3, 4, 5}).has_value());
  for (const auto& positions : std::vector<std::vector<uint32_t>>{
           {2, 3, 5, 6}, {2, 3, 4}, {2, 3, 4, 4, 5}, {0xFFFFFFFF, 2, 3, 4}}) {
    EXPECT_EQ(cut(positions).error().code, ErrorCode::kCorrupt);
  }
}

TEST(StateLayout, LearnsNothingFromBytesThatAreNoState) {
  WithEveryShape([](const Shape& shape) {
    const Bytes state = MakeState(shape, Positions(0, kTokens));
    const auto learns = [&](ByteSpan bytes, size_t tokens, size_t rest_bytes) {
      return StateLayout::Learn(bytes, tokens, rest_bytes).has_value();
    };
    EXPECT_FALSE(learns({}, kTokens, 0));
    EXPECT_FALSE(learns(state, kTokens - 1, shape.rest_bytes));
    EXPECT_FALSE(learns(state, kTokens, shape.rest_bytes + 4));
    EXPECT_FALSE(learns(state, kTokens, state.size() + 1));
    // Up to some point in K. At its end it would be the state of a model without V.
    for (size_t size = 0; size < state.size() / 4; ++size) {
      EXPECT_FALSE(learns(ByteSpan(state).first(size), kTokens, 0)) << size;
    }
    EXPECT_FALSE(learns(MakeState(shape, Positions(1, kTokens + 1)), kTokens, shape.rest_bytes));
  });
}

TEST(StateLayout, RefusesTheStatesOfOtherModels) {
  for (size_t i = 0; i < kShapes.size(); ++i) {
    const StateLayout layout = Learned(kShapes[i]);
    for (size_t j = 0; j < kShapes.size(); ++j) {
      if (i == j) continue;
      const Bytes other = MakeState(kShapes[j], Positions(0, 60));
      const auto kv = FindWithRest(layout, kShapes[i], other);
      ASSERT_FALSE(kv.has_value()) << i << " read " << j;
      EXPECT_EQ(kv.error().code, ErrorCode::kCorrupt);
    }
  }
}

// Whether a range can be cut out of damaged bytes; under the sanitizers, also that nothing outside
// of them is read.
bool CanBeCut(const StateLayout& layout, const Shape& shape, ByteSpan damaged) {
  const Bytes copy(damaged.begin(), damaged.end());  // a buffer of its own ends where it ends
  const auto cut = CutOut(layout, shape, copy, 3, 20);
  if (cut) return true;
  EXPECT_EQ(cut.error().code, ErrorCode::kCorrupt);
  return false;
}

TEST(StateLayout, RefusesEveryStateThatIsCutShort) {
  WithEveryShape([](const Shape& shape) {
    const StateLayout layout = Learned(shape);
    const Bytes state = MakeState(shape, Positions(0, kTokens));
    for (size_t size = 0; size < state.size(); ++size) {
      ASSERT_FALSE(CanBeCut(layout, shape, ByteSpan(state).first(size))) << size;
    }
    EXPECT_TRUE(CanBeCut(layout, shape, state));
  });
}

TEST(StateLayout, EveryFlippedByteIsRefusedOrChangesOnlyData) {
  WithEveryShape([](const Shape& shape) {
    const StateLayout layout = Learned(shape);
    const Bytes state = MakeState(shape, Positions(0, kTokens));
    const Bytes wanted = *CutOut(layout, shape, state, 3, 20);
    size_t refused = 0;
    for (size_t at = 0; at < state.size(); ++at) {
      for (const uint8_t flip : {uint8_t{1}, uint8_t{0x80}, uint8_t{0xFF}}) {
        Bytes damaged = state;
        damaged[at] ^= flip;
        const auto cut = CutOut(layout, shape, damaged, 3, 20);
        if (!cut) {
          ++refused;
        } else {
          EXPECT_EQ(cut->size(), wanted.size());
        }
      }
    }
    // At least the magic number, the streams, what begins each tensor, and each entry's count.
    const size_t tensors = size_t{shape.layers} + shape.layers_with_v;
    EXPECT_GE(refused, 3 * (4 + 4 * shape.streams + 8 + 12 * tensors + 4 * kTokens));
  });
}

TEST(StateLayout, SurvivesManyRandomChanges) {
  std::mt19937_64 random(11);
  WithEveryShape([&](const Shape& shape) {
    const StateLayout layout = Learned(shape);
    const Bytes state = MakeState(shape, Positions(0, kTokens));
    for (int round = 0; round < 4000; ++round) {
      Bytes damaged = state;
      const size_t changes = 1 + random() % 4;
      for (size_t i = 0; i < changes; ++i) {
        // Half of them in the counts and the table.
        const size_t among =
            random() % 2 == 0 ? damaged.size() : std::min<size_t>(64, damaged.size());
        damaged[random() % among] = static_cast<uint8_t>(random());
      }
      if (random() % 4 == 0) damaged.resize(random() % (damaged.size() + 1));
      CanBeCut(layout, shape, damaged);
      static_cast<void>(StateLayout::Learn(damaged, kTokens, random() % 64));
    }
  });
}

}  // namespace
}  // namespace cairn
