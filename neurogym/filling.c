/* Filling the rows of a block of trials (see filling.py). Rows of the block are found by their `index`. */

#include <stdint.h>

enum { CORRECT = 1, MISS = 4, END = 8 }; /* events, as in rules.py */

/* The steps from start to end of each trial, one trial after the other: index, trial, step within it. */
void rows(int64_t trials, const int64_t *offset, const int64_t *start, const int64_t *end, int64_t *index,
          int64_t *trial, int64_t *step) {
    for (int64_t k = 0; k < trials; k++)
        for (int64_t s = start[k]; s < end[k]; s++) {
            *index++ = offset[k] + s;
            *trial++ = k;
            *step++ = s;
        }
}

/* Adds to some neighbouring columns of n rows of an array of this width. The values for a row begin at `stride` times
   `which[row]`, or times its place among the n if `which` is null, and are `next` apart. */
void add(float *to, int64_t width, int64_t first, int64_t columns, int64_t n, const int64_t *index, const float *values,
         int64_t stride, int64_t next, const int64_t *which) {
    for (int64_t i = 0; i < n; i++) {
        float *row = to + index[i] * width + first;
        const float *from = values + stride * (which ? which[i] : i);
        for (int64_t j = 0; j < columns; j++) row[j] += from[j * next];
    }
}

/* Below, rewards, performance and events are tables (row, action); `hold` is the action that is no response, or -1. */

/* What any response earns and means in n rows; rewards (trial). */
void respond(int64_t actions, double *rewards, uint8_t *events, int64_t hold, int64_t n, const int64_t *index,
             const int64_t *trial, const double *reward, int64_t event) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t a = 0; a < actions; a++)
            if (a != hold) {
                rewards[index[i] * actions + a] = reward[trial[i]];
                events[index[i] * actions + a] = event;
            }
}

/* What the right response earns in n rows; marks trials in which there is one. Returns how many rows were filled before
   one whose right action does not exist. */
int64_t answer(int64_t actions, double *rewards, uint8_t *events, double *performance, int64_t hold, int64_t n,
               const int64_t *index, const int64_t *trial, const int64_t *right, const double *reward,
               uint8_t *needed) {
    for (int64_t i = 0; i < n; i++) {
        int64_t action = right[index[i]], cell = index[i] * actions + action;
        if (action == hold) continue;
        if (action < 0 || action >= actions) return i;
        rewards[cell] = reward[trial[i]];
        performance[cell] = 1;
        events[cell] = CORRECT | END;
        needed[trial[i]] = 1;
    }
    return n;
}

/* What ends each trial in its last row if nothing did before: rewards (trial) of missing an answer and of rightly
   giving none; no rewards if nothing was to be answered at one moment. */
void run_out(int64_t actions, double *rewards, uint8_t *events, double *performance, int64_t trials,
             const int64_t *last, const uint8_t *needed, const double *miss, const double *withhold) {
    for (int64_t k = 0; k < trials; k++)
        for (int64_t cell = last[k] * actions; cell < (last[k] + 1) * actions; cell++) {
            if (events[cell] >= END) continue;
            events[cell] = END;
            if (!miss) continue;
            events[cell] |= needed[k] ? MISS : CORRECT;
            rewards[cell] += needed[k] ? miss[k] : withhold[k];
            performance[cell] += !needed[k];
        }
}
