/* Numbers side by side, as many as a register of this processor holds (vector extensions of GCC, which clang has). */

#pragma once

#include <stdint.h>
#include <string.h>

#ifdef __AVX512F__
#include <immintrin.h>
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4 /* SSE2, NEON and others */
#endif

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));
typedef float loose __attribute__((vector_size(4 * LANES), aligned(4), may_alias)); /* lanes anywhere in memory */

/* As many of the lanes as are left in the row. */
static inline lanes load(const float *from, int64_t left) {
    if (left >= LANES) return *(const loose *)from;
    lanes x = {0};
    memcpy(&x, from, 4 * left);
    return x;
}

static inline void store(float *to, lanes x, int64_t left) {
    if (left >= LANES) *(loose *)to = x;
    else memcpy(to, &x, 4 * left);
}

static inline lanes choose(ints where, lanes x, lanes y) { return (lanes)((where & (ints)x) | (~where & (ints)y)); }

#if LANES == 16
static inline lanes within(lanes least, lanes x, lanes most) { return _mm512_max_ps(least, _mm512_min_ps(most, x)); }
static inline lanes times_power_of_2(lanes x, lanes n) { return _mm512_scalef_ps(x, n); }

/* 1 / x, to a unit in the last place, of what is finite. */
static inline lanes inverse(lanes x) {
    lanes y = _mm512_rcp14_ps(x);
    return y * (2.f - x * y);
}
#else
/* x if it is not a number. */
static inline lanes within(lanes least, lanes x, lanes most) {
    x = choose(x > most, most, x);
    return choose(x < least, least, x);
}

static inline lanes times_power_of_2(lanes x, lanes n) {
    return x * (lanes)((__builtin_convertvector(n, ints) + 127) << 23);
}

static inline lanes inverse(lanes x) { return 1.f / x; }
#endif

/* 2^n times a polynomial (Chebyshev's, off by 1e-8) on [-ln 2 / 2, ln 2 / 2]; to 2 units in the last place, not a
   number if x is not. */
static inline lanes exponential(lanes x) {
    x = within((lanes){0} - 87.f, x, (lanes){0} + 88.f);
    lanes n = (x * 1.44269504f + 12582912.f) - 12582912.f; /* to the nearest integer */
    lanes r = x - n * 0.693359375f + n * 2.12194440e-4f;
    lanes square = r * r; /* few steps that wait for each other */
    lanes p = (4.1666465e-2f + 8.3632055e-3f * r) + 1.3933688e-3f * square;
    p = (5.0000000e-1f + 1.6666577e-1f * r) + square * p;
    p = p * square + (1.f + r);
    return times_power_of_2(p, n);
}
