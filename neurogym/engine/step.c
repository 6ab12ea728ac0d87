/* One step of many environments whose blocks of trials lie side by side in pools (pools.py has the plain form). */

#include <math.h>

#include "kernel.h"

enum { NONE, CORRECT, ERROR, ABORT, OUTCOME = 7, END = 8 }; /* an event, as in rules.py: an outcome, and if it ends */

/* Tables (environment, row, action) of what actions earn, add and mean, and what is `right` (environment, row);
   `offset` is where a trial begins in its block, `go` its go cue in it.
   Where environments are, all (environment): `at` is a row of the flattened pools, `first` the row at which the `trial`
   began. A step fills `rewards`, whether trials `ended`, the `truth` if anything is right, and for trials that ended
   `counts` (environment, trial, outcome, steps, aborts) and `sums` (performance, reward, reaction time in steps). */
#define ADVANCE(X)                                                                                                     \
    X(IN, action, int64, n) X(INT, hold) X(IN, reward, float64, n,rows,actions)                                        \
    X(IN, performance, float64, n,rows,actions) X(IN, event, uint8, n,rows,actions)                                    \
    X(MAYBE, right, int64, n,rows) X(IN, offset, int64, n,trials) X(IN, go, int64, n,trials)                           \
    X(OUT, at, int64, n) X(OUT, first, int64, n) X(OUT, trial, int64, n) X(IN, n_trials, int64, n)                     \
    X(OUT, aborts, int64, n) X(OUT, score, float64, n) X(OUT, sum, float64, n) X(OUT, counts, int64, 5,n)              \
    X(OUT, sums, float64, 3,n) X(OUT, rewards, float64, n) X(OUT, ended, uint8, n) X(MAYBE_OUT, truth, int64, n)
DECLARE(advance, ADVANCE, n, rows, actions, trials)

/* Whether every environment is at a place of its own part of the pools. What lies there is requested meanwhile: places
   of environments are far apart, so that a step would else wait for each in turn. */
static int within_pools(const struct advance_arguments *a, const struct advance_sizes *s) {
    for (int64_t i = 0; i < s->n; i++) {
        int64_t begin = i * s->rows, end = begin + s->rows;
        if (a->at[i] < begin || a->at[i] >= end || a->first[i] < begin || a->first[i] > a->at[i]) return 0;
        if (a->trial[i] < 0 || a->trial[i] >= s->trials || a->n_trials[i] > s->trials) return 0;
        int64_t cell = a->at[i] * s->actions;
        __builtin_prefetch(a->event + cell);
        __builtin_prefetch(a->reward + cell);
        __builtin_prefetch(a->performance + cell);
    }
    return 1;
}

/* Returns the number of trials that ended. An environment whose block is at its end stays in its last row. */
static int64_t advance(const struct advance_arguments *a, const struct advance_sizes *s) {
    int64_t done = 0, n = s->n;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = a->at[i], cell = row * s->actions + a->action[i];
        uint8_t event = a->event[cell];
        a->rewards[i] = a->reward[cell];
        if (a->right) a->truth[i] = a->right[row];
        a->score[i] += a->performance[cell];
        a->sum[i] += a->reward[cell];
        a->aborts[i] += (event & OUTCOME) == ABORT;
        a->ended[i] = event >= END;
        if (!a->ended[i]) {
            a->at[i]++;
            continue;
        }
        int64_t outcome = event & OUTCOME, steps = a->at[i] - a->first[i], in_pool = i * s->trials + a->trial[i];
        if (outcome == NONE) outcome = a->score[i] >= 0.5 ? CORRECT : ERROR;
        int responded = (outcome == CORRECT || outcome == ERROR) && a->action[i] != a->hold;
        a->counts[done] = i;
        a->counts[n + done] = a->trial[i]++;
        a->counts[2 * n + done] = outcome;
        a->counts[3 * n + done] = steps + 1;
        a->counts[4 * n + done] = a->aborts[i];
        a->sums[done] = a->score[i];
        a->sums[n + done] = a->sum[i];
        a->sums[2 * n + done] = responded ? steps - a->go[in_pool] : NAN;
        a->score[i] = a->sum[i] = 0;
        a->aborts[i] = 0;
        if (a->trial[i] < a->n_trials[i])
            a->at[i] = a->first[i] = i * s->rows + a->offset[in_pool + 1];
        done++;
    }
    return done;
}

static const char *run_advance(struct call *c) {
    TAKE(advance);
    if (given.right && !given.truth) return "there is no place for what was right";
    if (!within_pools(&given, &size)) return "an environment is outside its block of trials";
    for (int64_t i = 0; i < size.n; i++)
        if ((uint64_t)given.action[i] >= (uint64_t)size.actions) {
            c->result = -1;
            return 0;
        }
    c->result = advance(&given, &size);
    return 0;
}

const struct kernel BATCH_KERNELS[] = {KERNEL(advance, 0), {0}};
