#include "store/export_file.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/base/memory_fs.h"

namespace cairn {
namespace {

constexpr const char* kPath = "/f/talk";
constexpr const char* kTemp = "/f/.tmp";

class ExportFileTest : public testing::Test {
 protected:
  ExportFileTest() { EXPECT_TRUE(fs_.MakeFolders("/f").has_value()); }

  static Bytes Of(const std::string& text) { return {text.begin(), text.end()}; }

  void Write(const std::vector<std::string>& objects) {
    auto writer = ExportWriter::Create(&fs_, kTemp, kPath);
    ASSERT_TRUE(writer.has_value());
    for (const std::string& object : objects) {
      // Adds the object in two parts.
      const size_t front = object.size() / 2;
      ASSERT_TRUE((*writer)->Add(Of(object.substr(0, front)), Of(object.substr(front))));
    }
    const auto bytes = (*writer)->Finish();
    ASSERT_TRUE(bytes.has_value());
    EXPECT_EQ(*bytes, fs_.Stat(kPath)->bytes);
  }

  MemoryFs fs_;
};

TEST_F(ExportFileTest, GivesBackWhatWasWrittenInItsOrder) {
  Write({"first object", "2nd"});
  auto reader = ExportReader::Open(&fs_, kPath, "talk");
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->Next(), Of("first object"));
  EXPECT_EQ(reader->Next(), Of("2nd"));
  EXPECT_EQ(reader->Next(), Bytes());
  EXPECT_EQ(reader->file_bytes(), fs_.Stat(kPath)->bytes);
  EXPECT_EQ(fs_.Files(), std::vector<std::string>{kPath});
}

TEST_F(ExportFileTest, LeavesWhatWasThereWhenItIsGivenUp) {
  Write({"the old one"});
  {
    auto writer = ExportWriter::Create(&fs_, kTemp, kPath);
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE((*writer)->Add(Of("the new one")).has_value());
  }
  EXPECT_EQ(fs_.Files(), std::vector<std::string>{kPath});
  EXPECT_EQ(ExportReader::Open(&fs_, kPath, "talk")->Next(), Of("the old one"));
}

TEST_F(ExportFileTest, CutAnywhereItEndsEarlyOrIsNoneOfOurs) {
  Write({"first object", "2nd"});
  const Bytes whole = *fs_.Read(kPath, 0, 1000);
  for (size_t size = 0; size < whole.size(); ++size) {
    fs_.Put(kPath, ByteSpan(whole).first(size));
    auto reader = ExportReader::Open(&fs_, kPath, "talk");
    if (!reader) continue;
    Result<Bytes> object = reader->Next();
    while (object && !object->empty()) object = reader->Next();
    ASSERT_FALSE(object.has_value()) << size;
    EXPECT_EQ(object.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(object.error().message.find("\"talk\" ends early"), 0u) << object.error().message;
  }
}

}  // namespace
}  // namespace cairn
