// The repository's rules that a compiler does not check. Each returns its complaints, one line
// each: "src/base/hash.cc:12: what is wrong".

#ifndef CAIRN_TESTS_TIDY_RULES_H_
#define CAIRN_TESTS_TIDY_RULES_H_

#include <functional>
#include <string>
#include <vector>

#include "tidy_source.h"

namespace cairn::tidy {

using Complaints = std::vector<std::string>;

// A folder of src/ includes only folders below it, as docs/ARCHITECTURE.md draws them.
Complaints CheckDirection(const SourceFile& file);
// A third-party library is included only where its exceptions and types are confined.
Complaints CheckThirdParty(const SourceFile& file);
// 70 lines a function, 600 a file, 100 columns a line; no white space at the end of a line.
Complaints CheckFunctionLength(const SourceFile& file);
Complaints CheckFileLength(const SourceFile& file);
Complaints CheckLines(const SourceFile& file);
// Only the program prints; all other code returns its messages.
Complaints CheckPrinting(const SourceFile& file);
// A file of src/ that starts a thread also catches what its body throws, by TryWork
// (base/process/threads.h): an exception that leaves a thread ends the process.
Complaints CheckThreads(const SourceFile& file);
// A mutex of src/ and fleet/ is one that clang checks (base/mutex.h), and in the class that has it
// something is GUARDED_BY it, unless a comment there says that it "guards no member", and what for.
Complaints CheckMutexes(const SourceFile& file);
// A text of a request goes through PromptLimits before an engine tokenizes it: only the files of
// src/api that do so, or whose texts are the server's own, call Engine::Tokenize.
Complaints CheckTokenizing(const SourceFile& file);
// A hint at what was meant has one wording: that of DidYouMean (base/nearest_word.h).
Complaints CheckHints(const SourceFile& file);
// A loop over items() names its JSON: the items refer to it, and a loop over a temporary's would
// read what is gone.
Complaints CheckItemLoops(const SourceFile& file);
// No comment leaves work for later.
Complaints CheckUnfinished(const SourceFile& file);
// Identifiers and comments use the field's words: a complaint names an old word of ours with its
// replacement (tidy_words.cc). Literals may have labels of the API; tests are exempt.
Complaints CheckWords(const SourceFile& file);
// The sub-folders of a folder of src/ have an order too, from the lowest floor to the highest
// (tidy_floors.cc), and their files, besides tests, include only what is on their floor or below.
Complaints CheckFloors(const SourceFile& file);
// A unit of src/, a header with its source, of less than 60 lines that one other unit of its folder
// alone includes belongs in that one, unless a file of both would be too long.
Complaints CheckFragments(const std::vector<SourceFile>& files);
// A class has at most 40 methods and 25 fields, and its members are defined in at most two .cc
// files. A folder has at most 25 source files besides its tests. Checks all of src/ and lab/.
Complaints CheckClassMethods(const SourceFile& file);
Complaints CheckClassFields(const SourceFile& file);
Complaints CheckClassFiles(const std::vector<SourceFile>& files);
Complaints CheckFolderSizes(const std::vector<SourceFile>& files);
// A header is guarded by CAIRN_FOLDER_FILE_H_.
Complaints CheckGuard(const SourceFile& file);
// Every .cc of src/ and bench/ is named by a CMakeLists.txt of its folder or one above, every
// header by one or by an include. `files` are all sources, `cmake_files` all CMakeLists.txt.
Complaints CheckDeadFiles(const std::vector<SourceFile>& files,
                          const std::vector<SourceFile>& cmake_files);
// No two sources of one CMake target define the same private name, for both may be compiled in one
// object (cmake/Unity.cmake); nor does a constant in a function have the name of another's private
// one. Relies on clang-format.
Complaints CheckPrivateNames(const std::vector<SourceFile>& files,
                             const std::vector<SourceFile>& cmake_files);
// Every row of a table whose last column is headed "held by" names a test in backquotes, or says
// "not yet"; every named test ("Suite.Name") exists in one of `sources`.
Complaints CheckNamedTests(const SourceFile& page, const std::vector<SourceFile>& sources);
// Every link of a page to a file of the repository has a target, and a link to a heading a heading.
// `pages` are all pages; `is_there` returns whether a path in the repository is a file or folder.
// Links in code are not checked.
Complaints CheckLinks(const SourceFile& page, const std::vector<SourceFile>& pages,
                      const std::function<bool(const std::string& path)>& is_there);

}  // namespace cairn::tidy

#endif  // CAIRN_TESTS_TIDY_RULES_H_
