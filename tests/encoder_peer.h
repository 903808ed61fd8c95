// EncoderPeerTest: `cairn serve` on models that embed or rank, with llama-server, where there is
// one, on the same models.

#ifndef CAIRN_TESTS_ENCODER_PEER_H_
#define CAIRN_TESTS_ENCODER_PEER_H_

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lab/maker/llama_model_maker.h"
#include "served.h"

namespace cairn::test {

inline std::string WriteEncoder(const std::string& architecture, bool ranks, bool unigram) {
  std::string path =
      OwnPath(architecture + (ranks ? "-rank" : "") + (unigram ? "-unigram" : "")) + ".gguf";
  ModelShape shape;
  shape.architecture = architecture;
  shape.width = 64;
  shape.train_context_tokens = 1024;
  shape.ranks = ranks;
  shape.unigram = unigram;
  EXPECT_TRUE(WriteModel(*MakeRecipe(shape), path, {"f16", {}}).has_value());
  return path;
}

// The command of Debian's llama-server, in the private prefix or installed. Empty if there is none.
// It computes with the kernels that this test was given (scripts/lib/kernels.sh): those of another
// CPU round otherwise.
inline Flags PeerCommand(const Flags& flags) {
  const std::string root = CAIRN_SOURCE_DIR;
  if (!std::filesystem::exists(root + "/.deps/prefix/usr/bin/llama-server") &&
      !std::filesystem::exists("/usr/bin/llama-server")) {
    return {};
  }
  return Join({"python3", root + "/scripts/bench", "llama-server"}, flags);
}

inline double Cosine(const Json& a, const Json& b) {
  double product = 0;
  double of_a = 0;
  double of_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i].get<double>();
    const double y = b[i].get<double>();
    product += x * y;
    of_a += x * x;
    of_b += y * y;
  }
  return product / std::sqrt(of_a * of_b);
}

class EncoderPeerTest : public ServedTest {
 protected:
  ~EncoderPeerTest() override {
    peer_.reset();
    server_.reset();
    std::error_code error;
    for (const std::string& path : paths_) std::filesystem::remove(path, error);
  }
  const std::string& Model(const std::string& architecture, bool ranks = false,
                           bool unigram = false) {
    return paths_.emplace_back(WriteEncoder(architecture, ranks, unigram));
  }
  Json Answer(const std::string& path, const Json& body) const {
    const HttpReply reply = Post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? Json::parse(reply.body) : Json();
  }
  // Skips the test if there is no peer.
  void ServePeer(const std::string& model, const Flags& flags) {
    peer_.reset();
    const int port = 20000 + getpid() % 20000;
    auto command = PeerCommand(
        Join({"-m", model, "--port", std::to_string(port), "-t", "1", "-np", "1"}, flags));
    if (command.empty()) GTEST_SKIP() << "there is no llama-server to compare with";
    auto peer = ServerProcess::Start({.argv = std::move(command), .port = port});
    ASSERT_TRUE(peer.has_value()) << peer.error().message;
    peer_ = std::move(*peer);
  }
  Json PeerAnswer(const std::string& path, const Json& body) const {
    const auto reply = HttpClient(peer_->url()).Post(path, body.dump());
    EXPECT_TRUE(reply.has_value() && reply->status == 200) << path;
    return reply && reply->status == 200 ? Json::parse(reply->body) : Json();
  }

  std::vector<std::string> paths_;
  std::unique_ptr<ServerProcess> peer_;
};

inline const Json& EncoderInputs() {
  static const Json inputs = Json::array(
      {"I believe the meaning of life is", "a pile of stones!", Json::array({2, 20, 30, 3}), "x"});
  return inputs;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTS_ENCODER_PEER_H_
