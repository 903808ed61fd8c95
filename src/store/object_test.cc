#include "store/object.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "base/hash.h"
#include "testing/base/played_share.h"
#include "testing/store/object_sample.h"

namespace cairn {
namespace {

using Random = std::mt19937_64;

size_t Below(Random* random, size_t limit) {
  return (*random)() % limit;
}

void SetTokens(ObjectHeader* header, size_t count, Random* random) {
  header->tokens.resize(count);
  for (Token& token : header->tokens) token = static_cast<Token>((*random)());
}

// Returns ordered ranges within [begin, end).
std::vector<TokenRange> RandomAnswers(size_t begin, size_t end, Random* random) {
  std::vector<TokenRange> answers;
  while (begin < end && Below(random, 4) != 0) {
    const size_t from = begin + Below(random, end - begin);
    const size_t to = from + 1 + Below(random, end - from);
    answers.push_back({from, to});
    begin = to;
  }
  return answers;
}

ObjectHeader RandomHeader(uint64_t seed) {
  Random random(seed);
  ObjectHeader header;
  header.kind = static_cast<ObjectKind>(1 + Below(&random, 3));
  header.fingerprint = {random(), random()};
  header.name_space = Below(&random, 2) == 0 ? 0 : random();
  // Occasionally more tokens than fit the shortest front.
  SetTokens(&header, Below(&random, Below(&random, 4) == 0 ? 20'000 : 300), &random);
  const size_t tokens = header.tokens.size();
  header.lineage = Below(&random, 2) == 0 ? 0 : random();
  header.codec = static_cast<Codec>(1 + Below(&random, 2));
  header.raw_bytes = Below(&random, size_t{1} << 40);
  header.stored_bytes =
      header.codec == Codec::kRaw ? header.raw_bytes : Below(&random, size_t{1} << 40);
  header.payload_checksum = random();
  header.worth_ms = static_cast<double>(Below(&random, 1'000'000)) / 7;
  if (header.kind == ObjectKind::kSegment) {
    header.begin = Below(&random, tokens + 1);
    if (header.begin > 0) header.parent = {random(), random()};
    header.answers = RandomAnswers(header.begin, tokens, &random);
  } else if (header.kind == ObjectKind::kFullState) {
    header.answers = RandomAnswers(0, tokens, &random);
    header.clean = Below(&random, tokens + 1);
    for (size_t at = header.clean; at < tokens; at += 1 + Below(&random, tokens)) {
      header.runs.push_back({1 + random() / 2, at});
    }
  } else {
    header.checkpoint_class = static_cast<uint8_t>(random());
    header.cold_end = Below(&random, 2) == 0;
    header.logits_bytes = Below(&random, header.raw_bytes + 1);
    header.turns = Below(&random, 1000);
  }
  return header;
}

// Returns "" if the front is decoded, otherwise the message.
std::string Refusal(ByteSpan front) {
  const auto header = DecodeHeader(front);
  if (header) return "";
  EXPECT_EQ(header.error().code, ErrorCode::kCorrupt);
  return header.error().message;
}

void PutNumber(Bytes* bytes, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) (*bytes)[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

// Makes both checksums valid again, as an attacker would.
void Seal(Bytes* front) {
  PutNumber(front, 248, Hash64(front->data(), 248), 8);
  const size_t end = front->size() - 8;
  PutNumber(front, end, Hash64(front->data(), end), 8);
}

std::string RefusalOfSealed(const std::function<void(Bytes*)>& change) {
  Bytes front = EncodeHeader(test::SampleObject());
  change(&front);
  Seal(&front);
  return Refusal(front);
}

// ----- names

TEST(ObjectName, DependsOnAllThatDecidesTheBits) {
  ObjectHeader header = test::SampleObject();
  header.kind = ObjectKind::kSnapshot;
  header.begin = 0;
  std::set<ObjectName> names = {NameOf(header)};
  const auto differs = [&](const std::function<void(ObjectHeader*)>& change) {
    ObjectHeader other = header;
    change(&other);
    return names.insert(NameOf(other)).second;
  };
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->fingerprint.high ^= 1; }));
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->fingerprint.low ^= 1; }));
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->name_space ^= 1; }));
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->kind = ObjectKind::kSegment; }));
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->kind = ObjectKind::kFullState; }));
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->begin = 1; }));
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->lineage ^= 1; }));
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->tokens.back() ^= 1; }));
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->tokens.push_back(0); }));
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->tokens.clear(); }));
  EXPECT_TRUE(differs([](ObjectHeader* h) { h->logits_bytes = 0; }));
}

