#include "spool_crc32c.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define HAS_INSTRUCTION 1
#define HAS_PRODUCTS 1
#define PRODUCTS_TARGET __attribute__((target("avx512f,vpclmulqdq,sse4.2")))
#define INSTRUCTION_TARGET __attribute__((target("sse4.2")))
#elif defined(__aarch64__)
#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#define HAS_INSTRUCTION 1
#define INSTRUCTION_TARGET __attribute__((target("crc")))
#endif

// A check is a polynomial over GF(2) modulo P, with its highest power in the lowest bit. P without
// its x^32:
static const uint32_t polynomial = 0x82F63B78;

// The polynomials 1 and x.
static const uint32_t one = 0x80000000;
static const uint32_t x = one >> 1;

// a * b modulo P.
static uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = one; bit != 0; bit >>= 1) {
        if (a & bit) product ^= b;
        b = b & 1 ? b >> 1 ^ polynomial : b >> 1;
    }
    return product;
}

// base^exponent modulo P.
static uint32_t raise(uint32_t base, uint64_t exponent) {
    uint32_t result = one;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1) result = multiply(result, base);
        base = multiply(base, base);
    }
    return result;
}

// x^(8 * count) modulo P: the factor of a check that `count` zero bytes follow.
static uint32_t shift_by_bytes(uint64_t count) { return raise(one >> 8, count); }

// MARK: By table

// Each step takes eight bytes: table[k][b] is the check of the byte b followed by k zero bytes.
static uint32_t table[8][256];

static void fill_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t check = byte;
        for (int bit = 0; bit < 8; bit++) check = check & 1 ? check >> 1 ^ polynomial : check >> 1;
        table[0][byte] = check;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        for (int k = 1; k < 8; k++) table[k][byte] = table[0][table[k - 1][byte] & 0xFF] ^ table[k - 1][byte] >> 8;
    }
}

static uint64_t little_endian(const uint8_t *bytes) {
    uint64_t word = 0;
    for (int k = 7; k >= 0; k--) word = word << 8 | bytes[k];
    return word;
}

static uint32_t by_table(uint32_t check, const void *bytes, size_t count) {
    static pthread_once_t filled = PTHREAD_ONCE_INIT;
    pthread_once(&filled, fill_table);
    const uint8_t *next = bytes;
    check = ~check;
    for (; count >= 8; next += 8, count -= 8) {
        uint64_t word = little_endian(next) ^ check;
        check = 0;
        for (int k = 0; k < 8; k++) check ^= table[7 - k][word >> (8 * k) & 0xFF];
    }
    for (; count > 0; next++, count--) check = table[0][(check ^ *next) & 0xFF] ^ check >> 8;
    return ~check;
}

// MARK: By instruction

#ifdef HAS_INSTRUCTION

// The instruction takes three cycles, and a new one can begin in each cycle, so three lanes run
// side by side. Three lanes and 16 bytes are a block of 64 KiB.
enum { LANE = 21840 };

static uint32_t lane_shift, two_lanes_shift;

INSTRUCTION_TARGET static inline uint64_t step8(uint64_t check, const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if defined(__x86_64__)
    return _mm_crc32_u64(check, word);
#else
    return __crc32cd((uint32_t)check, word);
#endif
}

INSTRUCTION_TARGET static inline uint32_t step1(uint32_t check, uint8_t byte) {
#if defined(__x86_64__)
    return _mm_crc32_u8(check, byte);
#else
    return __crc32cb(check, byte);
#endif
}

INSTRUCTION_TARGET static uint32_t by_instruction(uint32_t check, const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    check = ~check;
    for (; count >= 3 * LANE; next += 3 * LANE, count -= 3 * LANE) {
        uint64_t a = check, b = 0, c = 0;
        for (size_t at = 0; at < LANE; at += 8) {
            a = step8(a, next + at);
            b = step8(b, next + LANE + at);
            c = step8(c, next + 2 * LANE + at);
        }
        check = multiply((uint32_t)a, two_lanes_shift) ^ multiply((uint32_t)b, lane_shift) ^ (uint32_t)c;
    }
    uint64_t wide = check;
    for (; count >= 8; next += 8, count -= 8) wide = step8(wide, next);
    check = (uint32_t)wide;
    for (; count > 0; next++, count--) check = step1(check, *next);
    return ~check;
}

static int has_instruction(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2) != 0;
#elif defined(__linux__)
    // HWCAP_CRC32 of the kernel's asm/hwcap.h.
    return (getauxval(AT_HWCAP) & 1 << 7) != 0;
#else
    // Every 64-bit CPU of Apple's supported systems has the instruction.
    return 1;
#endif
}

#endif

// MARK: By products

#ifdef HAS_PRODUCTS

