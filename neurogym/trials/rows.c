/* Filling the rows of a block of trials (rows.py has the plain form). Rows of the block are found by their `index`. */

#include "kernel.h"

enum { CORRECT = 1, MISS = 4, END = 8 }; /* events, as in rules.py */

/* The steps from start to end of each trial, one trial after the other: index, trial, step within it. */
static void rows(int64_t trials, const int64_t *offset, const int64_t *start, const int64_t *end, int64_t *index,
                 int64_t *trial, int64_t *step) {
    for (int64_t k = 0; k < trials; k++)
        for (int64_t s = start[k]; s < end[k]; s++) {
            *index++ = (int64_t)((uint64_t)offset[k] + (uint64_t)s);
            *trial++ = k;
            *step++ = s;
        }
}

/* Adds to some neighbouring columns of n rows of an array of this width. The values for a row begin at `stride` times
   `which[row]`, or times its place among the n if `which` is null: one for each column, or a single one for all. */
static void add(float *to, int64_t width, int64_t first, int64_t columns, int64_t n, const int64_t *index,
                const float *values, int64_t stride, int single, const int64_t *which) {
    for (int64_t i = 0; i < n; i++) {
        float *row = to + index[i] * width + first;
        const float *from = values + stride * (which ? which[i] : i);
        if (single)
            for (int64_t j = 0; j < columns; j++) row[j] += *from;
        else
            for (int64_t j = 0; j < columns; j++) row[j] += from[j];
    }
}

/* Below, rewards, performance and events are tables (row, action); `hold` is the action that is no response, or -1. */

