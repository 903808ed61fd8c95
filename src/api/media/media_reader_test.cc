#include "api/media/media_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "testing/api/media_samples.h"

namespace cairn::media_reader_test {
namespace {

using test::PngFile;
using test::PngMarker;
using test::PngUrl;
using test::WavFile;
using test::WavMarker;

constexpr const char* kPlace = "messages[2].content[1]";

class MediaReaderTest : public testing::Test {
 protected:
  // Reads one medium alone; returns its marker or the error's message.
  std::string Url(const std::string& url, MediumKind kind = MediumKind::kImage) {
    MediaReader reader(rules_);
    return Admitted(&reader, kind, reader.ReadUrl(kind, url, kPlace));
  }
  std::string Base64(const std::string& base64, MediumKind kind = MediumKind::kImage) {
    MediaReader reader(rules_);
    return Admitted(&reader, kind, reader.ReadBase64(kind, base64, kPlace));
  }
  static std::string Admitted(const MediaReader* reader, MediumKind kind,
                              const ApiResult<MediumPtr>& read) {
    EXPECT_TRUE(reader->Admit(kind, kPlace).has_value());
    if (read) return MarkerOf(**read);
    EXPECT_EQ(read.error().status, 400);
    EXPECT_EQ(read.error().field, kPlace);
    EXPECT_TRUE(read.error().message.starts_with("messages[2].content[1]: "))
        << read.error().message;
    return read.error().message;
  }
  static void ExpectHas(const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }

