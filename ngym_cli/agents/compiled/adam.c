/* A step of Adam (Kingma & Ba 2015, arXiv:1412.6980) on one vector of weights, as torch.optim.Adam takes it. */

#include <math.h>

#include "adam.h"
#include "kernel.h"

void adam_step(const struct adam *a, int64_t n) {
    double sums[8] = {0}, length = 0; /* several, which do not wait for each other */
    int64_t i = 0;
    const float *restrict gradient = a->gradient;
    for (; n - i >= 8; i += 8)
        for (int64_t k = 0; k < 8; k++) sums[k] += (double)gradient[i + k] * gradient[i + k];
    for (int64_t k = 0; i + k < n; k++) sums[k] += (double)gradient[i + k] * gradient[i + k];
    for (int64_t k = 0; k < 8; k++) length += sums[k];
    length = sqrt(length);
    double step = ++*a->step, seen = 1 - pow(a->keep_square, step);
    float scale = length > a->most ? a->most / length : 1, rate = a->rate / (1 - pow(a->keep_mean, step));
    float new_mean = 1 - a->keep_mean, old_square = a->keep_square, new_square = 1 - a->keep_square;
    float small = a->small, root = 1 / sqrt(seen);
    float *restrict weights = a->weights, *restrict mean = a->mean, *restrict square = a->square;
    for (i = 0; i < n; i++) {
        float slope = scale * gradient[i];
        mean[i] += new_mean * (slope - mean[i]);
        square[i] = old_square * square[i] + new_square * slope * slope;
        weights[i] -= rate * mean[i] / (sqrtf(square[i]) * root + small);
    }
}

#define ADAM(X)                                                                                                        \
    X(OUT, weights, float32, n) X(OUT, mean, float32, n) X(OUT, square, float32, n) X(OUT, step, float32)              \
    X(IN, gradient, float32, n) X(FLOAT, rate) X(FLOAT, keep_mean) X(FLOAT, keep_square) X(FLOAT, small)               \
    X(FLOAT, most)
DECLARE(adam, ADAM, n)

static const char *run_adam(struct call *c) {
    TAKE(adam);
    struct adam a = {given.weights, given.mean, given.square, given.step, given.gradient, given.rate,
                     given.keep_mean, given.keep_square, given.small, given.most};
    adam_step(&a, size.n);
    return 0;
}

const struct kernel ADAM_KERNELS[] = {KERNEL(adam, 0), {0}};