TEST(ObjectName, IsTheSameHoweverTheBitsAreKept) {
  const ObjectHeader header = test::SampleObject();
  ObjectHeader other = header;
  other.parent = {1, 2};
  other.answers.clear();
  other.runs.clear();
  other.clean = 0;
  other.checkpoint_class = 3;
  other.cold_end = false;
  other.logits_bytes = 0;  // a segment has none
  other.turns = 1;
  other.worth_ms = 1;
  other.codec = Codec::kRaw;
  other.raw_bytes = 1;
  other.stored_bytes = 1;
  other.payload_checksum = 1;
  EXPECT_EQ(NameOf(other), NameOf(header));
}

TEST(ObjectName, IsReadBackFromAFilesName) {
  const ObjectName name = {0x00AB'CDEF'0123'4567, 0x89AB'CDEF'0000'0001};
  EXPECT_EQ(ToText(name), "00abcdef0123456789abcdef00000001");
  EXPECT_EQ(ToText(Fingerprint{1, 0xF0}), "000000000000000100000000000000f0");
  EXPECT_EQ(ParseObjectName(ToText(name)), name);
  EXPECT_EQ(ParseObjectName(ToText(name) + ".cairn"), name);
  for (const std::string& other :
       {std::string(), std::string(".cairn"), "tmp-" + ToText(name), ToText(name) + ".cairn.cairn",
        ToText(name) + ".tmp", ToText(name) + "0", ToText(name).substr(1), std::string(32, 'A'),
        std::string(32, 'g'), std::string(32, '\0'), std::string(32, '0')}) {
    EXPECT_TRUE(ParseObjectName(other).empty()) << other;
  }
}

// ----- fronts

TEST(ObjectHeader, ComesBackAsItWas) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const ObjectHeader header = RandomHeader(seed);
    const Bytes front = EncodeHeader(header);
    ASSERT_EQ(front.size() % kFrontBytesMin, 0u) << "seed " << seed;
    const auto front_bytes = FrontBytes(ByteSpan(front).first(kFrontBytesMin));
    ASSERT_TRUE(front_bytes) << "seed " << seed << ": " << front_bytes.error().message;
    EXPECT_EQ(*front_bytes, front.size()) << "seed " << seed;
    const auto decoded = DecodeHeader(front);
    ASSERT_TRUE(decoded) << "seed " << seed << ": " << decoded.error().message;
    EXPECT_TRUE(*decoded == header) << "seed " << seed;
  }
}

TEST(ObjectHeader, TakesAsManyBytesAsItNeedsToTheByte) {
  ObjectHeader header;
  header.tokens.resize((4096 - 256 - 8) / 4);
  EXPECT_EQ(EncodeHeader(header).size(), 4096u);
  EXPECT_EQ(Refusal(EncodeHeader(header)), "");
  header.tokens.push_back(1);
  EXPECT_EQ(EncodeHeader(header).size(), 8192u);
  EXPECT_EQ(Refusal(EncodeHeader(header)), "");
  EXPECT_EQ(EncodeHeader(ObjectHeader()).size(), 4096u);
}

TEST(ObjectHeader, IsReadWhateverFollowsTheFront) {
  Bytes file = EncodeHeader(test::SampleObject());
  file.insert(file.end(), 5000, 0xAB);
  EXPECT_EQ(Refusal(file), "");
  EXPECT_EQ(*FrontBytes(file), 4096u);
}

TEST(ObjectHeader, WritesAWorthThatIsNoneAsNothing) {
  for (const double worth :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), -1.0, -0.0}) {
    ObjectHeader header = test::SampleObject();
    header.worth_ms = worth;
    const auto decoded = DecodeHeader(EncodeHeader(header));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->worth_ms, 0);
  }
}

