// Identity: the text behind a fingerprint (Engine::StateIdentity gives it), kept in the folder of
// the objects that it is of, so that somebody who looks there learns which model they belong to.
//
//   DIR/<fingerprint>/identity.txt
//
// Nothing depends on the file: without it the folder serves as well.
//
// Threads: any.

#ifndef CAIRN_STORE_IDENTITY_H_
#define CAIRN_STORE_IDENTITY_H_

#include <string>
#include <string_view>

#include "base/fs.h"
#include "store/object.h"

namespace cairn {

inline constexpr std::string_view kIdentityFile = "identity.txt";

Fingerprint FingerprintOf(std::string_view identity);

// Writes the file, with its folders, unless it is there. `folder`: DIR. Errors as Fs's.
Status WriteIdentity(Fs* fs, const std::string& folder, std::string_view identity);

// `model`: the fingerprint as text. kNotFound: there is none. kCorrupt: it is not the text of this
// fingerprint.
Result<std::string> ReadIdentity(const Fs& fs, const std::string& folder, const std::string& model);

}  // namespace cairn

#endif  // CAIRN_STORE_IDENTITY_H_
