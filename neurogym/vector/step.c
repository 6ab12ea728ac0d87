/* One step of many environments whose blocks of trials lie side by side in pools (step.py has the plain form). */

#include <math.h>
#include <string.h>

#include "kernel.h"

enum { NONE, CORRECT, ERROR, ABORT, OUTCOME = 7, END = 8 }; /* an event, as in rules.py: an outcome, and if it ends */

struct batch {
    int64_t n, actions, capacity, entries, trials; /* environments, actions of each, room for rows, entries, trials */
    int64_t hold;                       /* the action that is no response, or -1 */
    const int32_t *code;                /* (environment, row): the entry of the tables that holds for a row */
    const double *reward, *performance; /* tables (environment, entry, action) */
    const uint8_t *event;
    const int64_t *right;                 /* (environment, entry), or null: what is right */
    const int64_t *offset, *go;           /* (environment, trial): where a trial begins in its block, its go in it */
    int64_t *at, *first, *trial, *n_trials, *aborts; /* (environment) */
    double *score, *sum;
};

/* Rewards, whether trials ended, and for those that did counts (environment, trial, outcome, steps, aborts;
   environment) and sums (performance, reward, reaction time in steps; environment). */
struct step {
    double *rewards, *sums;
    uint8_t *ended;
    int64_t *counts, *truth; /* what was right (environment), if anything is */
};

/* Whether every environment is at a place of its own part of the pools. What lies there is requested meanwhile: places of
   environments are far apart, so that a step would else wait for each in turn. */
