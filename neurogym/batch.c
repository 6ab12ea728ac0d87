/* One step of many environments whose blocks of trials lie side by side in pools (see vector.py). */

#include <math.h>
#include <stdint.h>

enum { NONE, CORRECT, ERROR, ABORT, OUTCOME = 7, END = 8 }; /* an event, as in rules.py: an outcome, and if it ends */

struct batch {
    int64_t n, actions, capacity, trials; /* environments, actions of each, rows and trials that a pool has room for */
    int64_t hold;                         /* the action that is no response, or -1 */
    const double *reward, *performance;   /* (environment, row, action) */
    const uint8_t *event;
    const int64_t *offset, *go;           /* (environment, trial): where a trial begins in its block, and its go in it */
    int64_t *at, *first, *trial, *n_trials, *aborts; /* (environment) */
    double *score, *sum;
};

/* Fills the rewards, whether trials ended, and for those that did counts (environment, trial, outcome, steps, aborts;
   environment) and sums (performance, reward, reaction time in steps; environment). Returns the number of trials that
   ended, or -1 if an action does not exist; then nothing has changed. An environment whose block is at its end stays in
   its last row. */
int64_t advance(const struct batch *b, const int64_t *action, double *rewards, uint8_t *ended, int64_t *counts,
                double *sums) {
    int64_t done = 0, n = b->n;
    for (int64_t i = 0; i < n; i++)
        if ((uint64_t)action[i] >= (uint64_t)b->actions) return -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t cell = b->at[i] * b->actions + action[i];
        uint8_t event = b->event[cell];
        rewards[i] = b->reward[cell];
        b->score[i] += b->performance[cell];
        b->sum[i] += b->reward[cell];
        b->aborts[i] += (event & OUTCOME) == ABORT;
        ended[i] = event >= END;
        if (!ended[i]) {
            b->at[i]++;
            continue;
        }
        int64_t outcome = event & OUTCOME, steps = b->at[i] - b->first[i], in_pool = i * b->trials + b->trial[i];
        if (outcome == NONE) outcome = b->score[i] >= 0.5 ? CORRECT : ERROR;
        int responded = (outcome == CORRECT || outcome == ERROR) && action[i] != b->hold;
        counts[done] = i;
        counts[n + done] = b->trial[i]++;
        counts[2 * n + done] = outcome;
        counts[3 * n + done] = steps + 1;
        counts[4 * n + done] = b->aborts[i];
        sums[done] = b->score[i];
        sums[n + done] = b->sum[i];
        sums[2 * n + done] = responded ? steps - b->go[in_pool] : NAN;
        b->score[i] = b->sum[i] = 0;
        b->aborts[i] = 0;
        if (b->trial[i] < b->n_trials[i])
            b->at[i] = b->first[i] = i * b->capacity + b->offset[in_pool + 1];
        done++;
    }
    return done;
}
