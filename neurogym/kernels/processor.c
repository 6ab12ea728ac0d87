/* The best variant for this processor, as far as processor and operating system support its registers. */

const char *processor(void);

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>
#include <stdint.h>

/* Registers that the operating system keeps for each process (XCR0). */
static uint64_t kept_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

const char *processor(void) {
    enum { OSXSAVE = 1 << 27, FMA = 1 << 12, AVX = 1 << 28 };                        /* leaf 1, ecx */
    enum { BMI1 = 1 << 3, AVX2 = 1 << 5, BMI2 = 1 << 8, AVX512F = 1 << 16, AVX512DQ = 1 << 17, AVX512CD = 1 << 28,
           AVX512BW = 1 << 30 };                                                     /* leaf 7, ebx */
    const unsigned avx512vl = 1u << 31, first = OSXSAVE | FMA | AVX, second = BMI1 | AVX2 | BMI2;
    const unsigned third = AVX512F | AVX512DQ | AVX512CD | AVX512BW | avx512vl;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & first) != first) return "baseline";
    uint64_t kept = kept_registers();
    if ((kept & 0x06) != 0x06 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & second) != second) return "baseline";
    return (kept & 0xe6) == 0xe6 && (b & third) == third ? "avx512" : "avx2";
}
#elif defined(__aarch64__) || defined(_M_ARM64)
const char *processor(void) { return "neon"; }
#else
const char *processor(void) { return "baseline"; }
#endif
