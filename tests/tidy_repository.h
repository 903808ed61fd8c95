// The repository as the tidy tests see it, and what they do with complaints about it.

#ifndef CAIRN_TESTS_TIDY_REPOSITORY_H_
#define CAIRN_TESTS_TIDY_REPOSITORY_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tidy_rules.h"

namespace cairn::tidy {

SourceFile Read(const std::filesystem::path& root, const std::filesystem::path& path);

// Loads all files of the repository that are ours and that `wanted` accepts.
std::vector<SourceFile> Load(const std::function<bool(const std::filesystem::path&)>& wanted);

// Returns all .cc and .h files.
const std::vector<SourceFile>& Sources();

std::string Joined(const Complaints& complaints);

// Returns the complaints of a rule about the whole repository.
std::string OfAll(Complaints (*rule)(const SourceFile&));

// Removes the complaints about known exceptions. An exception without a complaint is an error.
std::string Without(std::string complaints, const std::vector<std::string>& known);

}  // namespace cairn::tidy

#endif  // CAIRN_TESTS_TIDY_REPOSITORY_H_
