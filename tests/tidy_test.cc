// Checks the rules that a compiler does not. Every rule has a test on the repository and one on a
// bad example, so that none can silently stop finding anything.

#include <gtest/gtest.h>

#include <filesystem>

#include "tidy_repository.h"
#include "tidy_rules.h"

namespace cairn::tidy {
namespace {

namespace fs = std::filesystem;

std::string Repeat(const std::string& text, size_t count) {
  std::string repeated;
  for (size_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

TEST(Tidy, FoldersIncludeOnlyFoldersBelowThem) {
  EXPECT_EQ(OfAll(CheckDirection), "");
}

TEST(Tidy, ThirdPartyLibrariesStayInTheFilesThatWrapThem) {
  EXPECT_EQ(OfAll(CheckThirdParty), "");
}

TEST(Tidy, FunctionsHaveAtMostSeventyLines) {
  EXPECT_EQ(OfAll(CheckFunctionLength), "");
}

TEST(Tidy, FilesHaveAtMostSixHundredLines) {
  EXPECT_EQ(OfAll(CheckFileLength), "");
}

TEST(Tidy, LinesAreShortAndEndWithoutWhiteSpace) {
  EXPECT_EQ(OfAll(CheckLines), "");
}

TEST(Tidy, OnlyTheProgramPrints) {
  EXPECT_EQ(OfAll(CheckPrinting), "");
}

TEST(Tidy, NoThreadEndsTheProcessByAnException) {
  EXPECT_EQ(OfAll(CheckThreads), "");
}

TEST(Tidy, MutexesAreCheckedByTheCompiler) {
  EXPECT_EQ(OfAll(CheckMutexes), "");
}

TEST(Tidy, NoTextIsTokenizedUnmeasured) {
  EXPECT_EQ(OfAll(CheckTokenizing), "");
}

TEST(Tidy, HintsHaveOneWording) {
  EXPECT_EQ(OfAll(CheckHints), "");
}

TEST(Tidy, NoLoopIsOverTheItemsOfATemporary) {
  EXPECT_EQ(OfAll(CheckItemLoops), "");
}

TEST(Tidy, NothingIsLeftForLaterInAComment) {
  EXPECT_EQ(OfAll(CheckUnfinished), "");
}

TEST(Tidy, NamesAndCommentsUseTheWordsOfTheField) {
  EXPECT_EQ(OfAll(CheckWords), "");
}

TEST(Tidy, ClassesHaveAtMostFortyMethods) {
  EXPECT_EQ(OfAll(CheckClassMethods), "");
}

TEST(Tidy, AClassIsDefinedInAtMostTwoFiles) {
  EXPECT_EQ(Joined(CheckClassFiles(Sources())), "");
}

TEST(Tidy, FoldersHaveAtMostTwentyFiveFilesBesideTheirTests) {
  EXPECT_EQ(Without(Joined(CheckFolderSizes(Sources())), {"src/base has 27 files"}), "");
}

TEST(Tidy, HeadersAreGuardedByTheirPath) {
  EXPECT_EQ(OfAll(CheckGuard), "");
}

std::vector<SourceFile> CmakeFiles() {
  return Load([](const fs::path& path) { return path.filename() == "CMakeLists.txt"; });
}

TEST(Tidy, EverySourceFileIsBuilt) {
  EXPECT_EQ(Joined(CheckDeadFiles(Sources(), CmakeFiles())), "");
}

TEST(Tidy, SourcesOfATargetHavePrivateNamesOfTheirOwn) {
  EXPECT_EQ(Joined(CheckPrivateNames(Sources(), CmakeFiles())), "");
}

TEST(Tidy, TestsThatThePagesNameAreThere) {
  const fs::path root(CAIRN_SOURCE_DIR);
  for (const char* name : {"origins.md", "security.md"}) {
    const SourceFile page = Read(root, root / "docs" / name);
    EXPECT_NE(page.text.find("| held by |"), std::string::npos) << name << " has no table";
    EXPECT_EQ(Joined(CheckNamedTests(page, Sources())), "");
  }
}

// Returns our pages: at the top level, and below the folders with documentation.
std::vector<SourceFile> Pages() {
  const fs::path root(CAIRN_SOURCE_DIR);
  std::vector<SourceFile> pages;
  const auto add = [&](const fs::directory_entry& entry) {
    if (entry.path().extension() == ".md") pages.push_back(Read(root, entry.path()));
  };
  for (const auto& entry : fs::directory_iterator(root)) add(entry);
  for (const char* folder : {"docs", "examples", "fuzz", "packaging", "tests"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) add(entry);
  }
  return pages;
}

TEST(Tidy, LinksOfThePagesLeadSomewhere) {
  const std::vector<SourceFile> pages = Pages();
  EXPECT_GT(pages.size(), 20u);
  const auto is_there = [](const std::string& path) {
    return fs::exists(fs::path(CAIRN_SOURCE_DIR) / path);
  };
  for (const SourceFile& page : pages) EXPECT_EQ(Joined(CheckLinks(page, pages, is_there)), "");
}

TEST(TidyRules, FindIncludesAgainstTheDirection) {
  const std::string text =
      "#include <vector>\n#include \"base/hash.h\"\n#  include \"engine/engine.h\"\n";
  EXPECT_EQ(Joined(CheckDirection({"src/cache/a.cc", text})),
            "src/cache/a.cc:3: cache may not include engine/engine.h\n");
  EXPECT_EQ(Joined(CheckDirection({"src/sched/a.h", text})), "");
  EXPECT_EQ(Joined(CheckDirection({"src/sched/a.cc", "#include \"chat/spans/spans.h\"\n"})),
            "src/sched/a.cc:1: sched may not include chat/spans/spans.h\n");
  const std::string fleet = "#include \"fleet/router/proxy.h\"\n";
  EXPECT_EQ(Joined(CheckDirection({"src/sched/a.cc", fleet})),
            "src/sched/a.cc:1: sched may not include fleet/router/proxy.h\n");
  EXPECT_EQ(Joined(CheckDirection({"fleet/remote/a.cc", fleet})),
            "fleet/remote/a.cc:1: remote may not include fleet/router/proxy.h\n");
  EXPECT_EQ(Joined(CheckDirection({"src/cmd/a.cc", fleet})), "");
  EXPECT_EQ(Joined(CheckDirection({"src/cmd/a.cc", "#include \"lab/sim/oracle.h\"\n"})),
            "src/cmd/a.cc:1: cmd may not include lab/sim/oracle.h\n");
  EXPECT_EQ(Joined(CheckDirection({"lab/sim/a.cc", "#include \"testing/engine/fake_engine.h\"\n"})),
            "lab/sim/a.cc:1: lab may not include testing/engine/fake_engine.h\n");
  EXPECT_EQ(Joined(CheckDirection({"testing/engine/a.h", "#include \"lab/maker/a.h\"\n"})), "");
  EXPECT_EQ(Joined(CheckDirection({"lab/sim/a.cc", "#include \"api/service/chat_service.h\"\n"})),
            "lab/sim/a.cc:1: lab may not include api/service/chat_service.h\n");
  EXPECT_EQ(Joined(CheckDirection({"src/extra/a.cc", ""})),
            "src/extra/a.cc:1: the folder extra has no place in the direction of includes\n");
}

TEST(TidyRules, LetTestsUseTheLaboratoryAndFakesButNoFolderAboveThem) {
  const std::string text =
      "#include \"testing/engine/fake_engine.h\"\n#include \"lab/bench/scenario.h\"\n";
  EXPECT_EQ(Joined(CheckDirection({"src/cache/a_test.cc", text})), "");
  EXPECT_EQ(CheckDirection({"src/cache/a.cc", text}).size(), 2u);
  EXPECT_EQ(Joined(CheckDirection({"src/cache/a_test.cc", "#include \"sched/slots/slot.h\"\n"})),
            "src/cache/a_test.cc:1: cache may not include sched/slots/slot.h\n");
  EXPECT_EQ(Joined(CheckDirection({"src/sched/a_test.cc", "#include \"chat/spans/spans.h\"\n"})),
            "");
}

TEST(TidyRules, FindThirdPartyIncludesOutsideTheirFiles) {
  const auto says = [](const std::string& path, const std::string& include) {
    return Joined(CheckThirdParty({path, "\n#include <" + include + ">\n"}));
  };
  EXPECT_EQ(says("src/engine/engine.cc", "llama.h"),
            "src/engine/engine.cc:2: libllama may not be included here\n");
  EXPECT_EQ(says("src/engine/llama/llama_engine.cc", "llama.h"), "");
  EXPECT_NE(says("src/cmd/main.cc", "ggml-backend.h"), "");
  EXPECT_NE(says("src/cmd/main.cc", "gguf.h"), "");
  EXPECT_EQ(says("src/engine/media/llama_projector.cc", "mtmd.h"), "");
  EXPECT_EQ(says("src/engine/llama/llama_engine.cc", "mtmd.h"),
            "src/engine/llama/llama_engine.cc:2: libmtmd may not be included here\n");
  EXPECT_NE(says("src/routes/routes.cc", "httplib.h"), "");
  EXPECT_EQ(says("src/http/server.cc", "httplib.h"), "");
  EXPECT_EQ(says("src/http/http_client.cc", "httplib.h"), "");
  EXPECT_NE(says("src/sched/slots/slot.cc", "nlohmann/json.hpp"), "");
  EXPECT_NE(says("src/api/openai/openai.cc", "nlohmann/json.hpp"), "");
  EXPECT_NE(says("lab/client/chat_client.cc", "nlohmann/json.hpp"), "");
  EXPECT_NE(says("testing/base/golden_file.h", "nlohmann/json.hpp"), "");
  EXPECT_EQ(says("src/base/json_text.cc", "nlohmann/json.hpp"), "");
  EXPECT_NE(says("fleet/remote/valkey/valkey_store.cc", "hiredis/hiredis.h"), "");
  EXPECT_EQ(says("fleet/remote/valkey/valkey_client.cc", "hiredis/hiredis.h"), "");
  EXPECT_NE(says("fleet/remote/s3/s3_index.cc", "curl/curl.h"), "");
  EXPECT_EQ(says("fleet/remote/s3/s3_objects.cc", "curl/curl.h"), "");
  EXPECT_NE(says("src/cache/cache.cc", "spdlog/spdlog.h"), "");
  EXPECT_NE(says("src/http/server.cc", "CLI/CLI.hpp"), "");
  EXPECT_EQ(says("bench/cache_bench.cc", "CLI/CLI.hpp"), "");
  EXPECT_NE(says("bench/restore_bench.cc", "llama.h"), "");
}

TEST(TidyRules, FindLongFunctionsWhereverTheyAre) {
  const std::string body = Repeat("    Step();\n", 69);
  const auto says = [](const std::string& text) {
    return Joined(CheckFunctionLength({"src/base/a.cc", text}));
  };
  const std::string complaint = "a function of 71 lines\n";
  EXPECT_EQ(says("namespace cairn {\n\nvoid Long() {\n" + body + "}\n}  // namespace\n"),
            "src/base/a.cc:3: " + complaint);
  EXPECT_EQ(says("class A {\n public:\n  void Long() {\n" + body + "  }\n};\n"),
            "src/base/a.cc:3: " + complaint);
  EXPECT_EQ(says("A::A(int b)\n    : a_{b}, c_(1) {\n" + Repeat("  Step();\n", 68) + "}\n"),
            "src/base/a.cc:1: " + complaint);
  EXPECT_EQ(says("struct A* Make(int a) {\n" + body + "}\n"), "src/base/a.cc:1: " + complaint);
  EXPECT_EQ(says("void F(V v = {1}) {\n  auto f = [] {\n" + Repeat("    Step();\n", 66) +
                 "  };\n  f();\n}\n"),
            "src/base/a.cc:1: " + complaint);
}

TEST(TidyRules, LeaveShortFunctionsInLongClassesAndTextsAlone) {
  const auto says = [](const std::string& text) {
    return Joined(CheckFunctionLength({"src/base/a.cc", text}));
  };
  EXPECT_EQ(says("void F() {\n" + Repeat("  Step();\n", 68) + "}\n"), "");
  EXPECT_EQ(says("class A {\n" + Repeat("  void F() { g(); }\n", 200) + "};\n"), "");
  EXPECT_EQ(says("struct alignas(64) A {\n" + Repeat("  int a;\n", 200) + "};\n"), "");
  EXPECT_EQ(says("constexpr char kText[] = R\"x(\nvoid F() {\n" + Repeat("\n", 200) + ")x\";\n"),
            "");
  EXPECT_EQ(says("const int kTable[] = {\n" + Repeat("    1,\n", 200) + "};\n"), "");
  EXPECT_EQ(says("void F() { puts(\"{\"); }  // {\n" + Repeat("char c = '{';\n", 200) +
                 "#define X(a) {\nint n = 1'000;\nvoid G() {}\n"),
            "");
}

TEST(TidyRules, FindLongFilesLongLinesAndWhiteSpaceAtTheirEnds) {
  EXPECT_EQ(Joined(CheckFileLength({"src/a/b.cc", Repeat("x\n", 601)})),
            "src/a/b.cc:601: a file of 601 lines\n");
  EXPECT_EQ(Joined(CheckFileLength({"src/a/b.cc", Repeat("x\n", 600)})), "");
  EXPECT_EQ(Joined(CheckLines({"a.h", "ok\n" + std::string(101, 'x') + "\n"})),
            "a.h:2: a line of 101 columns\n");
  EXPECT_EQ(Joined(CheckLines({"a.h", Repeat("\xC3\xA9", 100) + "\n"})), "");
  EXPECT_EQ(Joined(CheckLines({"a.h", "x \n\t\n"})),
            "a.h:1: white space at the end of the line\n"
            "a.h:2: white space at the end of the line\n");
}

TEST(TidyRules, FindPrintingButNotTalkOfPrinting) {
  EXPECT_EQ(Joined(CheckPrinting({"src/base/a.cc", "// printf\nstd::printf(\"x\");\n"})),
            "src/base/a.cc:2: printf outside src/cmd\n");
  EXPECT_EQ(CheckPrinting({"src/base/a.cc", "std::cout << 1;\nfprintf(stderr, x);\n"}).size(), 2u);
  EXPECT_EQ(Joined(CheckPrinting({"src/base/a.cc", "snprintf(b, 1, \"printf\");\n"})), "");
  EXPECT_EQ(Joined(CheckPrinting({"src/cmd/a.cc", "std::cout << 1;\n"})), "");
}

TEST(TidyRules, FindThreadsWhoseBodiesCatchNothing) {
  const std::string complaint = "src/a/b.cc:2: a thread whose body catches nothing\n";
  EXPECT_EQ(Joined(CheckThreads({"src/a/b.cc", "\nthread_([this] { Run(); })\n"})), complaint);
  EXPECT_EQ(Joined(CheckThreads({"src/a/b.cc", "\nt = std::thread(run);\n"})), complaint);
  EXPECT_EQ(Joined(CheckThreads({"src/a/b.cc", "\nStartThread(&threads_, run);\n"})), complaint);
  EXPECT_EQ(Joined(CheckThreads({"src/a/b.cc", "StartThread(&t, [] { TryWork(run); });\n"})), "");
  EXPECT_EQ(Joined(CheckThreads({"src/a/b.cc", "std::thread thread_;  // std::thread(x)\n"})), "");
  EXPECT_EQ(Joined(CheckThreads({"src/a/b_test.cc", "std::thread thread(run);\n"})), "");
}

TEST(TidyRules, FindMutexesThatClangDoesNotCheck) {
  EXPECT_EQ(Joined(CheckMutexes({"src/a/b.h", "\nconst std::lock_guard lock(m);\n"})),
            "src/a/b.h:2: std::lock_guard, which clang does not check; see base/mutex.h\n");
  EXPECT_EQ(CheckMutexes({"fleet/a/b.h", "std::mutex m;\nstd::condition_variable c;\n"}).size(),
            2u);
  EXPECT_EQ(Joined(CheckMutexes({"src/a/b_test.cc", "std::mutex mutex;\n"})), "");
  EXPECT_EQ(Joined(CheckMutexes({"testing/a/b.h", "std::mutex mutex;\n"})), "");
}

TEST(TidyRules, FindMutexesThatGuardNothing) {
  const std::string guarded = "class A {\n  Mutex m_;\n  int x_ GUARDED_BY(m_);\n};\n";
  const std::string not_guarded = "class B {\n  mutable Mutex m_;\n  int x_;\n};\n";
  EXPECT_EQ(Joined(CheckMutexes({"src/a/b.h", guarded + not_guarded})),
            "src/a/b.h:6: nothing is GUARDED_BY(m_)\n");
  EXPECT_EQ(
      Joined(CheckMutexes({"src/a/b.h", "struct A {\n  Mutex m;\n  int x GUARDED_BY(mm);\n}"})),
      "src/a/b.h:2: nothing is GUARDED_BY(m)\n");
  for (const char* class_text :
       {"class A {\n  class B {\n    int x_ GUARDED_BY(a_->m_) = 0;\n  };\n  Mutex m_;\n};\n",
        "class A {\n  A* p_ PT_GUARDED_BY(m_);\n  Mutex m_;\n};\n",
        "class A {\n  Mutex m_;  // guards no member: one call at a time\n};\n",
        "class A {\n  Mutex* const m_;\n  void B(Mutex& mutex);\n};\n"}) {
    EXPECT_EQ(Joined(CheckMutexes({"src/a/b.h", class_text})), "") << class_text;
  }
}

TEST(TidyRules, FindHintsWithAWordingOfTheirOwn) {
  const std::string code = "\nreturn \"; did you mean \" + word;\n";
  EXPECT_EQ(Joined(CheckHints({"src/a/b.cc", code})),
            "src/a/b.cc:2: a hint that is not worded by DidYouMean\n");
  for (const char* path : {"src/base/nearest_word.cc", "src/a/b_test.cc", "tests/a.cc"}) {
    EXPECT_EQ(Joined(CheckHints({path, code})), "") << path;
  }
}

TEST(TidyRules, FindLoopsOverTheItemsOfATemporary) {
  const std::string code = "\nfor (const auto& [name, value] : Next(a).items()) {}\n";
  EXPECT_EQ(Joined(CheckItemLoops({"src/a/b.cc", code})),
            "src/a/b.cc:2: a loop over the items of a temporary\n");
  EXPECT_EQ(Joined(CheckItemLoops({"src/a/b.cc", "for (const auto& x : json[\"a\"].items()) {}"})),
            "");
  EXPECT_EQ(Joined(CheckItemLoops({"src/a/b.cc", "// for (x : Next(a).items())\n"})), "");
}

TEST(TidyRules, FindTextsThatAreTokenizedUnmeasured) {
  const std::string code = "// engine.Tokenize\nservice.engine().Tokenize(text, false, true);\n";
  EXPECT_EQ(Joined(CheckTokenizing({"src/api/openai/a.cc", code})),
            "src/api/openai/a.cc:2: a text is tokenized unmeasured\n");
  EXPECT_EQ(CheckTokenizing({"src/api/a.cc", "engine_->Tokenize(a);engine.Tokenize(b);"}).size(),
            2u);
  for (const char* path :
       {"src/api/prompt/prompt_limits.cc", "src/api/a_test.cc", "src/sched/a.cc"}) {
    EXPECT_EQ(Joined(CheckTokenizing({path, code})), "") << path;
  }
}

TEST(TidyRules, FindOldWordsInNamesAndCommentsButNotInLiterals) {
  const auto says = [](const std::string& text) { return Joined(CheckWords({"src/a.h", text})); };
  EXPECT_EQ(says("int x;\nint asker_count;\n"), "src/a.h:2: \"asker\": the word is \"client\"\n");
  EXPECT_EQ(says("void ParkSlot();\n"), "src/a.h:1: \"park\": the word is \"offload\"\n");
  EXPECT_EQ(says("#define MAX_PARTINGS 3\n"),
            "src/a.h:1: \"parting\": the word is \"divergence\"\n");
  EXPECT_EQ(says("x = 1;  // the unavoidable\n"),
            "src/a.h:1: \"unavoidable\": the word is \"lower bound\"\n");
  EXPECT_EQ(says("Say(\"parked \\\" asker\");  // sparks, a basket\n"), "");
  EXPECT_EQ(says("c = '\"';  // parked\nd = '\"';\n"),
            "src/a.h:1: \"parked\": the word is \"offloaded\"\n");
  EXPECT_EQ(says("text = R\"(parked\nasker)\";\n"), "");
  EXPECT_EQ(Joined(CheckWords({"src/a_test.cc", "// parked\n"})), "");
}

TEST(TidyRules, FindOldPhrasesAndHeadlessSentencesInComments) {
  const auto says = [](const std::string& text) { return Joined(CheckWords({"src/a.h", text})); };
  EXPECT_EQ(says("// The shortest way back.\n"),
            "src/a.h:1: \"way back\": write \"resume path\"\n");
  EXPECT_EQ(says("int a;\n// What is left.\nint b;\n"),
            "src/a.h:2: \"// what \": write \"a sentence with a subject\"\n");
  EXPECT_EQ(says("// It holds the rest\n// of a line, and says\n// what is left.\n"), "");
  EXPECT_EQ(says("Say(\"// What is left\");\n"), "");
}

TEST(TidyRules, CountTheMethodsOfAClassAndNotItsDataOrNestedClasses) {
  const auto says = [](const std::string& members) {
    return Joined(CheckClassMethods({"src/a.h", "class A : public B<C> {\n" + members + "};\n"}));
  };
  const std::string all = "src/a.h:1: A has 41 methods\n";
  EXPECT_EQ(says(Repeat("  int Get() const { return a_; }\n", 41)), all);
  EXPECT_EQ(says(" public:\n" + Repeat("  static void Do(int a = 0);\n", 41)), all);
  EXPECT_EQ(says(Repeat("  bool operator==(const A& b) const = default;\n", 41)), all);
  EXPECT_EQ(says(Repeat("  int Get() const;\n", 40) + "  struct D { int Get(); };\n"), "");
  EXPECT_EQ(says(Repeat("  std::function<void(int)> a_ = {};\n  int b_ = F(3);\n", 41)), "");
  EXPECT_EQ(says(Repeat("  A(const A&) = delete;\n  friend void F();\n", 41)), "");
  EXPECT_EQ(says(Repeat("  using F = void(int);\n  enum class E { kA };\n", 41)), "");
}

TEST(TidyRules, FindClassesInManyFilesAndLargeFolders) {
  const std::string text = "Status Slot::Read(TokenSpan tokens) {\n}\n";
  std::vector<SourceFile> files = {{"src/s/a.cc", text}, {"src/s/b.cc", text}};
  EXPECT_EQ(Joined(CheckClassFiles(files)), "");
  files.push_back({"src/s/b_test.cc", text});
  files.push_back({"src/t/c.cc", text});
  files.push_back({"src/s/d.cc", "void std::Read(Slot::Kind kind) {\n}\n"});
  EXPECT_EQ(Joined(CheckClassFiles(files)), "");
  files.push_back({"src/s/c.cc", text});
  EXPECT_EQ(Joined(CheckClassFiles(files)), "src/s: Slot is defined in 3 files\n");
  for (int i = 0; i < 22; ++i) files.push_back({"src/s/" + std::to_string(i) + ".cc", ""});
  EXPECT_EQ(Joined(CheckFolderSizes(files)), "src/s has 26 files beside its tests\n");
}

TEST(TidyRules, FindWhatIsLeftForLater) {
  EXPECT_EQ(Joined(CheckUnfinished({"a.cc",
                                    "x\n// TO"
                                    "DO: more\n"})),
            "a.cc:2: TO"
            "DO is left in the text\n");
  EXPECT_EQ(Joined(CheckUnfinished({"a.cc",
                                    "// FIX"
                                    "ME\n"})),
            "a.cc:1: FIX"
            "ME is left in the text\n");
  EXPECT_EQ(Joined(CheckUnfinished({"a.cc", "int TODOS;\n"})), "");
}

TEST(TidyRules, FindHeadersWithoutTheirGuard) {
  const std::string guard = "CAIRN_BASE_A_B_H_";
  const std::string good =
      "// Words.\n\n#ifndef " + guard + "\n#define " + guard + "\n\n#endif  // " + guard + "\n";
  EXPECT_EQ(Joined(CheckGuard({"src/base/a_b.h", good})), "");
  EXPECT_EQ(Joined(CheckGuard({"src/tree/a_b.h", good})),
            "src/tree/a_b.h:1: the header is not guarded by CAIRN_TREE_A_B_H_\n");
  EXPECT_NE(Joined(CheckGuard({"src/base/a_b.h", "#pragma once\n"})), "");
  EXPECT_EQ(Joined(CheckGuard({"src/base/a_b.cc", ""})), "");
}

TEST(TidyRules, FindFilesThatNothingBuilds) {
  const std::vector<SourceFile> cmake_files = {
      {"src/base/CMakeLists.txt", "cairn_library(base SOURCES a.cc sub/c.cc not_b.cc)"}};
  const std::vector<SourceFile> files = {{"src/base/a.cc", "#include \"base/a.h\"\n"},
                                         {"src/base/a.h", ""},
                                         {"src/base/b.cc", ""},
                                         {"src/base/b.h", ""},
                                         {"src/base/c.cc", ""},
                                         {"src/base/sub/c.cc", ""},
                                         {"src/tree/a.cc", ""},
                                         {"bench/a.cc", "#include \"a.h\"\n"},
                                         {"bench/a.h", ""},
                                         {"bench/b.h", ""}};
  EXPECT_EQ(Joined(CheckDeadFiles(files, cmake_files)),
            "src/base/b.cc:1: no CMakeLists.txt names this file\n"
            "src/base/b.h:1: nothing includes this header\n"
            "src/base/c.cc:1: no CMakeLists.txt names this file\n"
            "src/tree/a.cc:1: no CMakeLists.txt names this file\n"
            "bench/a.cc:1: no CMakeLists.txt names this file\n"
            "bench/b.h:1: nothing includes this header\n");
}

TEST(TidyRules, FindLinksThatLeadNowhere) {
  const std::vector<SourceFile> pages = {{"a.md", "# A `b` c?\n"},
                                         {"docs/b.md", "## One\n```\n## Two\n```\n## One\n"}};
  const auto says = [&](const std::string& path, const std::string& text) {
    return Joined(CheckLinks({path, text}, pages, [](const std::string& there) {
      return there == "a.md" || there == "docs/b.md" || there == "docs";
    }));
  };
  EXPECT_EQ(says("a.md", "[b](docs/b.md), [all](docs) [x](https://c.md#d)\n"), "");
  EXPECT_EQ(says("docs/b.md", "[a](../a.md#a-b-c) [one](#one) [one](b.md#one-1)\n"), "");
  EXPECT_EQ(says("a.md", "`[x](no.md)`\n```\n[x](no.md)\n```\n"), "");
  EXPECT_EQ(says("a.md", "\n[c](docs/c.md)\n"), "a.md:2: there is no docs/c.md\n");
  EXPECT_EQ(says("a.md", "[`c`](b.md)\n"), "a.md:1: there is no b.md\n");
  EXPECT_EQ(says("docs/b.md", "[a](../a.md#a)\n"), "docs/b.md:1: a.md has no heading for #a\n");
  EXPECT_EQ(says("docs/b.md", "[two](#two)\n"), "docs/b.md:1: docs/b.md has no heading for #two\n");
}

TEST(TidyRules, FindPrivateNamesThatSourcesOfATargetShare) {
  const auto says = [](const std::string& one, const std::string& other) {
    const auto file = [](const std::string& text) {
      return "namespace cairn {\nnamespace {\n" + text +
             "\n}  // namespace\n}  // namespace cairn\n";
    };
    return Joined(CheckPrivateNames(
        {{"src/a/one.cc", file(one)}, {"src/a/other.cc", file(other)}},
        {{"src/a/CMakeLists.txt", "cairn_library(a SOURCES one.cc\n  other.cc DEPENDS b)\n"}}));
  };
  const auto complaint = [](const std::string& name) {
    return "src/a/other.cc:3: cairn::" + name +
           " is private to src/a/one.cc too, of the same target a: rename one, or move what both "
           "share to a header\n";
  };
  EXPECT_EQ(says("constexpr int kA = 1;", "const char kA[] = \"\";"), complaint("kA"));
  EXPECT_EQ(says("void A(int a) {\n}", "int A(const B& b) {"), complaint("A"));
  EXPECT_EQ(says("struct A {\n};", "using A = B;"), complaint("A"));
  EXPECT_EQ(says("using test::A;", "A2 A();"), complaint("A"));
  EXPECT_EQ(says("constexpr int kA = 1;", "  constexpr size_t kA = 2;"), complaint("kA"));
  EXPECT_EQ(says("using test::A;\nusing B = std::vector<int>;",
                 "using test::A;\nusing B = std::vector<int>;"),
            "");
  EXPECT_EQ(says("void A() {\n  constexpr int kA = 1;", "void B() {\n  constexpr int kA = 2;"), "");
  EXPECT_EQ(says("}  // namespace\nvoid A::Do() {\n}\nnamespace {", "void Do() {\n}"), "");
  EXPECT_EQ(Joined(CheckPrivateNames(
                {{"src/a/one.cc", "namespace cairn::one_test {\nnamespace {\nint A() {\n"},
                 {"src/a/other.cc", "namespace cairn {\nnamespace {\nint A() {\n"}},
                {{"src/a/CMakeLists.txt", "cairn_test(a SOURCES one.cc other.cc)"}})),
            "");
}

TEST(TidyRules, FindPrivateNamesThatAHeaderOfTheTargetHasToo) {
  const auto says = [](const std::string& header, const std::string& text) {
    return Joined(CheckPrivateNames(
        {{"src/a/a.h", "namespace cairn {\n" + header + "\n}  // namespace cairn\n"},
         {"src/a/b.h", "#include \"a/a.h\"\n"},
         {"src/a/one.cc", "namespace cairn {\nnamespace {\n" + text + "\n"},
         {"src/a/other.cc", "#include \"a/b.h\"\n"}},
        {{"src/a/CMakeLists.txt", "cairn_library(a SOURCES one.cc other.cc)\n"}}));
  };
  const std::string complaint =
      "src/a/one.cc:3: cairn::A is private, and in src/a/a.h public, which a source of the target "
      "a "
      "includes: rename it\n";
  EXPECT_EQ(says("struct A {\n};", "class A final : public B {"), complaint);
  EXPECT_EQ(says("using A = B;", "int A() {"), complaint);
  EXPECT_EQ(says("class A;", "class A {"), "");
  EXPECT_EQ(says("struct B {\n};", "class A {"), "");
}

TEST(TidyRules, FindNamespacesThatHoldForOtherSourcesOfATargetToo) {
  const auto says = [](const std::string& name_space) {
    return Joined(CheckPrivateNames(
        {{"src/a/one_test.cc",
          "namespace " + name_space + " {\nnamespace {\nusing namespace test;\n"},
         {"src/a/other_test.cc", ""}},
        {{"src/a/CMakeLists.txt", "cairn_test(a SOURCES one_test.cc other_test.cc)\n"}}));
  };
  EXPECT_EQ(says("cairn"),
            "src/a/one_test.cc:3: `using namespace` holds for other sources of the target a too: "
            "give this one a namespace of its own\n");
  EXPECT_EQ(says("cairn::one_test"), "");
}

TEST(TidyRules, FindPrivateNamesThatAUsedNamespaceHasToo) {
  EXPECT_EQ(Joined(CheckPrivateNames(
                {{"testing/a.h", "namespace cairn::test {\nstruct A {\n};\n"},
                 {"src/a/one.cc", "namespace cairn {\nnamespace {\nstruct A {\n"},
                 {"src/a/other.cc",
                  "#include \"testing/a.h\"\nnamespace cairn::other {\nnamespace {\n"
                  "using namespace test;\n"}},
                {{"src/a/CMakeLists.txt", "cairn_test(a SOURCES one.cc other.cc)\n"}})),
            "src/a/one.cc:3: cairn::A is private, and in testing/a.h public, which a source of the "
            "target a includes: rename it\n");
}

TEST(TidyRules, FindRowsWhoseTestsAreNotThere) {
  const std::vector<SourceFile> sources = {
      {"src/a_test.cc", "TEST(A, One) {\n}\nTEST_P(B,\n       Two) {}\n// TEST(A, Three)\n"}};
  const auto says = [&](const std::string& rows) {
    return Joined(CheckNamedTests({"a.md", "| wish | held by |\n| --- | --- |\n" + rows}, sources));
  };
  EXPECT_EQ(says("| x | `A.One`, `B.Two` |\n| `--flag` | not yet |\n"), "");
  EXPECT_EQ(says("| x | `A.One`, `A.Three` |\n"), "a.md:3: no test is A.Three\n");
  EXPECT_EQ(says("| x | `--flag` |\n"),
            "a.md:3: the row names no test and does not say \"not yet\"\n");
  EXPECT_EQ(says("\nWords.\n\n| x | y |\n"), "");
}

}  // namespace
}  // namespace cairn::tidy