static int within_pools(const struct batch *b) {
    for (int64_t i = 0; i < b->n; i++) {
        int64_t begin = i * b->capacity, end = begin + b->capacity;
        if (b->at[i] < begin || b->at[i] >= end || b->first[i] < begin || b->first[i] > b->at[i]) return 0;
        if (b->trial[i] < 0 || b->trial[i] >= b->trials || b->n_trials[i] > b->trials) return 0;
        __builtin_prefetch(b->code + b->at[i]);
    }
    for (int64_t i = 0; i < b->n; i++) {
        int64_t code = b->code[b->at[i]], cell = (i * b->entries + code) * b->actions;
        if (code < 0 || code >= b->entries) return 0;
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
        int64_t entry = i * b->entries + b->code[b->at[i]], cell = entry * b->actions + action[i];
        uint8_t event = b->event[cell];
        found.rewards[i] = b->reward[cell];
        if (b->right) found.truth[i] = b->right[entry];
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
    enum { ACTION, HOLD, CODE, REWARD, PERFORMANCE, EVENT, RIGHT, OFFSET, GO, AT, FIRST, TRIAL, N_TRIALS, ABORTS, SCORE,
           SUM, COUNTS, SUMS, REWARDS, ENDED, TRUTH };
    const union value *v = c->value;
    struct batch b = {
        .n = c->size[0], .capacity = c->size[1], .entries = c->size[2], .actions = c->size[3], .trials = c->size[4],
        .hold = v[HOLD].integer, .code = v[CODE].array, .reward = v[REWARD].array,
        .performance = v[PERFORMANCE].array, .event = v[EVENT].array, .right = v[RIGHT].array,
        .offset = v[OFFSET].array, .go = v[GO].array, .at = v[AT].array, .first = v[FIRST].array,
        .trial = v[TRIAL].array, .n_trials = v[N_TRIALS].array, .aborts = v[ABORTS].array, .score = v[SCORE].array,
        .sum = v[SUM].array};
    struct step found = {v[REWARDS].array, v[SUMS].array, v[ENDED].array, v[COUNTS].array, v[TRUTH].array};
    const int64_t *action = v[ACTION].array;
    if (b.right && !found.truth) return "there is no place for what was right";
    if (!within_pools(&b)) return "an environment is outside its block of trials";
    for (int64_t i = 0; i < b.n; i++)
        if ((uint64_t)action[i] >= (uint64_t)b.actions) {
            c->result = -1;
            return 0;
        }
    c->result = advance(&b, action, found);
    return 0;
}

/* What actions earn, add to performance and mean, and what is right, in rows or in the entries of a table. */
struct table {
    int64_t actions;
    double *reward, *performance; /* (row, action) */
    uint8_t *event;
    int64_t *right; /* (row), or null */
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

/* Gives each row the entry that is like it, to the bit, in the order in which entries are first needed; `slots`, zeros
   at first and a power of two of them, more than there are entries, finds entries by their hash. Returns how many there
   are, or -1 if there is not room for all. */
static int64_t distinct(const struct table *rows, int64_t n, int32_t *code, const struct table *entries, int64_t room,
                        int64_t *slots, int64_t n_slots) {
    int64_t count = 0, actions = rows->actions;
    for (int64_t i = 0; i < n; i++) {
        if (i && alike(rows, i, rows, i - 1)) {
            code[i] = code[i - 1];
            continue;
        }
        uint64_t slot = hash_of(rows, i) & (uint64_t)(n_slots - 1);
        while (slots[slot] && !alike(rows, i, entries, slots[slot] - 1)) slot = (slot + 1) & (uint64_t)(n_slots - 1);
        if (!slots[slot]) {
            if (count == room) return -1;
            for (int64_t a = 0; a < actions; a++) {
                entries->reward[count * actions + a] = rows->reward[i * actions + a];
                entries->performance[count * actions + a] = rows->performance[i * actions + a];
                entries->event[count * actions + a] = rows->event[i * actions + a];
            }
            if (rows->right) entries->right[count] = rows->right[i];
            slots[slot] = ++count;
        }
        code[i] = (int32_t)(slots[slot] - 1);
    }
    return count;
}

static const char *run_distinct(struct call *c) {
    enum { REWARD, PERFORMANCE, EVENT, RIGHT, CODE, REWARDS, PERFORMANCES, EVENTS, TRUTHS, SLOTS };
    enum { ROWS, ACTIONS, ENTRIES, N_SLOTS };
    const union value *v = c->value;
    const int64_t *s = c->size;
    struct table rows = {s[ACTIONS], v[REWARD].array, v[PERFORMANCE].array, v[EVENT].array, v[RIGHT].array};
    struct table entries = {s[ACTIONS], v[REWARDS].array, v[PERFORMANCES].array, v[EVENTS].array, v[TRUTHS].array};
    if (rows.right && !entries.right) return "there is no place for what is right";
    if (s[N_SLOTS] <= s[ENTRIES] || s[N_SLOTS] & (s[N_SLOTS] - 1)) return "slots are not a power of two above entries";
    memset(v[SLOTS].array, 0, (size_t)s[N_SLOTS] * sizeof(int64_t));
    c->result = distinct(&rows, s[ROWS], v[CODE].array, &entries, s[ENTRIES], v[SLOTS].array, s[N_SLOTS]);
    return 0;
}

const struct kernel BATCH_KERNELS[] = {
    {"advance",
     "action int64[n]; hold int; code int32[n,rows]; reward float64[n,entries,actions]; "
     "performance float64[n,entries,actions]; event uint8[n,entries,actions]; right int64[n,entries] optional; "
     "offset int64[n,trials]; go int64[n,trials]; at int64[n] out; first int64[n] out; trial int64[n] out; "
     "n_trials int64[n]; aborts int64[n] out; score float64[n] out; sum float64[n] out; counts int64[5,n] out; "
     "sums float64[3,n] out; rewards float64[n] out; ended uint8[n] out; truth int64[n] out optional",
     run_advance, 0},
    {"distinct",
     "reward float64[rows,actions]; performance float64[rows,actions]; event uint8[rows,actions]; "
     "right int64[rows] optional; code int32[rows] out; rewards float64[entries,actions] out; "
     "performances float64[entries,actions] out; events uint8[entries,actions] out; "
     "truths int64[entries] out optional; slots int64[slots] out",
     run_distinct, 0},
    {0}};
