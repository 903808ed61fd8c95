// The repository's rules that a compiler does not hold. Each returns its complaints, one line each:
// "src/base/hash.cc:12: what is wrong".

#ifndef CAIRN_TESTS_TIDY_RULES_H_
#define CAIRN_TESTS_TIDY_RULES_H_

#include <string>
#include <vector>

#include "tidy_source.h"

namespace cairn::tidy {

using Complaints = std::vector<std::string>;

// A folder of src/ includes only folders below it, as docs/ARCHITECTURE.md draws them.
Complaints CheckDirection(const SourceFile& file);
// A third-party library is included only where its exceptions and types are kept in.
Complaints CheckThirdParty(const SourceFile& file);
// 70 lines a function, 600 a file, 100 columns a line; no white space at the end of a line.
Complaints CheckFunctionLength(const SourceFile& file);
Complaints CheckFileLength(const SourceFile& file);
Complaints CheckLines(const SourceFile& file);
// Only the program prints; everything else returns what it has to say.
Complaints CheckPrinting(const SourceFile& file);
// Nothing is left for later in a comment.
Complaints CheckUnfinished(const SourceFile& file);
// A header is guarded by CAIRN_FOLDER_FILE_H_.
Complaints CheckGuard(const SourceFile& file);
// Every .cc of src/ and bench/ is named by a CMakeLists.txt of its folder or one above, every
// header by one or by an include. `files` are all sources, `cmake_files` all CMakeLists.txt.
Complaints CheckDeadFiles(const std::vector<SourceFile>& files,
                          const std::vector<SourceFile>& cmake_files);
// Every row of a table whose last column is headed "held by" names a test in backquotes, or says
// "not yet"; every test that is named ("Suite.Name") stands in one of `sources`.
Complaints CheckNamedTests(const SourceFile& page, const std::vector<SourceFile>& sources);

}  // namespace cairn::tidy

#endif  // CAIRN_TESTS_TIDY_RULES_H_
