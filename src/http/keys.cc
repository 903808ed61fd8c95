#include "http/keys.h"

#include <algorithm>
#include <cstddef>

#include "base/hash.h"
#include "base/text.h"
#include "http/router.h"

namespace cairn {
namespace {

Status CheckText(const std::string& key) {
  if (key.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "an API key is empty; give --api-key a value");
  }
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 127; });
  if (!plain) {
    return Fail(ErrorCode::kInvalidArgument,
                "an API key has spaces or non-ASCII bytes, which HTTP headers cannot carry; use "
                "printable ASCII");
  }
  // The HTTP library decodes that sequence as well; no key needs it.
  if (key.find("%u") != std::string::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                "an API key contains \"%u\", which is reserved; use another key");
  }
  return {};
}

bool Has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

std::vector<std::string> AllOf(const ApiKeys::Texts& texts) {
  std::vector<std::string> all = texts.keys;
  all.insert(all.end(), texts.admins.begin(), texts.admins.end());
  return all;
}

}  // namespace

bool ConstantTimeEquals(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  // Volatile keeps the compiler from leaving the loop at the first difference.
  volatile uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<uint8_t>(difference |
                                      (static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i])));
  }
  return difference == 0;
}

Result<std::shared_ptr<ApiKeys>> ApiKeys::Make(const Texts& texts) {
  auto made = std::make_shared<ApiKeys>();
  if (Status replaced = made->Replace(texts); !replaced) return tl::unexpected(replaced.error());
  return made;
}

Status ApiKeys::Know(const Texts& texts) {
  const MutexLock lock(mutex_);
  return KnowLocked(AllOf(texts));
}

Status ApiKeys::KnowLocked(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (Status checked = CheckText(key); !checked) return checked;
  }
  for (const std::string& key : keys) {
    const uint64_t name = Hash64("cairn key " + key);
    const std::string shown = PercentDecode(key);
    const auto same = std::find_if(keys_.begin(), keys_.end(), [&](const Key& known) {
      return known.known.saved_name == name || known.shown == shown;
    });
    if (same == keys_.end() && keys_.size() + 1 >= kApiKeysMax) {
      return Fail(ErrorCode::kInvalidArgument,
                  "there are more than " + std::to_string(kApiKeysMax - 1) + " API keys");
    }
    if (same == keys_.end() && name != 0) {
      keys_.push_back({{static_cast<Number>(keys_.size() + 1), key, name}, shown, false});
    } else if (same == keys_.end() || same->known.text != key) {
      return Fail(ErrorCode::kInvalidArgument,
                  "two API keys have the same hash; change one of them");
    }
  }
  return {};
}

Status ApiKeys::Replace(const Texts& texts) {
  const std::vector<std::string> all = AllOf(texts);
  const MutexLock lock(mutex_);
  if (Status known = KnowLocked(all); !known) return known;
  for (Key& key : keys_) {
    key.valid = Has(all, key.known.text);
    key.is_admin = Has(texts.admins, key.known.text);
  }
  return {};
}

ApiKeys::Number ApiKeys::Match(std::string_view given) const {
  const MutexLock lock(mutex_);
  Number match = 0;
  for (const Key& key : keys_) {
    const bool equal = ConstantTimeEquals(key.shown, given);
    if (equal && key.valid) match = key.known.number;
  }
  return match;
}

bool ApiKeys::IsAdmin(Number number) const {
  const MutexLock lock(mutex_);
  return number > 0 && number <= keys_.size() && keys_[number - 1].is_admin;
}

bool ApiKeys::IsAdminOrOnly(Number number) const {
  if (IsAdmin(number)) return true;
  const MutexLock lock(mutex_);
  if (number == 0 || number > keys_.size() || !keys_[number - 1].valid) return false;
  return std::count_if(keys_.begin(), keys_.end(), [](const Key& key) { return key.valid; }) == 1;
}

bool ApiKeys::has_admin() const {
  const MutexLock lock(mutex_);
  return std::any_of(keys_.begin(), keys_.end(), [](const Key& key) { return key.is_admin; });
}

std::string ApiKeys::AnyText() const {
  const MutexLock lock(mutex_);
  std::string text;
  for (const Key& key : keys_) {
    if (key.is_admin) return key.known.text;
    if (key.valid && text.empty()) text = key.known.text;
  }
  return text;
}

size_t ApiKeys::size() const {
  const MutexLock lock(mutex_);
  return static_cast<size_t>(
      std::count_if(keys_.begin(), keys_.end(), [](const Key& key) { return key.valid; }));
}

std::vector<ApiKeys::Known> ApiKeys::known() const {
  const MutexLock lock(mutex_);
  std::vector<Known> known;
  for (const Key& key : keys_) known.push_back(key.known);
  return known;
}

std::string_view BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (!SameIgnoringCase(authorization.substr(0, kScheme.size()), kScheme)) return {};
  authorization.remove_prefix(kScheme.size());
  while (!authorization.empty() && authorization.front() == ' ') authorization.remove_prefix(1);
  return authorization;
}

std::shared_ptr<void> KeyLoad::Enter(ApiKeys::Number key, size_t max) {
  const MutexLock lock(counts_->mutex);
  size_t& at_work = counts_->at_work[key];
  if (max > 0 && at_work >= max) return nullptr;
  ++at_work;
  return {counts_.get(), [counts = counts_, key](void*) {
            const MutexLock leaving(counts->mutex);
            --counts->at_work[key];
          }};
}

}  // namespace cairn
