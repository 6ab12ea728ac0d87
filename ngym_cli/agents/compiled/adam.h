/* A step of Adam; see adam.c. */

#pragma once

#include <stdint.h>

struct adam {
    float *weights, *mean, *square, *step; /* mean of the gradient and of its square, number of steps */
    const float *gradient;
    double rate, keep_mean, keep_square, small, most; /* most: length that longer gradients are shortened to */
};

void adam_step(const struct adam *a, int64_t n);
