/* The time loops of the recurrent networks over packed sequences, forward and backward, in one thread.

   Arrays are float32 and C-contiguous: (step, ...), first the first step of every sequence, then the second of all that
   have one, and so on; the longest sequences come first. At each step a cell multiplies the rows [h, x, 1] by the
   weights (gate, unit; row), and its own few lines make the new h of the products.

   The product works on tiles of 6 rows and 16 columns that stay in registers, or 12 and 32 where registers are many and
   wide (AVX-512). The weights are packed into panels of as many columns first, so that they are read in order. */

#include "lanes.h"

#if LANES == 16
#define TALL 12
#else
#define TALL 6
#endif
#define WIDTH (2 * LANES)

enum { LSTM, GRU, TANH, RELU };
static const long GATES[] = {4, 4, 1, 1};

struct loop {
    int64_t cell, times, features, units;
    const int64_t *counts;   /* (time): sequences that have this step */
    float alpha;             /* TANH, RELU: how far h goes towards its new value */
    const float *x;          /* (step, feature) */
    const float *noise;      /* (step, gate * unit), added to the products; or null */
    const float *weight;     /* (gate * unit, unit + feature + 1); null if the panels hold it already */
    const float *h0, *c0;    /* (sequence, unit) */
    float *rows;             /* (step, unit + feature + 1): [h before, x, 1] */
    float *gates;            /* (step, gate * unit): values of the gates; backward makes them their gradients */
    float *c, *squashed;     /* (step, unit), LSTM: c, tanh(c) */
    float *h;                /* (step, unit) */
    float *panels;           /* packed weights */
    const float *dh, *dc;    /* (step, unit): given gradients of h and c; dc may be null */
    float *dh0, *dc0;        /* (sequence, unit): zeros, become gradients of h0 and c0 */
    int64_t h0_fixed;        /* not 0: its gradient is not asked for */
};

/* -- products ------------------------------------------------------------------------------------------------------ */

/* Panels of the matrix (depth, columns) with element (k, j) at from[k * down + j * across]; zeros fill the last. */
static void pack(const float *from, long down, long across, long depth, long columns, float *panels) {
    for (long j = 0; j < columns; j += WIDTH)
        for (long k = 0; k < depth; k++)
            for (long i = j; i < j + WIDTH; i++) *panels++ = i < columns ? from[k * down + i * across] : 0;
}

/* c (R, WIDTH) = a (R, depth) times b (depth, WIDTH), added to what is there if asked; neighbours in a row of a are
   `next` apart, rows are as far as said. */
