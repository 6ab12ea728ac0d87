/* The time loops of the recurrent networks over packed sequences, forward and backward (the networks in networks/
   have the plain form). A call works on some of the sequences, each of which comes out as it would among any others;
   so threads can share them.

   Arrays are float32 and C-contiguous: (step, ...), first the first step of every sequence, then the second of all that
   have one, and so on; the longest sequences come first. At each step a cell multiplies the rows [h, x, 1] by the
   weights (gate, unit; row), and its own few lines make the new h of the products. */

#include "loops.h"

#include <string.h>

/* -- cells: one sequence at one step ------------------------------------------------------------------------------- */

static inline lanes sigmoid(lanes x) { return inverse(1.f + exponential(-x)); }
static inline lanes hyperbolic(lanes x) { return 2.f * inverse(1.f + exponential(-2.f * x)) - 1.f; }

/* c' = f c + i g, h' = o tanh(c'). Gates i f g o. */
static inline void lstm(float *gate, const float *c, float *c_new, float *squashed, float *h, int64_t units) {
    for (int64_t u = 0; u < units; u += LANES) {
        int64_t left = units - u;
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
                             const float *given_c, float *dh, float *dc, int64_t units) {
    for (int64_t u = 0; u < units; u += LANES) {
        int64_t left = units - u;
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
static inline void gru(float *gate, const float *h, float *h_new, int64_t units) {
    for (int64_t u = 0; u < units; u += LANES) {
        int64_t left = units - u;
        lanes r = sigmoid(load(gate + u, left)), z = sigmoid(load(gate + units + u, left));
        lanes n = hyperbolic(load(gate + 2 * units + u, left) + r * load(gate + 3 * units + u, left));
        store(gate + u, r, left);
        store(gate + units + u, z, left);
        store(gate + 2 * units + u, n, left);
        store(h_new + u, n + z * (load(h + u, left) - n), left);
    }
}

static inline void gru_back(float *gate, const float *h, const float *given, float *dh, int64_t units) {
    for (int64_t u = 0; u < units; u += LANES) {
        int64_t left = units - u;
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

/* log(1 + e) of e from 0 to 1, as a series of artanh(e / (2 + e)), off by 2e-8 of the result. */
static inline lanes logarithm_of_1_and(lanes e) {
    lanes s = e * inverse(2.f + e), q = s * s;
    lanes p = 1.f / 9 + q * (1.f / 11 + q * (1.f / 13));
    return 2.f * s * (1.f + q * (1.f / 3 + q * (1.f / 5 + q * (1.f / 7 + q * p))));
}

static inline lanes softplus(lanes a) {
    lanes above = choose(a < 0.f, (lanes){0}, a);
    return above + logarithm_of_1_and(exponential(a - 2.f * above));
}

/* h' = h + alpha (f(a) - h). */
static inline void leaky(float *gate, const float *h, float *h_new, float alpha, int64_t cell, int64_t units) {
    for (int64_t u = 0; u < units; u += LANES) {
        int64_t left = units - u;
        lanes a = load(gate + u, left), before = load(h + u, left);
        lanes rate = cell == RELU ? choose(a < 0.f, (lanes){0}, a) : cell == TANH ? hyperbolic(a) : softplus(a);
        store(gate + u, rate, left);
        store(h_new + u, before + alpha * (rate - before), left);
    }
}

static inline void leaky_back(float *gate, const float *given, float *dh, float alpha, int64_t cell, int64_t units) {
    for (int64_t u = 0; u < units; u += LANES) {
        int64_t left = units - u;
        lanes rate = load(gate + u, left), total = load(dh + u, left) + load(given + u, left);
        lanes slope = cell == RELU   ? choose(rate > 0.f, (lanes){0} + 1.f, (lanes){0})
                      : cell == TANH ? 1.f - rate * rate
                                     : 1.f - exponential(-rate);
        store(dh + u, (1.f - alpha) * total, left);
        store(gate + u, alpha * slope * total, left);
    }
}

/* -- loops over time ----------------------------------------------------------------------------------------------- */

/* Of n sequences those from `first` up to `end`. */
static inline int64_t among(int64_t n, int64_t first, int64_t end) { return (n < end ? n : end) - first; }

void loop_forward_some(const struct loop *l, int64_t first, int64_t end) {
    int64_t units = l->units, features = l->features, depth = units + features + 1, wide = GATES[l->cell] * units;
    int64_t at = first; /* in the arrays over steps: the first of these sequences at this time */
    const float *h = l->h0 + first * units, *c = l->c0 ? l->c0 + first * units : 0;
    for (int64_t t = 0; t < l->times; t++) {
        int64_t n = among(l->counts[t], first, end);
        if (n <= 0) break;
        float *rows = l->rows + at * depth, *gates = l->gates + at * wide, *h_new = l->h + at * units;
        for (int64_t r = 0; r < n; r++) {
            memcpy(rows + r * depth, h + r * units, 4 * units);
            memcpy(rows + r * depth + units, l->x + (at + r) * features, 4 * features);
            rows[r * depth + depth - 1] = 1;
        }
        if (l->noise) memcpy(gates, l->noise + at * wide, 4 * n * wide);
        multiply(rows, n, depth, l->panels, gates, wide, l->noise != 0);
        for (int64_t r = 0; r < n; r++) {
            float *gate = gates + r * wide, *own = h_new + r * units;
            const float *before = h + r * units;
            int64_t step = (at + r) * units;
            if (l->cell == LSTM) lstm(gate, c + r * units, l->c + step, l->squashed + step, own, units);
            else if (l->cell == GRU) gru(gate, before, own, units);
            else leaky(gate, before, own, l->alpha, l->cell, units);
        }
        h = h_new;
        c = l->c + at * units;
        at += l->counts[t];
    }
}

void loop_backward_some(const struct loop *l, int64_t first, int64_t end) {
    int64_t units = l->units, depth = units + l->features + 1, wide = GATES[l->cell] * units, at = first;
    float *dh0 = l->dh0 + first * units;
    for (int64_t t = 0; t < l->times; t++) at += l->counts[t];
    for (int64_t t = l->times - 1; t >= 0; t--) {
        int64_t n = among(l->counts[t], first, end);
        at -= l->counts[t];
        if (n <= 0) continue;
        const float *c = t ? l->c + (at - l->counts[t - 1]) * units : l->c0 + first * units;
        float *gates = l->gates + at * wide;
        for (int64_t r = 0; r < n; r++) {
            float *gate = gates + r * wide, *dh = dh0 + r * units;
            int64_t step = (at + r) * units;
            const float *given = l->dh + step;
            if (l->cell == LSTM)
                lstm_back(gate, c + r * units, l->squashed + step, given, l->dc ? l->dc + step : 0, dh,
                          l->dc0 + (first + r) * units, units);
            else if (l->cell == GRU) gru_back(gate, l->rows + (at + r) * depth, given, dh, units);
            else leaky_back(gate, given, dh, l->alpha, l->cell, units);
        }
        if (t || !l->h0_fixed) multiply(gates, n, wide, l->panels, dh0, units, 1);
    }
}