/* What any response earns and means in n rows; rewards (trial). */
static void respond(int64_t actions, double *rewards, uint8_t *events, int64_t hold, int64_t n, const int64_t *index,
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
static int64_t answer(int64_t actions, double *rewards, uint8_t *events, double *performance, int64_t hold, int64_t n,
                      const int64_t *index, const int64_t *trial, const int64_t *right, const double *reward,
                      uint8_t *needed) {
    for (int64_t i = 0; i < n; i++) {
        int64_t action = right[index[i]];
        if (action == hold) continue;
        if (action < 0 || action >= actions) return i;
        int64_t cell = index[i] * actions + action;
        rewards[cell] = reward[trial[i]];
        performance[cell] = 1;
        events[cell] = CORRECT | END;
        needed[trial[i]] = 1;
    }
    return n;
}

/* What ends each trial in its last row if nothing did before: rewards (trial) of missing an answer and of rightly
   giving none; no rewards if nothing was to be answered at one moment. */
static void run_out(int64_t actions, double *rewards, uint8_t *events, double *performance, int64_t trials,
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

/* -- as Python calls them ------------------------------------------------------------------------------------------ */

static const char OUTSIDE[] = "a row or trial is outside the block";
static const char ROWS_MISFIT[] = "there is not one place for each row";

/* Whether all of n numbers are places of an array of this length. */
static int inside(const int64_t *places, int64_t n, int64_t length) {
    int outside = 0;
    for (int64_t i = 0; i < n; i++) outside |= (uint64_t)places[i] >= (uint64_t)length;
    return !outside;
}

static const char *run_rows(struct call *c) {
    enum { OFFSET, START, STOP, INDEX, TRIAL, STEP };
    const union value *v = c->value;
    const int64_t *start = v[START].array, *end = v[STOP].array;
    int64_t trials = c->size[0], n = 0;
    for (int64_t k = 0; k < trials; k++) {
        if (end[k] <= start[k]) continue;
        uint64_t length = (uint64_t)end[k] - (uint64_t)start[k]; /* the sum of all lengths may exceed any integer */
        if (length > (uint64_t)(c->size[1] - n)) return ROWS_MISFIT;
        n += (int64_t)length;
    }
    if (n != c->size[1]) return ROWS_MISFIT;
    rows(trials, v[OFFSET].array, start, end, v[INDEX].array, v[TRIAL].array, v[STEP].array);
    return 0;
}

static const char *run_add(struct call *c) {
    enum { TO, FIRST, COLUMNS, INDEX, VALUES, WHICH };
    enum { BLOCK, WIDTH, N, GIVEN, EACH };
    const union value *v = c->value;
    const int64_t *which = v[WHICH].array, *s = c->size;
    int64_t first = v[FIRST].integer, columns = v[COLUMNS].integer;
    if (first < 0 || columns < 0 || first > s[WIDTH] || columns > s[WIDTH] - first) return "there are no such columns";
    if (s[EACH] != 1 && s[EACH] != columns) return "there is not one value, or one for each column";
    if (!inside(v[INDEX].array, s[N], s[BLOCK])) return OUTSIDE;
    if (s[GIVEN] == 1) which = 0;
    else if (which ? !inside(which, s[N], s[GIVEN]) : s[GIVEN] != s[N]) return "there are not values for each row";
    add(v[TO].array, s[WIDTH], first, columns, s[N], v[INDEX].array, v[VALUES].array, s[GIVEN] == 1 ? 0 : s[EACH],
        s[EACH] == 1, which);
    return 0;
}

static const char *run_respond(struct call *c) {
    enum { REWARDS, EVENTS, HOLD, INDEX, TRIAL, REWARD, EVENT };
    enum { BLOCK, ACTIONS, N, TRIALS };
    const union value *v = c->value;
    const int64_t *s = c->size;
    if (!inside(v[INDEX].array, s[N], s[BLOCK]) || !inside(v[TRIAL].array, s[N], s[TRIALS])) return OUTSIDE;
    respond(s[ACTIONS], v[REWARDS].array, v[EVENTS].array, v[HOLD].integer, s[N], v[INDEX].array, v[TRIAL].array,
            v[REWARD].array, v[EVENT].integer);
    return 0;
}

static const char *run_answer(struct call *c) {
    enum { REWARDS, EVENTS, PERFORMANCE, HOLD, INDEX, TRIAL, RIGHT, REWARD, NEEDED };
    enum { BLOCK, ACTIONS, N, TRIALS };
    const union value *v = c->value;
    const int64_t *s = c->size;
    if (!inside(v[INDEX].array, s[N], s[BLOCK]) || !inside(v[TRIAL].array, s[N], s[TRIALS])) return OUTSIDE;
    c->result = answer(s[ACTIONS], v[REWARDS].array, v[EVENTS].array, v[PERFORMANCE].array, v[HOLD].integer, s[N],
                       v[INDEX].array, v[TRIAL].array, v[RIGHT].array, v[REWARD].array, v[NEEDED].array);
    return 0;
}

static const char *run_run_out(struct call *c) {
    enum { REWARDS, EVENTS, PERFORMANCE, LAST, NEEDED, MISS, WITHHOLD };
    enum { BLOCK, ACTIONS, TRIALS };
    const union value *v = c->value;
    const int64_t *s = c->size;
    if (!inside(v[LAST].array, s[TRIALS], s[BLOCK])) return OUTSIDE;
    if (v[MISS].array && !v[WITHHOLD].array) return "rewards of missing an answer need those of rightly giving none";
    run_out(s[ACTIONS], v[REWARDS].array, v[EVENTS].array, v[PERFORMANCE].array, s[TRIALS], v[LAST].array,
            v[NEEDED].array, v[MISS].array, v[WITHHOLD].array);
    return 0;
}

#define EARNED "rewards float64[block,actions] out; events uint8[block,actions] out; "
#define SCORED EARNED "performance float64[block,actions] out; "
#define ROWS "index int64[n]; trial int64[n]; "

const struct kernel FILLING_KERNELS[] = {
    {"rows",
     "offset int64[trials]; start int64[trials]; end int64[trials]; index int64[n] out; trial int64[n] out; "
     "step int64[n] out",
     run_rows, 0},
    {"add",
     "to float32[block,width] out; first int; columns int; index int64[n]; values float32[given,each]; "
     "which int64[n] optional",
     run_add, 0},
    {"respond", EARNED "hold int; " ROWS "reward float64[trials]; event int", run_respond, 0},
    {"answer",
     SCORED "hold int; " ROWS "right int64[block]; reward float64[trials]; needed uint8[trials] out", run_answer, 0},
    {"run_out",
     SCORED "last int64[trials]; needed uint8[trials]; miss float64[trials] optional; "
            "withhold float64[trials] optional",
     run_run_out, 0},
    {0}};