TEST(ObjectHeader, IsRefusedWithAnyBitFlipped) {
  Bytes front = EncodeHeader(test::SampleObject());
  ASSERT_EQ(Refusal(front), "");
  for (size_t bit = 0; bit < front.size() * 8; ++bit) {
    const auto mask = static_cast<uint8_t>(1U << (bit % 8));
    front[bit / 8] ^= mask;
    ASSERT_NE(Refusal(front), "") << "bit " << bit;
    front[bit / 8] ^= mask;
  }
}

TEST(ObjectHeader, IsRefusedWithAnyBitFlippedInALongOne) {
  ObjectHeader header = test::SampleObject();
  Random random(1);
  SetTokens(&header, 5000, &random);
  Bytes front = EncodeHeader(header);
  for (int i = 0; i < 2000; ++i) {
    const size_t bit = Below(&random, front.size() * 8);
    const auto mask = static_cast<uint8_t>(1U << (bit % 8));
    front[bit / 8] ^= mask;
    ASSERT_NE(Refusal(front), "") << "bit " << bit;
    front[bit / 8] ^= mask;
  }
}

TEST(ObjectHeader, IsRefusedCutShortAnywhere) {
  ObjectHeader header = test::SampleObject();
  Random random(1);
  SetTokens(&header, 2000, &random);
  const Bytes front = EncodeHeader(header);
  ASSERT_EQ(front.size(), 3 * kFrontBytesMin);
  for (size_t size = 0; size < front.size(); ++size) {
    // A copy of exactly that size, so that a sanitizer detects reads past the end.
    const Bytes torn(front.begin(), front.begin() + size);
    ASSERT_TRUE(Refusal(torn).starts_with("it is torn: ")) << size << ": " << Refusal(torn);
    ASSERT_EQ(FrontBytes(torn).has_value(), size >= kFrontBytesMin);
  }
  EXPECT_EQ(Refusal(ByteSpan(front).first(100)),
            "it is torn: it ends after 100 bytes, and the shortest front has 4096");
  EXPECT_EQ(Refusal(ByteSpan(front).first(5000)),
            "it is torn: 5000 bytes of its front are there, 12288 were written");
}

TEST(ObjectHeader, IsRefusedWhereOnlyItsSizeReachedTheDevice) {
  const Bytes front = EncodeHeader(test::SampleObject());
  for (size_t size = 0; size < front.size(); size += 512) {
    Bytes torn = front;
    std::fill(torn.begin() + size, torn.end(), uint8_t{0});
    EXPECT_NE(Refusal(torn), "") << size;
  }
}

TEST(ObjectHeader, SaysWhoWroteWhatItCannotRead) {
  EXPECT_EQ(RefusalOfSealed([](Bytes* front) { PutNumber(front, 8, 0, 4); }),
            "written by an older cairn (format 0), this one reads format 1");
  const std::string foreign = "it is none of ours: it does not begin as they do";
  EXPECT_EQ(RefusalOfSealed([](Bytes* front) { (*front)[0] = 'G'; }), foreign);
  EXPECT_EQ(RefusalOfSealed([](Bytes* front) { (*front)[7] = '\r'; }), foreign);
  const std::string text = "GGUF";
  EXPECT_EQ(Refusal(Bytes(text.begin(), text.end())), foreign);
  EXPECT_EQ(Refusal(Bytes(4096, 0)), foreign);
}

TEST(ObjectHeader, OfANewerFormatIsNotCorruptWhateverElseStandsThere) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 1000; ++i) {
    Bytes front = EncodeHeader(test::SampleObject());
    // Changes bytes that a later format may define differently.
    for (size_t at = 16; at < 248 && i > 0; ++at) front[at] = static_cast<uint8_t>(random());
    for (size_t at = 256; at < front.size() && i > 0; ++at) {
      front[at] = static_cast<uint8_t>(random());
    }
    test::MakeNewer(&front);
    const auto header = DecodeHeader(front);
    ASSERT_FALSE(header.has_value());
    EXPECT_EQ(header.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(header.error().message,
              "written by a newer cairn (format 2), this one reads format 1");
    EXPECT_EQ(FrontBytes(front).error().code, ErrorCode::kUnsupported);
    // Unless it is incomplete, or not as it was written.
    EXPECT_NE(Refusal(ByteSpan(front).first(kFrontBytesMin - 1)), "");
    front[i % 248] ^= 1;
    EXPECT_NE(Refusal(front), "");
  }
}

