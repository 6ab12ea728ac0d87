/* The time loops of the recurrent networks; see loops.c. */

#pragma once

#include "products.h"

enum { LSTM, GRU, TANH, RELU, SOFTPLUS };
static const int64_t GATES[] = {4, 4, 1, 1, 1}; /* rows of weights for each unit */

struct loop {
    int64_t cell, times, features, units;
    const int64_t *counts;   /* (time): sequences that have this step */
    float alpha;             /* rate units: how far h goes towards its new value */
    const float *x;          /* (step, feature) */
    const float *noise;      /* (step, gate * unit), added to the products; or null */
    const float *h0, *c0;    /* (sequence, unit) */
    float *rows;             /* (step, unit + feature + 1): [h before, x, 1] */
    float *gates;            /* (step, gate * unit): values of the gates; backward makes them their gradients */
    float *c, *squashed;     /* (step, unit), LSTM: c, tanh(c) */
    float *h;                /* (step, unit) */
    const float *panels;     /* packed weights */
    const float *dh, *dc;    /* (step, unit): given gradients of h and c; dc may be null */
    float *dh0, *dc0;        /* (sequence, unit): zeros, become gradients of h0 and c0 */
    int64_t h0_fixed;        /* not 0: its gradient is not asked for */
};

/* Over the sequences from `first` up to `end`; the panels of calls at the same time must be apart. */
void loop_forward_some(const struct loop *l, int64_t first, int64_t end);
void loop_backward_some(const struct loop *l, int64_t first, int64_t end);
