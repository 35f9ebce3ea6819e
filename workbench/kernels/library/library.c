/* Which level of the kernels this processor can run: 3 and 2 are x86-64-v3 and -v2 of the psABI, 8 is ARMv8 with
   CRC instructions, 0 is none. Compiled for the oldest processors, so that any can ask. */

#if defined(__x86_64__)

#include <cpuid.h>

static int has(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }

int kernel_level(void) {
    unsigned a, b, c, d, extended, leaf7 = 0, saved, high;
    const unsigned v2 = bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT;
    const unsigned v3 = bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C;
    if (!__get_cpuid(0x80000001, &a, &b, &extended, &d) || !__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (!has(c, v2) || !has(extended, bit_LAHF_LM)) return 0;
    if (!has(c, v3) || !has(extended, bit_ABM)) return 2;
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if (!has(saved, 6)) return 2; /* the system does not save AVX's registers */
    if (!__get_cpuid_count(7, 0, &a, &leaf7, &c, &d)) return 2;
    return has(leaf7, bit_BMI | bit_AVX2 | bit_BMI2) ? 3 : 2;
}

#elif defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

int kernel_level(void) { return getauxval(AT_HWCAP) & (1 << 7) ? 8 : 0; } /* HWCAP_CRC32 */

#else

int kernel_level(void) { return 8; } /* every Mac with a processor of Apple's */

#endif