// Four registers of 64 bytes; each is four lanes of 16. A step moves every lane 256 bytes forward
// by a multiplication modulo P, and adds the bytes at that place. The sum has the same check as all
// bytes before it.
enum { REGISTER = 64, STEP = 4 * REGISTER };
// The instruction processes shorter runs, because they have no complete step.
enum { LEAST_FOR_PRODUCTS = 2 * STEP };

// A lane is a polynomial of two halves of 64 bits, with its highest power in the lowest bit of the
// first: first * x^64 + second. Times x^bits it is first * x^(bits + 64) + second * x^bits. A
// carry-less product of two such halves is multiplied by x, so the factors have one power less.
struct factors {
    uint64_t first, second;
};

static struct factors step_factors, register_factors;

static struct factors factors_for(uint64_t bytes) {
    return (struct factors){(uint64_t)raise(x, 8 * bytes + 63) << 32, (uint64_t)raise(x, 8 * bytes - 1) << 32};
}

PRODUCTS_TARGET static inline __m512i in_every_lane(struct factors factors) {
    return _mm512_set_epi64(
        (int64_t)factors.second, (int64_t)factors.first, (int64_t)factors.second, (int64_t)factors.first,
        (int64_t)factors.second, (int64_t)factors.first, (int64_t)factors.second, (int64_t)factors.first);
}

// Moves the lanes of `folded` forward by the number of bytes that `factors` are for, and adds the
// bytes at that place.
PRODUCTS_TARGET static inline __m512i fold(__m512i folded, __m512i factors, __m512i bytes) {
    __m512i first = _mm512_clmulepi64_epi128(folded, factors, 0x00), second = _mm512_clmulepi64_epi128(folded, factors, 0x11);
    return _mm512_xor_si512(_mm512_xor_si512(first, second), bytes);
}

PRODUCTS_TARGET static uint32_t by_products(uint32_t check, const void *bytes, size_t count) {
    if (count < LEAST_FOR_PRODUCTS) return by_instruction(check, bytes, count);
    const uint8_t *next = bytes;
    __m512i folded[4];
    for (int k = 0; k < 4; k++) folded[k] = _mm512_loadu_si512(next + k * REGISTER);
    // The check of the preceding bytes is added to the first four bytes.
    folded[0] = _mm512_xor_si512(folded[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int32_t)~check)));
    next += STEP, count -= STEP;

    __m512i factors = in_every_lane(step_factors);
    for (; count >= STEP; next += STEP, count -= STEP) {
        for (int k = 0; k < 4; k++) folded[k] = fold(folded[k], factors, _mm512_loadu_si512(next + k * REGISTER));
    }
    factors = in_every_lane(register_factors);
    for (int k = 1; k < 4; k++) folded[k] = fold(folded[k - 1], factors, folded[k]);

    uint8_t last[REGISTER];
    _mm512_storeu_si512(last, folded[3]);
    // These bytes already include all preceding ones. by_instruction inverts its argument and its
    // result.
    return by_instruction(by_instruction(~(uint32_t)0, last, sizeof last), next, count);
}

static int has_products(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}

#endif

// MARK: Choice of the method

static int32_t best = SPOOL_CRC32C_TABLE;
static pthread_once_t is_chosen = PTHREAD_ONCE_INIT;

static void choose(void) {
#ifdef HAS_INSTRUCTION
    if (!has_instruction()) return;
    lane_shift = shift_by_bytes(LANE);
    two_lanes_shift = shift_by_bytes(2 * LANE);
    best = SPOOL_CRC32C_INSTRUCTION;
#endif
#ifdef HAS_PRODUCTS
    if (!has_products()) return;
    step_factors = factors_for(STEP);
    register_factors = factors_for(REGISTER);
    best = SPOOL_CRC32C_PRODUCTS;
#endif
}

int32_t spool_crc32c_best(void) {
    pthread_once(&is_chosen, choose);
    return best;
}

uint32_t spool_crc32c_by(int32_t method, uint32_t check, const void *bytes, size_t count) {
    int32_t best = spool_crc32c_best();
    switch (method < best ? method : best) {
#ifdef HAS_PRODUCTS
    case SPOOL_CRC32C_PRODUCTS: return by_products(check, bytes, count);
#endif
#ifdef HAS_INSTRUCTION
    case SPOOL_CRC32C_INSTRUCTION: return by_instruction(check, bytes, count);
#endif
    default: return by_table(check, bytes, count);
    }
}

uint32_t spool_crc32c(uint32_t check, const void *bytes, size_t count) {
    return spool_crc32c_by(spool_crc32c_best(), check, bytes, count);
}

uint32_t spool_crc32c_combine(uint32_t first, uint32_t second, uint64_t second_count) {
    return multiply(first, shift_by_bytes(second_count)) ^ second;
}
