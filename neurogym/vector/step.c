/* One step of many environments whose blocks of trials lie side by side in pools (step.py has the plain form). */

#include <math.h>

#include "kernel.h"

enum { NONE, CORRECT, ERROR, ABORT, OUTCOME = 7, END = 8 }; /* an event, as in rules.py: an outcome, and if it ends */

struct batch {
    int64_t n, actions, capacity, trials; /* environments, actions of each, rows and trials that a pool has room for */
    int64_t hold;                         /* the action that is no response, or -1 */
    const double *reward, *performance;   /* (environment, row, action) */
    const uint8_t *event;
    const int64_t *offset, *go;           /* (environment, trial): where a trial begins in its block, its go in it */
    int64_t *at, *first, *trial, *n_trials, *aborts; /* (environment) */
    double *score, *sum;
};

/* Rewards, whether trials ended, and for those that did counts (environment, trial, outcome, steps, aborts;
   environment) and sums (performance, reward, reaction time in steps; environment). */
struct step {
    double *rewards, *sums;
    uint8_t *ended;
    int64_t *counts;
};

/* Whether every environment is at a place of its own part of the pools. What lies there is asked for meanwhile: places of
   environments are megabytes apart, so that a step would else wait for each in turn. */
static int within_pools(const struct batch *b) {
    for (int64_t i = 0; i < b->n; i++) {
        int64_t begin = i * b->capacity, end = begin + b->capacity, cell = b->at[i] * b->actions;
        if (b->at[i] < begin || b->at[i] >= end || b->first[i] < begin || b->first[i] > b->at[i]) return 0;
        if (b->trial[i] < 0 || b->trial[i] >= b->trials || b->n_trials[i] > b->trials) return 0;
        __builtin_prefetch(b->event + cell);
        __builtin_prefetch(b->reward + cell);
        __builtin_prefetch(b->performance + cell);
    }
    return 1;
}

/* Returns the number of trials that ended. An environment whose block is at its end stays in its last row. */
static int64_t advance(const struct batch *b, const int64_t *action, struct step found) {
    int64_t done = 0, n = b->n;
    for (int64_t i = 0; i < n; i++) {
        int64_t cell = b->at[i] * b->actions + action[i];
        uint8_t event = b->event[cell];
        found.rewards[i] = b->reward[cell];
        b->score[i] += b->performance[cell];
        b->sum[i] += b->reward[cell];
        b->aborts[i] += (event & OUTCOME) == ABORT;
        found.ended[i] = event >= END;
        if (!found.ended[i]) {
            b->at[i]++;
            continue;
        }
        int64_t outcome = event & OUTCOME, steps = b->at[i] - b->first[i], in_pool = i * b->trials + b->trial[i];
        if (outcome == NONE) outcome = b->score[i] >= 0.5 ? CORRECT : ERROR;
        int responded = (outcome == CORRECT || outcome == ERROR) && action[i] != b->hold;
        found.counts[done] = i;
        found.counts[n + done] = b->trial[i]++;
        found.counts[2 * n + done] = outcome;
        found.counts[3 * n + done] = steps + 1;
        found.counts[4 * n + done] = b->aborts[i];
        found.sums[done] = b->score[i];
        found.sums[n + done] = b->sum[i];
        found.sums[2 * n + done] = responded ? steps - b->go[in_pool] : NAN;
        b->score[i] = b->sum[i] = 0;
        b->aborts[i] = 0;
        if (b->trial[i] < b->n_trials[i])
            b->at[i] = b->first[i] = i * b->capacity + b->offset[in_pool + 1];
        done++;
    }
    return done;
}

static const char *run_advance(struct call *c) {
    enum { ACTION, HOLD, REWARD, PERFORMANCE, EVENT, OFFSET, GO, AT, FIRST, TRIAL, N_TRIALS, ABORTS, SCORE, SUM, COUNTS,
           SUMS, REWARDS, ENDED };
    const union value *v = c->value;
    struct batch b = {
        .n = c->size[0], .capacity = c->size[1], .actions = c->size[2], .trials = c->size[3], .hold = v[HOLD].integer,
        .reward = v[REWARD].array, .performance = v[PERFORMANCE].array, .event = v[EVENT].array,
        .offset = v[OFFSET].array, .go = v[GO].array, .at = v[AT].array, .first = v[FIRST].array,
        .trial = v[TRIAL].array, .n_trials = v[N_TRIALS].array, .aborts = v[ABORTS].array, .score = v[SCORE].array,
        .sum = v[SUM].array};
    struct step found = {v[REWARDS].array, v[SUMS].array, v[ENDED].array, v[COUNTS].array};
    const int64_t *action = v[ACTION].array;
    if (!within_pools(&b)) return "an environment is outside its block of trials";
    for (int64_t i = 0; i < b.n; i++)
        if ((uint64_t)action[i] >= (uint64_t)b.actions) {
            c->result = -1;
            return 0;
        }
    c->result = advance(&b, action, found);
    return 0;
}

const struct kernel BATCH_KERNELS[] = {
    {"advance",
     "action int64[n]; hold int; reward float64[n,rows,actions]; performance float64[n,rows,actions]; "
     "event uint8[n,rows,actions]; offset int64[n,trials]; go int64[n,trials]; at int64[n] out; first int64[n] out; "
     "trial int64[n] out; n_trials int64[n]; aborts int64[n] out; score float64[n] out; sum float64[n] out; "
     "counts int64[5,n] out; sums float64[3,n] out; rewards float64[n] out; ended uint8[n] out",
     run_advance, 0},
    {0}};
