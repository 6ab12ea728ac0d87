/* Products of small matrices, float32 and C-contiguous, in one thread.

   They work on tiles of 6 rows and two registers, or 12 rows where registers are many (AVX-512, NEON), that stay in
   registers. The right-hand matrix is packed into panels of as many columns first, so that it is read in order. */

#pragma once

#include "lanes.h"

#if LANES == 16 || defined(__aarch64__)
#define TALL 12
#else
#define TALL 6
#endif
#define WIDTH (2 * LANES)

/* Numbers in the panels of a matrix (depth, columns). */
static inline int64_t packed_size(int64_t depth, int64_t columns) {
    return depth * ((columns + WIDTH - 1) / WIDTH * WIDTH);
}

/* Panels of the matrix (depth, columns) with element (k, j) at from[k * down + j * across]; zeros fill the last. */
static inline void pack(const float *from, int64_t down, int64_t across, int64_t depth, int64_t columns,
                        float *panels) {
    for (int64_t j = 0; j < columns; j += WIDTH)
        for (int64_t k = 0; k < depth; k++)
            for (int64_t i = j; i < j + WIDTH; i++) *panels++ = i < columns ? from[k * down + i * across] : 0;
}

/* c (R, WIDTH) = a (R, depth) times b (depth, WIDTH), added to what is there if asked; neighbours in a row of a are
   `next` apart, rows are as far as said. */
#define TILE(R)                                                                                                        \
    static inline void tile##R(const float *a, int64_t a_row, int64_t next, int64_t depth, const float *b,             \
                               int64_t b_row, float *c, int64_t c_row, int add) {                                      \
        lanes left[R], right[R];                                                                                       \
        for (int64_t r = 0; r < R; r++) {                                                                              \
            left[r] = right[r] = (lanes){0};                                                                           \
            if (add) left[r] = *(const loose *)(c + r * c_row), right[r] = *(const loose *)(c + r * c_row + LANES);    \
        }                                                                                                              \
        for (int64_t k = 0; k < depth; k++, a += next, b += b_row) {                                                   \
            lanes first = *(const loose *)b, second = *(const loose *)(b + LANES);                                     \
            for (int64_t r = 0; r < R; r++) {                                                                          \
                left[r] += a[r * a_row] * first;                                                                       \
                right[r] += a[r * a_row] * second;                                                                     \
            }                                                                                                          \
        }                                                                                                              \
        for (int64_t r = 0; r < R; r++) {                                                                              \
            *(loose *)(c + r * c_row) = left[r];                                                                       \
            *(loose *)(c + r * c_row + LANES) = right[r];                                                              \
        }                                                                                                              \
    }
TILE(1)
TILE(2)
TILE(4)
TILE(6)
#if TALL == 12
TILE(8)
TILE(12)
#endif

/* The same for n rows. */
static inline void strip(const float *a, int64_t a_row, int64_t next, int64_t n, int64_t depth, const float *b,
                         int64_t b_row, float *c, int64_t c_row, int add) {
    int64_t r = 0;
#define TILES(R)                                                                                                       \
    for (; r + R <= n; r += R) tile##R(a + r * a_row, a_row, next, depth, b, b_row, c + r * c_row, c_row, add)
#if TALL == 12
    TILES(12);
    TILES(8);
#endif
    TILES(6);
    TILES(4);
    TILES(2);
    TILES(1);
}

/* c (n, columns) = a (n, depth) times the packed matrix (depth, columns), added to what is there if asked. */
static inline void multiply(const float *a, int64_t n, int64_t depth, const float *panels, float *c, int64_t columns,
                            int add) {
    int64_t whole = columns - columns % WIDTH, rest = columns - whole;
    for (int64_t j = 0; j < whole; j += WIDTH, panels += depth * WIDTH)
        strip(a, depth, 1, n, depth, panels, WIDTH, c + j, columns, add);
    for (int64_t r = 0; rest && r < n; r += TALL) {
        int64_t some = n - r < TALL ? n - r : TALL;
        float edge[TALL * WIDTH] = {0};
        for (int64_t i = 0; add && i < some; i++) memcpy(edge + i * WIDTH, c + (r + i) * columns + whole, 4 * rest);
        strip(a + r * depth, depth, 1, some, depth, panels, WIDTH, edge, WIDTH, add);
        for (int64_t i = 0; i < some; i++) memcpy(c + (r + i) * columns + whole, edge + i * WIDTH, 4 * rest);
    }
}
