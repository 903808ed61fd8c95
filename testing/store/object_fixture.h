// For tests: a disk store's folder of generated objects, in a file system in memory.

#ifndef CAIRN_TESTING_STORE_OBJECT_FIXTURE_H_
#define CAIRN_TESTING_STORE_OBJECT_FIXTURE_H_

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/codec/codec.h"
#include "store/disk/disk_files.h"
#include "store/object.h"
#include "testing/base/memory_fs.h"
#include "testing/store/object_sample.h"

namespace cairn::test {

inline constexpr int64_t kNowNs = int64_t{1'700'000'000} * 1'000'000'000;
inline constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
inline constexpr const char* kFolder = "/cache";

class ObjectFolderTest : public testing::Test {
 protected:
  ObjectFolderTest() { fs_.SetNow(kNowNs); }

  static std::string PathOf(const ObjectHeader& header) {
    return std::string(kFolder) + "/" + ToText(header.fingerprint) + "/" +
           ObjectFileName(NameOf(header));
  }
  static std::string NameText(const ObjectHeader& header) { return ToText(NameOf(header)); }

  // Returns the file of an object with that payload, as a server writes it.
  static Bytes FileOf(ObjectHeader header, Codec codec, const Bytes& payload) {
    const Encoded encoded = Encode(codec, payload);
    const Bytes& stored = encoded.codec == Codec::kRaw ? payload : encoded.bytes;
    header.codec = encoded.codec;
    header.raw_bytes = payload.size();
    header.stored_bytes = stored.size();
    header.payload_checksum = PayloadChecksum(stored);
    Bytes file = EncodeHeader(header);
    file.insert(file.end(), stored.begin(), stored.end());
    return file;
  }

  // Bytes that compress a little, so that every codec is used.
  Bytes Payload(size_t size) {
    Bytes bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_() % 16);
    return bytes;
  }
  Tokens SomeTokens(size_t size) {
    Tokens tokens(size);
    for (Token& token : tokens) token = static_cast<Token>(random_() % 50'000);
    return tokens;
  }

  // Writes the object with a time `hours` ago.
  ObjectHeader Put(ObjectHeader header, size_t bytes, double hours = 1, Codec codec = Codec::kRaw) {
    const std::string path = PathOf(header);
    fs_.Put(path, FileOf(header, codec, Payload(bytes)));
    EXPECT_TRUE(fs_.SetTime(path, kNowNs - static_cast<int64_t>(hours * kHourNs)).has_value());
    return header;
  }

  ObjectHeader Segment(const Tokens& tokens, size_t begin, size_t end,
                       const ObjectHeader* parent) const {
    ObjectHeader header;
    header.kind = ObjectKind::kSegment;
    header.fingerprint = fingerprint_;
    header.tokens.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(end));
    header.begin = begin;
    if (parent != nullptr) header.parent = NameOf(*parent);
    header.worth_ms = 100;
    return header;
  }
  ObjectHeader Snapshot(const Tokens& tokens, size_t end, uint8_t checkpoint_class = 1) const {
    ObjectHeader header;
    header.fingerprint = fingerprint_;
    header.tokens.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(end));
    header.checkpoint_class = checkpoint_class;
    header.worth_ms = 100;
    return header;
  }

  // Turns the object's file into one of a newer version.
  void MakeNewer(const std::string& path) {
    Bytes file = *fs_.Read(path, 0, fs_.Stat(path)->bytes);
    test::MakeNewer(&file);
    fs_.Put(path, file);
  }

  // A conversation of 3,000 tokens, its KV in three segments, with three snapshots:
  //   [0 -- 1024) [1024 -- 2048) [2048 -- 3000)
  //        ^ 512               ^ 2048         ^ 3000
  struct Conversation {
    Tokens tokens;
    std::vector<ObjectHeader> segments;
    std::vector<ObjectHeader> snapshots;
  };
  Conversation PutConversation() {
    Conversation made;
    made.tokens = SomeTokens(3000);
    const auto segment = [&](size_t begin, size_t end, double hours, Codec codec) {
      const ObjectHeader* const parent = made.segments.empty() ? nullptr : &made.segments.back();
      made.segments.push_back(Put(Segment(made.tokens, begin, end, parent), 20'000, hours, codec));
    };
    segment(0, 1024, 6, Codec::kRaw);
    segment(1024, 2048, 5, Codec::kLossless);
    segment(2048, 3000, 4, Codec::kRaw);
    made.snapshots.push_back(Put(Snapshot(made.tokens, 512, 1), 9'000, 3));
    made.snapshots.push_back(Put(Snapshot(made.tokens, 2048, 3), 9'000, 2, Codec::kLossless));
    ObjectHeader end = Snapshot(made.tokens, 3000, 4);
    end.logits_bytes = 64;
    made.snapshots.push_back(Put(end, 9'000, 1));
    return made;
  }

  MemoryFs fs_;
  std::mt19937_64 random_{1};
  Fingerprint fingerprint_ = {0x1111222233334444, 0x5555666677778888};
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_STORE_OBJECT_FIXTURE_H_
