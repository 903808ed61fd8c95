// Identity: the text that a fingerprint is the hash of (from Engine::StateIdentity). It is stored
// in the fingerprint's folder, so that a person can see which model the objects belong to.
//
//   DIR/<fingerprint>/identity.txt
//
// Nothing depends on this file: the folder works without it.
//
// Threads: any.

#ifndef CAIRN_STORE_FOLDER_IDENTITY_H_
#define CAIRN_STORE_FOLDER_IDENTITY_H_

#include <string>
#include <string_view>

#include "base/fs.h"
#include "store/object.h"

namespace cairn {

inline constexpr std::string_view kIdentityFile = "identity.txt";

Fingerprint FingerprintOf(std::string_view identity);

// Writes the file, and creates its folders, unless it exists. `folder` is DIR. Returns the errors
// of Fs.
Status WriteIdentity(Fs* fs, const std::string& folder, std::string_view identity);

// `model` is the fingerprint as text. Returns kNotFound if there is no file, and kCorrupt if its
// text does not hash to this fingerprint.
Result<std::string> ReadIdentity(const Fs& fs, const std::string& folder, const std::string& model);

}  // namespace cairn

#endif  // CAIRN_STORE_FOLDER_IDENTITY_H_