#define TILE(R)                                                                                                        \
    static inline void tile##R(const float *a, long a_row, long next, long depth, const float *b, long b_row,          \
                               float *c, long c_row, int add) {                                                        \
        lanes left[R], right[R];                                                                                       \
        for (long r = 0; r < R; r++) {                                                                                 \
            left[r] = right[r] = (lanes){0};                                                                           \
            if (add) left[r] = *(const loose *)(c + r * c_row), right[r] = *(const loose *)(c + r * c_row + LANES);    \
        }                                                                                                              \
        for (long k = 0; k < depth; k++, a += next, b += b_row) {                                                      \
            lanes first = *(const loose *)b, second = *(const loose *)(b + LANES);                                     \
            for (long r = 0; r < R; r++) {                                                                             \
                left[r] += a[r * a_row] * first;                                                                       \
                right[r] += a[r * a_row] * second;                                                                     \
            }                                                                                                          \
        }                                                                                                              \
        for (long r = 0; r < R; r++) {                                                                                 \
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
static inline void strip(const float *a, long a_row, long next, long n, long depth, const float *b, long b_row,
                         float *c, long c_row, int add) {
    long r = 0;
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
static void multiply(const float *a, long n, long depth, const float *panels, float *c, long columns, int add) {
    long whole = columns - columns % WIDTH, rest = columns - whole;
    for (long j = 0; j < whole; j += WIDTH, panels += depth * WIDTH)
        strip(a, depth, 1, n, depth, panels, WIDTH, c + j, columns, add);
    for (long r = 0; rest && r < n; r += TALL) {
        long some = n - r < TALL ? n - r : TALL;
        float edge[TALL * WIDTH] = {0};
        for (long i = 0; add && i < some; i++) memcpy(edge + i * WIDTH, c + (r + i) * columns + whole, 4 * rest);
        strip(a + r * depth, depth, 1, some, depth, panels, WIDTH, edge, WIDTH, add);
        for (long i = 0; i < some; i++) memcpy(c + (r + i) * columns + whole, edge + i * WIDTH, 4 * rest);
    }
}

/* -- cells: one sequence at one step ------------------------------------------------------------------------------- */

static inline lanes sigmoid(lanes x) { return inverse(1.f + exponential(-x)); }
static inline lanes hyperbolic(lanes x) { return 2.f * inverse(1.f + exponential(-2.f * x)) - 1.f; }

/* c' = f c + i g, h' = o tanh(c'). Gates i f g o. */
static inline void lstm(float *gate, const float *c, float *c_new, float *squashed, float *h, long units) {
    for (long u = 0; u < units; u += LANES) {
        long left = units - u;
        lanes i = sigmoid(load(gate + u, left)), f = sigmoid(load(gate + units + u, left));
        lanes g = hyperbolic(load(gate + 2 * units + u, left)), o = sigmoid(load(gate + 3 * units + u, left));
        lanes cell = f * load(c + u, left) + i * g, bounded = hyperbolic(cell);
        store(gate + u, i, left);
        store(gate + units + u, f, left);
        store(gate + 2 * units + u, g, left);
        store(gate + 3 * units + u, o, left);
        store(c_new + u, cell, left);
        store(squashed + u, bounded, left);
        store(h + u, o * bounded, left);
    }
}

/* dh, dc: of the state after the step; dc becomes that before, dh is cleared for the product that follows. */
static inline void lstm_back(float *gate, const float *c, const float *squashed, const float *given,
                             const float *given_c, float *dh, float *dc, long units) {
    for (long u = 0; u < units; u += LANES) {
        long left = units - u;
        lanes i = load(gate + u, left), f = load(gate + units + u, left);
        lanes g = load(gate + 2 * units + u, left), o = load(gate + 3 * units + u, left);
        lanes total = load(dh + u, left) + load(given + u, left), bounded = load(squashed + u, left);
        lanes cell = load(dc + u, left) + total * o * (1.f - bounded * bounded);
        if (given_c) cell += load(given_c + u, left);
        store(dh + u, (lanes){0}, left);
        store(dc + u, cell * f, left);
        store(gate + u, cell * g * i * (1.f - i), left);
        store(gate + units + u, cell * load(c + u, left) * f * (1.f - f), left);
        store(gate + 2 * units + u, cell * i * (1.f - g * g), left);
        store(gate + 3 * units + u, total * bounded * o * (1.f - o), left);
    }
}

/* n = tanh(a + r b), h' = n + z (h - n). Gates r z a b, a of the input and b of h; n is kept in the place of a. */
static inline void gru(float *gate, const float *h, float *h_new, long units) {
    for (long u = 0; u < units; u += LANES) {
        long left = units - u;
        lanes r = sigmoid(load(gate + u, left)), z = sigmoid(load(gate + units + u, left));
        lanes n = hyperbolic(load(gate + 2 * units + u, left) + r * load(gate + 3 * units + u, left));
        store(gate + u, r, left);
        store(gate + units + u, z, left);
        store(gate + 2 * units + u, n, left);
        store(h_new + u, n + z * (load(h + u, left) - n), left);
    }
}

static inline void gru_back(float *gate, const float *h, const float *given, float *dh, long units) {
    for (long u = 0; u < units; u += LANES) {
        long left = units - u;
        lanes r = load(gate + u, left), z = load(gate + units + u, left);
        lanes n = load(gate + 2 * units + u, left), b = load(gate + 3 * units + u, left);
        lanes total = load(dh + u, left) + load(given + u, left);
        lanes da = total * (1.f - z) * (1.f - n * n);
        store(dh + u, total * z, left);
        store(gate + u, da * b * r * (1.f - r), left);
        store(gate + units + u, total * (load(h + u, left) - n) * z * (1.f - z), left);
        store(gate + 2 * units + u, da, left);
        store(gate + 3 * units + u, da * r, left);
    }
}

/* h' = h + alpha (f(a) - h). */
static inline void leaky(float *gate, const float *h, float *h_new, float alpha, int relu, long units) {
    for (long u = 0; u < units; u += LANES) {
        long left = units - u;
        lanes a = load(gate + u, left), before = load(h + u, left);
        lanes rate = relu ? choose(a < 0.f, (lanes){0}, a) : hyperbolic(a);
        store(gate + u, rate, left);
        store(h_new + u, before + alpha * (rate - before), left);
    }
}

static inline void leaky_back(float *gate, const float *given, float *dh, float alpha, int relu, long units) {
    for (long u = 0; u < units; u += LANES) {
        long left = units - u;
        lanes rate = load(gate + u, left), total = load(dh + u, left) + load(given + u, left);
        lanes slope = relu ? choose(rate > 0.f, (lanes){0} + 1.f, (lanes){0}) : 1.f - rate * rate;
        store(dh + u, (1.f - alpha) * total, left);
        store(gate + u, alpha * slope * total, left);
    }
}

/* -- loops over time ----------------------------------------------------------------------------------------------- */

void forward(const struct loop *l) {
    long units = l->units, features = l->features, depth = units + features + 1, wide = GATES[l->cell] * units, at = 0;
    const float *h = l->h0, *c = l->c0;
    if (l->weight) pack(l->weight, 1, depth, depth, wide, l->panels);
    for (long t = 0; t < l->times; t++) {
        long n = l->counts[t];
        float *rows = l->rows + at * depth, *gates = l->gates + at * wide, *h_new = l->h + at * units;
        for (long r = 0; r < n; r++) {
            memcpy(rows + r * depth, h + r * units, 4 * units);
            memcpy(rows + r * depth + units, l->x + (at + r) * features, 4 * features);
            rows[r * depth + depth - 1] = 1;
        }
        if (l->noise) memcpy(gates, l->noise + at * wide, 4 * n * wide);
        multiply(rows, n, depth, l->panels, gates, wide, l->noise != 0);
        for (long r = 0; r < n; r++) {
            float *gate = gates + r * wide, *own = h_new + r * units;
            const float *before = h + r * units;
            long step = (at + r) * units;
            if (l->cell == LSTM) lstm(gate, c + r * units, l->c + step, l->squashed + step, own, units);
            else if (l->cell == GRU) gru(gate, before, own, units);
            else leaky(gate, before, own, l->alpha, l->cell == RELU, units);
        }
        h = h_new;
        c = l->c + at * units;
        at += n;
    }
}

void backward(const struct loop *l) {
    long units = l->units, depth = units + l->features + 1, wide = GATES[l->cell] * units, at = 0;
    for (long t = 0; t < l->times; t++) at += l->counts[t];
    if (l->weight) pack(l->weight, depth, 1, wide, units, l->panels);
    for (long t = l->times - 1; t >= 0; t--) {
        long n = l->counts[t];
        at -= n;
        const float *c = t ? l->c + (at - l->counts[t - 1]) * units : l->c0;
        float *gates = l->gates + at * wide;
        for (long r = 0; r < n; r++) {
            float *gate = gates + r * wide, *dh = l->dh0 + r * units;
            long step = (at + r) * units;
            const float *given = l->dh + step;
            if (l->cell == LSTM)
                lstm_back(gate, c + r * units, l->squashed + step, given, l->dc ? l->dc + step : 0, dh,
                          l->dc0 + r * units, units);
            else if (l->cell == GRU) gru_back(gate, l->rows + (at + r) * depth, given, dh, units);
            else leaky_back(gate, given, dh, l->alpha, l->cell == RELU, units);
        }
        if (t || !l->h0_fixed) multiply(gates, n, wide, l->panels, l->dh0, units, 1);
    }
}
