#include "cmd/version_text.h"

#include "engine/llama/backend/llama_backend.h"
#include "routes/page.h"

namespace cairn {
namespace {

std::string Compiler() {
#ifdef __clang__
  return __VERSION__;  // it names itself
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

std::string VersionText() {
  return "cairn " CAIRN_VERSION "\n" + LlamaVersions() + "\nbuilt with " + Compiler() +
         (BuiltPage().empty() ? ", without the page" : ", with the page");
}

}  // namespace cairn
