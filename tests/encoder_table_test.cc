// The table of models that embed and rank, docs/encoders.md: each is made, and served by Cairn and
// by llama-server, where there is one, which are asked the same. The page must say what came out.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "encoder_peer.h"
#include "lab/maker/encoder_recipe.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

constexpr std::string_view kPage = R"(# Models that embed and rank

This page shows what was compared with llama-server on each architecture that computes vectors or
scores of texts and nothing else, and on two that also write. A test
(`tests/encoder_table_test.cc`) makes a small model of each, with random weights, serves it by both,
and fails when this page says anything else.

| column | meaning |
| --- | --- |
| models | some of the models that people use |
| pooling | how the tokens' vectors become the text's in the test; `--pooling` names another |
| together | the vectors of four texts in one request of `/v1/embeddings` |
| alone | the same of each text in a request of its own |
| tokens | a vector for each token, in `/embeddings` with `--pooling none` |
| scores | those of three documents in `/v1/rerank`, of a model with a classification head |

*same*: the cosine to llama-server's vector is above 1 - 10^-6, a score differs by less than 10^-5,
and the counts of tokens are equal. *-*: the architecture has no such head. Texts that are computed
together round otherwise than each alone, on both servers; a document to be ranked is computed
alone.

)";

struct Served {
  const char* architecture;
  const char* models;
  const char* pooling;
  bool ranks = false;
  bool unigram = false;
};

// All encoders, and decoders that embed and rank.
constexpr Served kServed[] = {
    {"bert", "all-MiniLM, bge, e5, mxbai", "cls", true},
    {"bert", "XLM-R: bge-m3, multilingual-e5, bge-reranker", "cls", true, true},
    {"eurobert", "EuroBERT", "mean"},
    {"gemma-embedding", "EmbeddingGemma", "mean"},
    {"gemma-embedding2", "EmbeddingGemma 2", "mean"},
    {"jina-bert-v2", "jina-embeddings-v2, jina-reranker-v1", "mean", true},
    {"jina-bert-v3", "jina-embeddings-v3", "mean"},
    {"llama", "E5-Mistral, with `--embeddings`", "mean"},
    {"llama-embed", "llama-embed-nemotron", "mean"},
    {"modern-bert", "ModernBERT, granite-embedding, gte-reranker", "cls", true},
    {"neo-bert", "NeoBERT", "cls", true},
    {"nomic-bert", "nomic-embed-text-v1, v1.5", "mean"},
    {"nomic-bert-moe", "nomic-embed-text-v2", "mean"},
    {"qwen3", "Qwen3-Embedding, Qwen3-Reranker, with `--embeddings`", "last", true},
    {"t5encoder", "the encoder of T5 alone", "mean"},
};

class EncoderTable : public test::EncoderPeerTest {
 protected:
  // Serves a model by both. `flags`: of both.
  void ServeBoth(const std::string& model, const test::Flags& flags) {
    Serve(flags, model);
    ServePeer(model, test::Join(flags, {"-c", "1024", "-b", "1024", "-ub", "1024"}));
  }

  // Returns the vectors of an answer in OpenAI's or llama-server's format, those of all tokens.
  static std::vector<Json> VectorsOf(const Json& answer) {
    std::vector<Json> vectors;
    for (const Json& one : answer.is_array() ? answer : answer["data"]) {
      if (answer.is_array()) {
        for (const Json& vector : one["embedding"]) vectors.push_back(vector);
      } else {
        vectors.push_back(one["embedding"]);
      }
    }
    return vectors;
  }

  std::string CompareVectors(const std::string& path, const Json& input) const {
    const Json ours = Answer(path, {{"input", input}});
    const Json theirs = PeerAnswer(path, {{"input", input}});
    if (ours.is_object() && ours["usage"] != theirs["usage"]) return "other counts";
    const std::vector<Json> a = VectorsOf(ours);
    const std::vector<Json> b = VectorsOf(theirs);
    if (a.size() != b.size() || a.empty()) return "other numbers of vectors";
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].size() != b[i].size()) return "other sizes";
      if (!(test::Cosine(a[i], b[i]) > 1 - 1e-6)) return "differ";
    }
    return "same";
  }

  std::string CompareScores() const {
    const Json body = {{"query", "what is a cairn"},
                       {"documents", {"a fish", "a pile of stones", "a hill in wales"}}};
    const auto scores_of = [](const Json& answer) {
      std::vector<double> scores(3);
      for (const Json& one : answer["results"]) {
        scores[one["index"].get<size_t>()] = one["relevance_score"].get<double>();
      }
      return scores;
    };
    const Json ours = Answer("/v1/rerank", body);
    const Json theirs = PeerAnswer("/v1/rerank", body);
    if (ours["usage"] != theirs["usage"]) return "other counts";
    const auto a = scores_of(ours);
    const auto b = scores_of(theirs);
    for (size_t i = 0; i < a.size(); ++i) {
      if (!(std::abs(a[i] - b[i]) < 1e-5)) return "differ";
    }
    return a[0] == a[1] ? "one score" : "same";
  }

  std::string Row(const Served& served) {
    const std::string model = Model(served.architecture, false, served.unigram);
    const bool decoder =
        served.architecture == std::string("qwen3") || served.architecture == std::string("llama");
    // Their files name no pooling.
    const test::Flags flags = decoder ? test::Flags{"--embeddings", "--pooling", served.pooling}
                                      : test::Flags{"--embeddings"};
    ServeBoth(model, flags);
    if (IsSkipped() || HasFatalFailure()) return "";
    std::string alone = "same";
    for (const Json& input : test::EncoderInputs()) {
      const std::string one = CompareVectors("/v1/embeddings", input);
      if (one != "same") alone = one;
    }
    const std::string together = CompareVectors("/v1/embeddings", test::EncoderInputs());
    ServeBoth(model, {"--embeddings", "--pooling", "none"});
    const std::string tokens = CompareVectors("/embeddings", test::EncoderInputs());
    std::string scores = "-";
    if (served.ranks) {
      ServeBoth(Model(served.architecture, true, served.unigram), {"--reranking"});
      scores = CompareScores();
    }
    return std::string("| `") + served.architecture + "` | " + served.models + " | " +
           served.pooling + " | " + together + " | " + alone + " | " + tokens + " | " + scores +
           " |\n";
  }
};

TEST_F(EncoderTable, SaysWhatIsAsInLlamaServer) {
  std::string page(kPage);
  page += "| architecture | models | pooling | together | alone | tokens | scores |\n";
  page += "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Served& served : kServed) {
    SCOPED_TRACE(served.architecture);
    page += Row(served);
    if (IsSkipped() || HasFatalFailure()) return;
  }
  ExpectSourceFile("docs/encoders.md", page);
}

TEST(EncoderTableRows, NameEveryEncoderThatIsMade) {
  for (const std::string& encoder : KnownEncoders()) {
    EXPECT_TRUE(std::any_of(std::begin(kServed), std::end(kServed), [&](const Served& served) {
      return served.architecture == encoder;
    })) << encoder;
  }
}

}  // namespace
}  // namespace cairn