  MediaRules rules_ = test::TakingRules();
};

TEST_F(MediaReaderTest, ReadsDataUrlsHoweverTheirHeadIsWritten) {
  const std::string data = EncodeBase64(PngFile());
  for (const char* head : {"data:image/png;base64,", "DATA:IMAGE/PNG;BASE64,", "data:;base64,",
                           "data:image/png;name=a.png;charset=utf-8;base64,",
                           "data:application/octet-stream;base64,"}) {
    EXPECT_EQ(Url(head + data), PngMarker()) << head;
  }
}

TEST_F(MediaReaderTest, TheSameFileIsOneMediumOfItsFirstPlace) {
  MediaReader reader(rules_);
  const auto first = reader.ReadUrl(MediumKind::kImage, PngUrl(), kPlace);
  const auto again = reader.ReadUrl(MediumKind::kImage, PngUrl(), "messages[3].content[0]");
  const auto other = reader.ReadUrl(MediumKind::kImage, PngUrl("b"), kPlace);
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(*again, *first);
  EXPECT_NE(*other, *first);
  EXPECT_EQ((*first)->file, PngFile());
  EXPECT_EQ((*first)->kind, MediumKind::kImage);
  EXPECT_EQ((*first)->place, kPlace);
}

TEST_F(MediaReaderTest, ADataUrlInAnotherFormIsRefused) {
  const std::string data = EncodeBase64(PngFile());
  for (const std::string& url : std::vector<std::string>{
           "data:", "data:image/png", "data:image/png," + data, "data:image/png;base64" + data,
           "data:image/png;base64;x=y," + data, "data:base64," + data}) {
    ExpectHas(Url(url), "the form \"data:TYPE;base64,DATA\"");
  }
}

TEST_F(MediaReaderTest, DataThatIsNotBase64IsRefused) {
  ExpectHas(Base64("iVBO Rw0K"), "its data has no base64 at byte 4");
  ExpectHas(Base64("iVBORw0KGg"), "no multiple of 4");
  ExpectHas(Url("data:image/png;base64,iVBORw0K\n"), "has no base64 at byte 8");
}

TEST_F(MediaReaderTest, TheBytesDecideOfWhichKindAFileIs) {
  EXPECT_EQ(Base64(EncodeBase64(WavFile()), MediumKind::kAudio), WavMarker());
  EXPECT_EQ(Url("data:image/png;base64," + EncodeBase64(WavFile()), MediumKind::kAudio),
            WavMarker());
  ExpectHas(Base64(EncodeBase64(WavFile())),
            "the part is an image, but its bytes are an audio file (WAV)");
  ExpectHas(Base64(EncodeBase64(PngFile()), MediumKind::kAudio),
            "the part is an audio file, but its bytes are an image (PNG)");
  ExpectHas(Base64(EncodeBase64(BytesOf("%PDF"))),
            "its bytes are not an image of a known format: send PNG, JPEG, GIF, BMP or WEBP");
  ExpectHas(Base64("", MediumKind::kAudio),
            "its bytes are not an audio file of a known format: send WAV, MP3 or FLAC");
}

TEST_F(MediaReaderTest, WithoutAProjectorNothingIsAdmitted) {
  const MediaRules none;
  const MediaReader reader(none);
  const auto image = reader.Admit(MediumKind::kImage, kPlace);
  const auto audio = reader.Admit(MediumKind::kAudio, kPlace);
  ASSERT_FALSE(image.has_value() || audio.has_value());
  EXPECT_EQ(image.error().status, 400);
  EXPECT_EQ(image.error().field, kPlace);
  EXPECT_EQ(image.error().message,
            "messages[2].content[1]: this server takes no images: start it with --mmproj FILE");
  EXPECT_EQ(audio.error().message,
            "messages[2].content[1]: this server takes no audio: start it with --mmproj FILE");
}

TEST_F(MediaReaderTest, AProjectorForTheOtherKindIsNamed) {
  rules_.takes_audio = false;
  const MediaReader reader(rules_);
  EXPECT_TRUE(reader.Admit(MediumKind::kImage, kPlace).has_value());
  ExpectHas(reader.Admit(MediumKind::kAudio, kPlace).error().message,
            "the projector of this server takes no audio");
}

TEST_F(MediaReaderTest, AFileOverTheLimitIsRefused) {
  rules_.file_bytes_max = PngFile("ab").size();
  EXPECT_EQ(Url(PngUrl("ab")), PngMarker("ab"));
  ExpectHas(Url(PngUrl("abc")),
            "has 11 bytes, and a file may have 10 bytes: send a smaller one, or "
            "raise --media-file-mib");
}

TEST_F(MediaReaderTest, ARequestHasALimitOfMediaAndOfTheirBytes) {
  rules_.media_max = 2;
  MediaReader reader(rules_);
  for (const char* name : {"a", "a"}) {
    ASSERT_TRUE(reader.Admit(MediumKind::kImage, kPlace).has_value());
    ASSERT_TRUE(reader.ReadUrl(MediumKind::kImage, PngUrl(name), kPlace).has_value());
  }
  ExpectHas(reader.Admit(MediumKind::kImage, kPlace).error().message,
            "a request may have 2 images and audio files");
  rules_.all_bytes_max = 2 * PngFile().size();
  MediaReader other(rules_);
  ASSERT_TRUE(other.ReadUrl(MediumKind::kImage, PngUrl("b"), kPlace).has_value());
  const auto second = other.ReadUrl(MediumKind::kImage, PngUrl("cd"), kPlace);
  ASSERT_FALSE(second.has_value());
  ExpectHas(second.error().message, "have more than 18 bytes together");
  EXPECT_TRUE(other.ReadUrl(MediumKind::kImage, PngUrl("c"), kPlace).has_value());
}

TEST_F(MediaReaderTest, UrlsAreFetchedOnlyIfTheRulesSaySo) {
  std::vector<std::string> fetched;
  size_t bytes_max = 0;
  rules_.fetch = [&](const std::string& url, size_t most) -> Result<Bytes> {
    fetched.push_back(url);
    bytes_max = most;
    return PngFile();
  };
  ExpectHas(Url("https://example.org/a.png"), "or start the server with --allow-media-url");
  EXPECT_TRUE(fetched.empty());
  rules_.allow_url = true;
  rules_.file_bytes_max = 1234;
  EXPECT_EQ(Url("HTTPS://example.org/a.png"), PngMarker());
  EXPECT_EQ(Url("http://example.org/b.png"), PngMarker());
  EXPECT_EQ(fetched,
            (std::vector<std::string>{"HTTPS://example.org/a.png", "http://example.org/b.png"}));
  EXPECT_EQ(bytes_max, 1234u);
}

TEST_F(MediaReaderTest, AFetchThatFailsIsToldInItsOwnWords) {
  rules_.allow_url = true;
  rules_.fetch = [](const std::string&, size_t) -> Result<Bytes> {
    return Fail(ErrorCode::kTimedOut, "it took too long");
  };
  ExpectHas(Url("http://example.org/"),
            "the URL cannot be fetched: it took too long; send the file as a data URL");
}

TEST_F(MediaReaderTest, FilesAreReadOnlyBelowTheFolderOfTheRules) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::path(testing::TempDir()) / ("cairn_" + std::to_string(getpid()) + "_media");
  fs::create_directories(folder);
  const Bytes png = PngFile();
  std::ofstream(folder / "a b.png", std::ios::binary)
      .write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
  for (const std::string& url :
       {std::string("a b.png"), "file://" + folder.string() + "/a b.png"}) {
    ExpectHas(Url(url), "start the server with --media-path FOLDER");
  }
  rules_.media_path = folder;
  for (const std::string& url :
       {std::string("a b.png"), std::string("file://a%20b.png"), std::string("FILE:a%20b.png"),
        (folder / "a b.png").string(), "file://" + folder.string() + "/a%20b.png"}) {
    EXPECT_EQ(Url(url), PngMarker()) << url;
  }
  for (const std::string& url : {std::string("file:///etc/passwd"), std::string("../../etc/passwd"),
                                 std::string("file://%2e%2e/x"), std::string("")}) {
    ExpectHas(Url(url), "no such file below the folder of --media-path");
  }
  rules_.file_bytes_max = 5;
  ExpectHas(Url("a b.png"), "the file has 9 bytes, and a file may have 5 bytes");
  fs::remove_all(folder);
}

TEST_F(MediaReaderTest, OtherUrlsAndBareBase64AreRefused) {
  ExpectHas(Url("ftp://host/a.png"), "'ftp' is not a kind of URL that is read");
  ExpectHas(Url(EncodeBase64(PngFile())), "send a data URL, \"data:image/png;base64,…\"");
  ExpectHas(Url("https:/host/a.png"), "neither a data URL nor an http URL");
}

TEST_F(MediaReaderTest, TheBytesTellTheKindOfAFileThatHasNone) {
  MediaReader reader(rules_);
  const auto image = reader.ReadBase64OfAnyKind(EncodeBase64(PngFile()), kPlace);
  const auto audio = reader.ReadBase64OfAnyKind(EncodeBase64(WavFile()), kPlace);
  EXPECT_EQ(MarkerOf(**image), PngMarker());
  EXPECT_EQ(MarkerOf(**audio), WavMarker());
  const auto error_of = [&](const MediaRules& rules, const std::string& base64) {
    MediaReader other(rules);
    const auto read = other.ReadBase64OfAnyKind(base64, kPlace);
    EXPECT_FALSE(read.has_value());
    return read ? "" : read.error().message;
  };
  ExpectHas(error_of(rules_, EncodeBase64(test::FileOf("text"))),
            "its bytes are neither an image nor an audio file of a known format: send PNG");
  ExpectHas(error_of(rules_, "####"), "its data has no base64 at byte 0");
  ExpectHas(error_of({}, EncodeBase64(PngFile())), "takes no images and no audio");
  MediaRules images = rules_;
  images.takes_audio = false;
  ExpectHas(error_of(images, EncodeBase64(WavFile())),
            "the projector of this server takes no audio");
  MediaRules none = rules_;
  none.media_max = 0;
  ExpectHas(error_of(none, "####"), "a request may have 0 images");
}

}  // namespace
}  // namespace cairn::media_reader_test
