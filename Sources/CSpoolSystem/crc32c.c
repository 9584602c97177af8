#include "spool_crc32c.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#define HAS_INSTRUCTION 1
#define INSTRUCTION_TARGET __attribute__((target("sse4.2")))
#define INSTRUCTION_NAME "sse4.2"
#elif defined(__aarch64__)
#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#define HAS_INSTRUCTION 1
#define INSTRUCTION_TARGET __attribute__((target("crc")))
#define INSTRUCTION_NAME "armv8"
#endif

// A check is a polynomial over GF(2) modulo P, its highest power in the lowest bit. P without its x^32:
static const uint32_t polynomial = 0x82F63B78;

// The polynomial 1.
static const uint32_t one = 0x80000000;

// a * b modulo P.
static uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = one; bit != 0; bit >>= 1) {
        if (a & bit) product ^= b;
        b = b & 1 ? b >> 1 ^ polynomial : b >> 1;
    }
    return product;
}

// x^(8 * count) modulo P: by what a check is multiplied when so many zero bytes follow.
static uint32_t shift_by_bytes(uint64_t count) {
    uint32_t result = one;
    uint32_t power = one >> 8;
    for (; count != 0; count >>= 1) {
        if (count & 1) result = multiply(result, power);
        power = multiply(power, power);
    }
    return result;
}

// MARK: By table

// Eight bytes a step: table[k][b] is the check of the byte b with k zero bytes behind it.
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

uint32_t spool_crc32c_by_table(uint32_t check, const void *bytes, size_t count) {
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

// The instruction takes three cycles and can begin in each, so three lanes run side by side. Three of these and 16 bytes
// are a block of 64 KiB.
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
    // Every 64-bit CPU that Apple's supported systems run on has it.
    return 1;
#endif
}

#endif

// MARK: Which

typedef uint32_t (*method)(uint32_t, const void *, size_t);
static method chosen = spool_crc32c_by_table;
static const char *chosen_name = "table";
static pthread_once_t is_chosen = PTHREAD_ONCE_INIT;

static void choose(void) {
#ifdef HAS_INSTRUCTION
    if (!has_instruction()) return;
    lane_shift = shift_by_bytes(LANE);
    two_lanes_shift = shift_by_bytes(2 * LANE);
    chosen = by_instruction;
    chosen_name = INSTRUCTION_NAME;
#endif
}

uint32_t spool_crc32c(uint32_t check, const void *bytes, size_t count) {
    pthread_once(&is_chosen, choose);
    return chosen(check, bytes, count);
}

const char *spool_crc32c_method(void) {
    pthread_once(&is_chosen, choose);
    return chosen_name;
}

uint32_t spool_crc32c_combine(uint32_t first, uint32_t second, uint64_t second_count) {
    return multiply(first, shift_by_bytes(second_count)) ^ second;
}
