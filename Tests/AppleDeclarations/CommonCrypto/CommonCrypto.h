// The C declarations of CommonCrypto that Spool uses.
#pragma once
#include <stddef.h>
#include <stdint.h>
enum { kCCSuccess = 0 };
enum { kCCPBKDF2 = 2 };
enum { kCCPRFHmacAlgSHA256 = 3 };
typedef uint32_t CCPBKDFAlgorithm;
typedef uint32_t CCPseudoRandomAlgorithm;
int CCKeyDerivationPBKDF(CCPBKDFAlgorithm algorithm, const char *password, size_t passwordLen, const uint8_t *salt, size_t saltLen,
                         CCPseudoRandomAlgorithm prf, unsigned rounds, uint8_t *derivedKey, size_t derivedKeyLen);
