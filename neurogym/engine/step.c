/* One step of many environments whose blocks of trials lie side by side in pools (step.py has the plain form). */

#include <math.h>

#include "kernel.h"

enum { NONE, CORRECT, ERROR, ABORT, OUTCOME = 7, END = 8 }; /* an event, as in rules.py: an outcome, and if it ends */

/* Tables (environment, entry, action) of what actions earn, add and mean, and what is `right` (environment, entry); the
   `code` of a row is the entry that holds for it; `offset` is where a trial begins in its block, `go` its go cue in it.
   Where environments are, all (environment): `at` is a row of the flattened pools, `first` the row at which the `trial`
   began. A step fills `rewards`, whether trials `ended`, the `truth` if anything is right, and for trials that ended
   `counts` (environment, trial, outcome, steps, aborts) and `sums` (performance, reward, reaction time in steps). */
#define ADVANCE(X)                                                                                                     \
    X(IN, action, int64, n) X(INT, hold) X(IN, code, int32, n,rows) X(IN, reward, float64, n,entries,actions)          \
    X(IN, performance, float64, n,entries,actions) X(IN, event, uint8, n,entries,actions)                              \
    X(MAYBE, right, int64, n,entries) X(IN, offset, int64, n,trials) X(IN, go, int64, n,trials)                        \
    X(OUT, at, int64, n) X(OUT, first, int64, n) X(OUT, trial, int64, n) X(IN, n_trials, int64, n)                     \
    X(OUT, aborts, int64, n) X(OUT, score, float64, n) X(OUT, sum, float64, n) X(OUT, counts, int64, 5,n)              \
    X(OUT, sums, float64, 3,n) X(OUT, rewards, float64, n) X(OUT, ended, uint8, n) X(MAYBE_OUT, truth, int64, n)
DECLARE(advance, ADVANCE, n, rows, entries, actions, trials)

/* Whether every environment is at a place of its own part of the pools. What lies there is requested meanwhile: places
   of environments are far apart, so that a step would else wait for each in turn. */
static int within_pools(const struct advance_arguments *a, const struct advance_sizes *s) {
    for (int64_t i = 0; i < s->n; i++) {
        int64_t begin = i * s->rows, end = begin + s->rows;
        if (a->at[i] < begin || a->at[i] >= end || a->first[i] < begin || a->first[i] > a->at[i]) return 0;
        if (a->trial[i] < 0 || a->trial[i] >= s->trials || a->n_trials[i] > s->trials) return 0;
        __builtin_prefetch(a->code + a->at[i]);
    }
    for (int64_t i = 0; i < s->n; i++) {
        int64_t code = a->code[a->at[i]], cell = (i * s->entries + code) * s->actions;
        if (code < 0 || code >= s->entries) return 0;
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
        int64_t entry = i * s->entries + a->code[a->at[i]], cell = entry * s->actions + a->action[i];
        uint8_t event = a->event[cell];
        a->rewards[i] = a->reward[cell];
        if (a->right) a->truth[i] = a->right[entry];
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

/* What actions earn, add to performance and mean, and what is right, in rows or in the entries of a table. */
struct table {
    int64_t actions;
    const double *reward, *performance; /* (row, action) */
    const uint8_t *event;
    const int64_t *right; /* (row), or null */
};

/* Bits of a number: two zeros of different sign are not alike, a number that is none is like itself. */
static uint64_t bits(const double *number) {
    uint64_t word;
    memcpy(&word, number, sizeof word);
    return word;
}

static int alike(const struct table *a, int64_t i, const struct table *b, int64_t j) {
    int64_t n = a->actions, from = i * n, to = j * n;
    uint64_t differ = a->right ? (uint64_t)(a->right[i] ^ b->right[j]) : 0;
    for (int64_t k = 0; k < n; k++) {
        differ |= bits(a->reward + from + k) ^ bits(b->reward + to + k);
        differ |= bits(a->performance + from + k) ^ bits(b->performance + to + k);
        differ |= (uint64_t)(a->event[from + k] ^ b->event[to + k]);
    }
    return !differ;
}

static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_of(const struct table *t, int64_t i) {
    uint64_t hash = t->right ? (uint64_t)t->right[i] : 0;
    for (int64_t cell = i * t->actions; cell < (i + 1) * t->actions; cell++) {
        hash = mixed(hash, bits(t->reward + cell) + t->event[cell]);
        hash = mixed(hash, bits(t->performance + cell));
    }
    return hash;
}

#define DISTINCT(X)                                                                                                    \
    X(IN, reward, float64, rows,actions) X(IN, performance, float64, rows,actions) X(IN, event, uint8, rows,actions)   \
    X(MAYBE, right, int64, rows) X(OUT, code, int32, rows) X(OUT, rewards, float64, entries,actions)                   \
    X(OUT, performances, float64, entries,actions) X(OUT, events, uint8, entries,actions)                              \
    X(MAYBE_OUT, truths, int64, entries) X(OUT, slots, int64, slots)
DECLARE(distinct, DISTINCT, rows, actions, entries, slots)

/* Gives each row the entry that is like it, to the bit, in the order in which entries are first needed; `slots`, zeros
   at first and a power of two of them, more than there are entries, finds entries by their hash. Returns how many there
   are, or -1 if there is not room for all. */
static int64_t distinct(const struct distinct_arguments *a, const struct distinct_sizes *s) {
    struct table rows = {s->actions, a->reward, a->performance, a->event, a->right};
    struct table entries = {s->actions, a->rewards, a->performances, a->events, a->truths};
    int64_t count = 0, n = s->actions, *slots = a->slots;
    uint64_t last_slot = (uint64_t)(s->slots - 1);
    for (int64_t i = 0; i < s->rows; i++) {
        if (i && alike(&rows, i, &rows, i - 1)) {
            a->code[i] = a->code[i - 1];
            continue;
        }
        uint64_t slot = hash_of(&rows, i) & last_slot;
        while (slots[slot] && !alike(&rows, i, &entries, slots[slot] - 1)) slot = (slot + 1) & last_slot;
        if (!slots[slot]) {
            if (count == s->entries) return -1;
            memcpy(a->rewards + count * n, a->reward + i * n, (size_t)n * sizeof(double));
            memcpy(a->performances + count * n, a->performance + i * n, (size_t)n * sizeof(double));
            memcpy(a->events + count * n, a->event + i * n, (size_t)n);
            if (a->right) a->truths[count] = a->right[i];
            slots[slot] = ++count;
        }
        a->code[i] = (int32_t)(slots[slot] - 1);
    }
    return count;
}

static const char *run_distinct(struct call *c) {
    TAKE(distinct);
    if (given.right && !given.truths) return "there is no place for what is right";
    if (size.slots <= size.entries || size.slots & (size.slots - 1))
        return "slots are not a power of two above entries";
    memset(given.slots, 0, (size_t)size.slots * sizeof(int64_t));
    c->result = distinct(&given, &size);
    return 0;
}

const struct kernel BATCH_KERNELS[] = {KERNEL(advance, 0), KERNEL(distinct, 0), {0}};
