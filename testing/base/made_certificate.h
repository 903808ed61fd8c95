// For tests: generated certificates.

#ifndef CAIRN_TESTING_BASE_MADE_CERTIFICATE_H_
#define CAIRN_TESTING_BASE_MADE_CERTIFICATE_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <string>

#include "base/check.h"

namespace cairn::test {

// In PEM format.
struct MadeCertificate {
  std::string certificate;
  std::string key;
};

inline std::string TakeText(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

// Returns a self-signed certificate for that name, valid for a day.
inline MadeCertificate MakeCertificate(const std::string& name) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  CHECK(key != nullptr && certificate != nullptr);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 24L * 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* const subject = X509_NAME_new();
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_subject_name(certificate, subject);
  X509_set_issuer_name(certificate, subject);
  X509_NAME_free(subject);
  CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
  BIO* const certificate_text = BIO_new(BIO_s_mem());
  BIO* const key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, certificate);
  PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return {TakeText(certificate_text), TakeText(key_text)};
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_BASE_MADE_CERTIFICATE_H_