TEST(ObjectHeader, WithAFlippedBitInItsFormatIsCorruptAndNotNewer) {
  Bytes front = EncodeHeader(test::SampleObject());
  for (size_t bit = 64; bit < 96; ++bit) {
    front[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    EXPECT_EQ(Refusal(front), "the checksum of its fixed header fails") << bit;
    front[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
  }
}

TEST(ObjectHeader, IsRefusedWhereItsSizesDisagreeBeforeAnythingIsAllocated) {
  const auto with = [](size_t at, uint64_t value) {
    return RefusalOfSealed([=](Bytes* front) { PutNumber(front, at, value, 4); });
  };
  constexpr uint64_t kMost = 0xFFFFFFFF;
  EXPECT_EQ(with(12, 8192),
            "its front is said to have 8192 bytes, and what is said to be in it takes 4096");
  EXPECT_EQ(with(12, 0),
            "its front is said to have 0 bytes, and what is said to be in it takes 4096");
  EXPECT_EQ(with(12, kMost),
            "its front is said to have 4294967295 bytes, and none has more than 67108864");
  EXPECT_EQ(with(136, kMost),
            "its front is said to have 4096 bytes, and what is said to be in it takes 17179873280");
  EXPECT_NE(with(140, kMost), "");
  EXPECT_NE(with(144, kMost), "");
  // The sizes are the largest allowed and consistent, but the bytes are not there.
  EXPECT_EQ(RefusalOfSealed([](Bytes* front) {
              PutNumber(front, 12, kFrontBytesMax, 4);
              PutNumber(front, 136, (kFrontBytesMax - 256 - 8 - 64) / 4, 4);
            }),
            "it is torn: 4096 bytes of its front are there, 67108864 were written");
}

TEST(ObjectHeader, IsRefusedWithValuesThatNobodyKnows) {
  const auto with = [](size_t at, uint8_t value) {
    return RefusalOfSealed([=](Bytes* front) { (*front)[at] = value; });
  };
  EXPECT_EQ(with(16, 0), "its kind is unknown: 0");
  EXPECT_EQ(with(16, 5), "its kind is unknown: 5");
  EXPECT_EQ(with(17, 0), "its codec is unknown: 0");
  EXPECT_EQ(with(17, 6), "its codec is unknown: 6");
  EXPECT_EQ(with(19, 2), "a flag is unknown: 2");
  const std::string reserved = "reserved bytes of its header are not zero";
  for (const size_t at : {20, 23, 148, 247}) EXPECT_EQ(with(at, 1), reserved) << at;
  const size_t lists = 256 + 5 * 4 + 2 * 16 + 2 * 16;
  for (const size_t at : {lists, size_t{4087}}) {
    EXPECT_EQ(with(at, 1), "what fills its front up is not zero") << at;
  }
  EXPECT_EQ(with(111, 0xFF), "its worth is no number, or less than nothing");
}

TEST(ObjectHeader, IsRefusedWhereItContradictsItself) {
  const auto with = [](size_t at, uint64_t value) {
    return RefusalOfSealed([=](Bytes* front) { PutNumber(front, at, value, 8); });
  };
  const size_t answers = 256 + 5 * 4;
  const size_t runs = answers + 2 * 16;
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(with(48, 6), "it begins behind its tokens");
  EXPECT_EQ(with(48, kMost), "it begins behind its tokens");
  EXPECT_EQ(with(48, 2), "its answers are not in order, or begin before it");
  EXPECT_EQ(with(answers, 0), "its answers are not in order, or begin before it");
  EXPECT_EQ(with(answers + 8, 4), "its answers are not in order, or begin before it");
  EXPECT_EQ(with(answers + 8, 1), "one of its answers is empty");
  EXPECT_EQ(with(answers + 24, 6), "an answer goes on behind its tokens");
  EXPECT_EQ(with(answers + 24, kMost), "an answer goes on behind its tokens");
  EXPECT_EQ(with(96, 6), "more of it is clean than it has tokens");
  EXPECT_EQ(with(96, 3), "its first run does not begin at clean");
  EXPECT_EQ(with(runs, 0), "one of its runs has no number");
  EXPECT_EQ(with(runs + 24, 2), "its runs are not in order");
  EXPECT_EQ(with(runs + 24, 5), "a run begins behind its tokens");
  EXPECT_EQ(with(112, kMost), "its payload is said to be larger than any is");
  EXPECT_EQ(with(120, kMost), "its payload is said to be larger than any is");
  EXPECT_EQ(with(80, 10'001), "its logits are larger than its payload");
  const auto kind = [](uint8_t value) {
    return RefusalOfSealed([=](Bytes* front) { (*front)[16] = value; });
  };
  EXPECT_EQ(kind(1), "it begins in the middle, and is no segment");
  EXPECT_EQ(kind(3), "it begins in the middle, and is no segment");
  EXPECT_EQ(RefusalOfSealed([](Bytes* front) {
              (*front)[16] = 1;
              PutNumber(front, 48, 0, 8);
            }),
            "it has a parent, and is no segment");
  EXPECT_EQ(RefusalOfSealed([](Bytes* front) { (*front)[17] = 1; }),
            "its payload is raw, and yet of another size than before");
}

TEST(ObjectHeader, SurvivesTenThousandFrontsOfGarbage) {
  for (uint64_t seed = 0; seed < test::Played(10'000); ++seed) {
    Random random(seed);
    Bytes front(Below(&random, 3) * 2000 + Below(&random, 4200));
    for (uint8_t& byte : front) byte = static_cast<uint8_t>(random());
    // Half of the inputs begin like an object, so that more than the first check is tested.
    const Bytes begin = EncodeHeader(test::SampleObject());
    if (seed % 2 == 0)
      std::copy_n(begin.begin(), std::min<size_t>(12, front.size()), front.begin());
    ASSERT_NE(Refusal(front), "") << "seed " << seed;
    if (front.size() < kFrontBytesMin) continue;
    Seal(&front);
    ASSERT_NE(Refusal(front), "") << "sealed, seed " << seed;
  }
}

// Every front that decodes is encoded to the same bytes again: no byte is ignored.
TEST(ObjectHeader, IsReadFromSealedBytesOnlyIfItIsWrittenAsTheyAre) {
  size_t read = 0;
  for (uint64_t seed = 0; seed < test::Played(20'000); ++seed) {
    Random random(seed);
    Bytes front = EncodeHeader(seed % 2 == 0 ? test::SampleObject() : RandomHeader(seed % 64));
    for (size_t changes = 1 + Below(&random, 3); changes > 0; --changes) {
      const size_t used = Below(&random, 8) == 0 ? front.size() : 400;
      uint8_t& byte = front[8 + Below(&random, used - 8)];
      byte = Below(&random, 2) == 0 ? static_cast<uint8_t>(random())
                                    : static_cast<uint8_t>(Below(&random, 6));
    }
    Seal(&front);
    const auto header = DecodeHeader(front);
    if (!header) continue;
    ++read;
    ASSERT_TRUE(EncodeHeader(*header) == front) << "seed " << seed;
  }
  EXPECT_GT(read, test::Played(1000)) << "else this tried little";
}

TEST(Payload, HasAChecksumThatEachBitMoves) {
  Bytes payload(1000, 7);
  const uint64_t checksum = PayloadChecksum(payload);
  EXPECT_EQ(checksum, PayloadChecksum(Bytes(1000, 7)));
  for (size_t bit = 0; bit < payload.size() * 8; ++bit) {
    payload[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    ASSERT_NE(PayloadChecksum(payload), checksum);
    payload[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
  }
}

}  // namespace
}  // namespace cairn
