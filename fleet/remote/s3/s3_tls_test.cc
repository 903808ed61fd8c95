// On a real server with a certificate.

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "fleet/remote/s3/s3_objects.h"
#include "testing/base/made_certificate.h"
#include "testing/remote/seaweed.h"

namespace cairn {
namespace {

TEST(S3Tls, OnlyTrustedCertificatesOfThatNameAreAccepted) {
  if (test::SeaweedProgram().empty()) GTEST_SKIP() << test::kNoSeaweed;
  const std::string files = testing::TempDir() + "s3_tls_" + std::to_string(getpid());
  const test::MadeCertificate made = test::MakeCertificate("localhost");
  std::ofstream(files + ".crt") << made.certificate;
  std::ofstream(files + ".key") << made.key;
  std::ofstream(files + "_other.crt") << test::MakeCertificate("localhost").certificate;
  test::Seaweed seaweed({"-s3.cert.file=" + files + ".crt", "-s3.key.file=" + files + ".key"});

  S3Options options = seaweed.Options("https", "localhost");
  options.ca_file = files + ".crt";
  const auto trusted = *MakeS3Objects(options);
  const Status accepting = seaweed.WaitUntilAccepting(trusted.get());
  ASSERT_TRUE(accepting) << accepting.error().message;
  EXPECT_EQ(trusted->Get("v1/first", 10, DeadlineIn(10'000)).value(), Bytes(10, 1));

  const auto expect_refused = [](const S3Options& with) {
    const auto got = (*MakeS3Objects(with))->Get("v1/first", 10, DeadlineIn(10'000));
    ASSERT_FALSE(got) << with.endpoint << " " << with.ca_file;
    EXPECT_EQ(got.error().code, ErrorCode::kUnavailable) << got.error().message;
  };
  options.ca_file = files + "_other.crt";
  expect_refused(options);
  options.ca_file.clear();
  expect_refused(options);
  options = seaweed.Options("https", "127.0.0.1");
  options.ca_file = files + ".crt";
  expect_refused(options);
}

}  // namespace
}  // namespace cairn
