/* Updates: gradients and optimiser steps of one minibatch after the other; see update.c. */

#pragma once

#include "adam.h"
#include "passes.h"

/* Minibatches of sequences: minibatch k has those from begin[k] to before begin[k + 1]. */
struct minibatches {
    const int64_t *first, *length, *begin;
    int64_t n;
};

static inline struct sequences sequences_of(const struct minibatches *m, int64_t k) {
    return (struct sequences){m->first + m->begin[k], m->length + m->begin[k], m->begin[k + 1] - m->begin[k]};
}

/* Shared by the threads of an update. */
struct shared_update {
    struct team team;
    struct objective objective;
    double statistics[MAX_CHUNKS][STATISTICS];
};

/* What the steps of an update are taken with. */
struct update {
    int64_t normalize;          /* not 0: advantages of a minibatch are scaled to mean 0 and standard deviation 1 */
    struct objective objective; /* all but `mean`, `scale`, `share`, `l1` and `l2`, which each minibatch has its own */
    double l1, l2;              /* penalties on the mean of |h| and of h^2 over units and steps */
    double most_kl;             /* a minibatch whose KL divergence is larger ends the update; may be infinite */
    const float *weights;        /* in the order of pack_weights; used only where no step is taken */
    float *slopes;               /* the gradient in the same order */
    const int64_t *place, *size; /* (part): where each part of them lies in the vector, how long it is */
    int64_t parts;
    struct adam adam; /* the vector of weights, which may be null: then no step is taken */
    float *gradient;  /* of the vector */
    int64_t vector;   /* numbers in the vector */
    float *sums;      /* (chunk, sums_apart) */
    int64_t sums_apart;
    double *numbers; /* (minibatch, STATISTICS + 1): statistics, and the number of steps learned from */
};

/* Leads an update that so many threads may share; returns how many minibatches were looked at. The last is stepped
   from unless its KL divergence was too large. */
int64_t lead_update(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                    const struct minibatches *m, const struct update *u, struct workspace *w, struct shared_update *b,
                    int64_t threads);

/* Takes parts until the update ends, or a minibatch has no chunk left for the thread of this rank. */
void join_update(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                 const struct minibatches *m, const struct update *u, struct workspace *w, struct shared_update *b,
                 int64_t rank);
