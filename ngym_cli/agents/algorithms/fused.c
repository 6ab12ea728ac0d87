/* An actor-critic agent that is one layer of a recurrent network with a linear read-out and chooses among actions: how
   it acts, and the gradient of its objective over the sequences of a minibatch (actor.py and objective.py have the
   plain forms).

   For the gradient a few sequences are taken all the way, forward, through the objective and back, before the next are:
   what they leave behind for the way back stays in the cache. Such groups are dealt into at most CHUNKS chunks, each
   with sums of its own, which are added up in order: the result does not depend on how many threads share the work. */

#include <math.h>

#include "kernel.h"
#include "loops.h"

#define BLOCK 128      /* steps whose gates stay in the nearest cache while the gradient of the weights is summed */
#define STEPS 256      /* steps that are taken at a time, */
#define SIDE_BY_SIDE 8 /* or sequences if those are more steps: their gates stay in the cache */
#define CHUNKS 8

enum { POLICY, VALUE, ENTROPY, KL, CLIPPED, STATISTICS };

/* Weights of h (gate * unit, unit) and of the inputs (gate * unit, feature), two biases (gate * unit), weights and
   biases of the preferences (action, unit), (action) and of the value (1, unit), (1). */
enum { OF_H, OF_INPUTS, BIAS, SECOND_BIAS, OF_ACTIONS, ACTION_BIAS, OF_VALUE, VALUE_BIAS, WEIGHTS };

/* Sizes of the agent. */
struct agent {
    int64_t cell, features, units, actions;
    int64_t depth, wide, outputs; /* units + features + 1; gates * units; actions + 1 */
    int noisy;
};

/* The rollout, with a step at time t of environment e in place t * envs + e. */
struct rollout {
    int64_t envs, places;
    const float *obs, *noise;          /* (place, feature), (place, unit); noise may be null */
    float *h, *c;                      /* (place, unit), states before the step; c may be null */
    float *logits, *values;            /* (place, action), (place) */
    int64_t *chosen;                   /* (place): actions */
    float *old;                        /* (place): log-probabilities of the actions */
    const float *advantages, *returns; /* (place) */
    const uint8_t *counts;             /* (place): whether it is learned from */
};

struct objective {
    float clip, reach, ent_coef, vf_coef; /* reach: how far values may go from the old ones */
    float mean, scale, share;             /* of advantages, and the weight of a step */
};

/* The weights as they are worked with. */
struct packed {
    float *head_bias;     /* (action + 1) */
    float *gates, *state; /* panels of [h, x, 1] to the gates, and of the gates back to h */
    float *read, *unread; /* panels of h to preferences and value, and back */
    float *weight, *heads; /* (gate * unit, unit + feature + 1), (action + 1, unit) */
};

/* Sums over the steps of a chunk. */
struct sums {
    float *weight;       /* (unit + feature + 1, gate * unit): gradient */
    float *heads, *bias; /* (action + 1, unit), (action + 1): gradient */
};

/* What is worked on at a time. */
struct work {
    struct loop loop;
    int64_t *counts, *chosen;
    float *known[5]; /* (step): old log-probabilities, advantages, returns, values, weights */
    float *outputs;  /* (step, action + 1): preferences and value, then their gradient */
    lanes *x, *p;    /* (action + 1): the same of some steps side by side, and probabilities */
};

enum { OLD, ADVANTAGE, RETURN, BEFORE, WEIGHT };

/* -- layouts ------------------------------------------------------------------------------------------------------- */

/* Arrays lie one after the other in memory that Python owns, each at the beginning of a line of the cache. */
static int64_t aligned(int64_t size) { return (size + 15) / 16 * 16; }

static float *first_line(float *memory) { return (float *)(((uintptr_t)memory + 63) / 64 * 64); }

#define LAY(pointer, size) ((pointer) = (void *)(memory + at), at += aligned(size))

static int64_t lay_packed(const struct agent *a, struct packed *p, float *memory) {
    int64_t at = 0;
    memory = first_line(memory);
    LAY(p->head_bias, a->outputs);
    LAY(p->gates, packed_size(a->depth, a->wide));
    LAY(p->state, packed_size(a->wide, a->units));
    LAY(p->read, packed_size(a->units, a->outputs));
    LAY(p->unread, packed_size(a->outputs, a->units));
    LAY(p->weight, a->wide * a->depth);
    LAY(p->heads, a->outputs * a->units);
    return at + 16;
}

static int64_t lay_sums(const struct agent *a, struct sums *s, float *memory) {
    int64_t at = 0;
    memory = first_line(memory);
    LAY(s->weight, a->depth * a->wide);
    LAY(s->heads, a->outputs * a->units);
    LAY(s->bias, a->outputs);
    return at + 16;
}

static int64_t lay_work(const struct agent *a, int64_t steps, int has_c, struct work *w, float *memory) {
    int64_t at = 0, units = steps * a->units;
    struct loop *l = &w->loop;
    memset(w, 0, sizeof *w);
    memory = first_line(memory);
    LAY(w->counts, 2 * steps);
    LAY(w->chosen, 2 * steps);
    for (int k = 0; k < 5; k++) LAY(w->known[k], steps);
    LAY(w->outputs, steps * a->outputs);
    LAY(w->x, a->outputs * LANES);
    LAY(w->p, a->outputs * LANES);
    LAY(l->x, steps * a->features);
    LAY(l->noise, a->noisy ? steps * a->wide : 0);
    LAY(l->h0, units);
    LAY(l->c0, units);
    LAY(l->dh0, units);
    LAY(l->dc0, units);
    LAY(l->rows, steps * a->depth);
    LAY(l->gates, steps * a->wide);
    LAY(l->h, units);
    LAY(l->c, has_c ? units : 0);
    LAY(l->squashed, has_c ? units : 0);
    l->cell = a->cell, l->features = a->features, l->units = a->units, l->counts = w->counts;
    if (!a->noisy) l->noise = 0;
    return at + 16;
}

/* Most steps that are taken at a time. */
static int64_t most_steps(int64_t envs, int64_t longest) {
    int64_t steps = STEPS > envs ? STEPS : envs;
    return steps > SIDE_BY_SIDE * longest ? steps : SIDE_BY_SIDE * longest;
}

/* -- acting -------------------------------------------------------------------------------------------------------- */

static void prepare(const struct agent *a, const float *const *weight, const struct packed *p) {
    int64_t units = a->units, features = a->features, depth = a->depth;
    for (int64_t r = 0; r < a->wide; r++) {
        float *row = p->weight + r * depth;
        memcpy(row, weight[OF_H] + r * units, 4 * units);
        memcpy(row + units, weight[OF_INPUTS] + r * features, 4 * features);
        row[depth - 1] = weight[BIAS][r] + weight[SECOND_BIAS][r];
    }
    memcpy(p->heads, weight[OF_ACTIONS], 4 * a->actions * units);
    memcpy(p->heads + a->actions * units, weight[OF_VALUE], 4 * units);
    memcpy(p->head_bias, weight[ACTION_BIAS], 4 * a->actions);
    p->head_bias[a->actions] = *weight[VALUE_BIAS];
    pack(p->weight, 1, depth, depth, a->wide, p->gates);
    pack(p->weight, depth, 1, a->wide, units, p->state);
    pack(p->heads, 1, units, units, a->outputs, p->read);
    pack(p->heads, units, 1, a->outputs, units, p->unread);
}

/* Preferences and values of n steps from h. */
static void read_out(const struct agent *a, const struct packed *p, const float *h, int64_t n, float *outputs) {
    for (int64_t r = 0; r < n; r++) memcpy(outputs + r * a->outputs, p->head_bias, 4 * a->outputs);
    multiply(h, n, a->units, p->read, outputs, a->outputs, 1);
}

/* Every environment takes the action at this time that is preferred most once the draws (environment, action) are
   added: fills actions, their log-probabilities, preferences, values and the states after the step. */
static void act(const struct agent *a, const struct packed *p, const struct rollout *o, struct work *w, int64_t time,
                float noise_scale, const float *draws) {
    int64_t n = o->envs, units = a->units, at = time * n;
    struct loop *l = &w->loop;
    w->counts[0] = n;
    l->times = 1;
    l->x = o->obs + at * a->features;
    l->h0 = o->h + at * units, l->h = o->h + (at + n) * units;
    if (o->c) l->c0 = o->c + at * units, l->c = o->c + (at + n) * units;
    float *noise = (float *)l->noise;
    for (int64_t i = 0; noise && i < n * a->wide; i++) noise[i] = noise_scale * o->noise[at * a->wide + i];
    l->panels = p->gates;
    loop_forward(l);
    read_out(a, p, l->h, n, w->outputs);
    for (int64_t r = 0; r < n; r++) {
        const float *outputs = w->outputs + r * a->outputs, *drawn = draws + r * a->actions;
        int64_t best = 0, most = 0;
        for (int64_t k = 1; k < a->actions; k++) {
            if (outputs[k] + drawn[k] > outputs[best] + drawn[best]) best = k;
            if (outputs[k] > outputs[most]) most = k;
        }
        float total = 0;
        for (int64_t k = 0; k < a->actions; k++) total += expf(outputs[k] - outputs[most]);
        o->old[at + r] = outputs[best] - outputs[most] - logf(total);
        memcpy(o->logits + (at + r) * a->actions, outputs, 4 * a->actions);
        o->values[at + r] = outputs[a->actions];
        o->chosen[at + r] = best;
    }
}

/* -- learning ------------------------------------------------------------------------------------------------------ */

static inline lanes logarithm(lanes x) {
    for (int64_t i = 0; i < LANES; i++) x[i] = logf(x[i]);
    return x;
}

/* Adds to the numbers; the outputs become their gradient. Several steps are looked at side by side. */
static void objective(const struct agent *a, const struct objective *o, const struct work *w, int64_t n,
                      double *numbers) {
    int64_t wide = a->outputs, actions = a->actions;
    lanes *x = w->x, *p = w->p, sums[STATISTICS];
    memset(sums, 0, sizeof sums);
    for (int64_t at = 0; at < n; at += LANES) {
        int64_t left = n - at < LANES ? n - at : LANES;
        float *outputs = w->outputs + at * wide;
        const int64_t *chosen = w->chosen + at;
        lanes none = {0}, most = none - INFINITY, total = none, entropy = none, log_prob = none, known[5];
        for (int64_t k = 0; k < 5; k++) known[k] = load(w->known[k] + at, left);
        memset(x, 0, sizeof(lanes) * wide);
        for (int64_t i = 0; i < left; i++)
            for (int64_t k = 0; k < wide; k++) x[k][i] = outputs[i * wide + k];
        for (int64_t k = 0; k < actions; k++) most = choose(x[k] > most, x[k], most);
        for (int64_t k = 0; k < actions; k++) total += p[k] = exponential(x[k] - most);
        lanes rest = most + logarithm(total), share = inverse(total);
        for (int64_t k = 0; k < actions; k++) {
            x[k] -= rest;
            p[k] *= share;
            entropy -= p[k] * x[k];
        }
        for (int64_t i = 0; i < left; i++) log_prob[i] = x[chosen[i]][i];

        lanes weight = known[WEIGHT], log_ratio = log_prob - known[OLD], ratio = exponential(log_ratio);
        lanes inside = within(none + 1.f - o->clip, ratio, none + 1.f + o->clip);
        lanes gain = known[ADVANTAGE] * ratio, bounded = known[ADVANTAGE] * inside;
        lanes value = x[actions], moved = value - known[BEFORE];
        lanes held = within(none - o->reach, moved, none + o->reach);
        lanes error = choose(held == moved, value, known[BEFORE] + held) - known[RETURN];
        sums[POLICY] -= weight * choose(bounded < gain, bounded, gain);
        sums[VALUE] += weight * error * error;
        sums[ENTROPY] -= weight * entropy;
        sums[KL] += weight * (ratio - 1.f - log_ratio);
        sums[CLIPPED] += choose(ratio != inside, weight, none);

        lanes by_log_prob = -choose(gain <= bounded, gain * weight, none), by_entropy = -o->ent_coef * weight;
        lanes by_value = 2 * o->vf_coef * choose(held == moved, error * weight, none);
        for (int64_t k = 0; k < actions; k++) x[k] = -p[k] * (by_log_prob + by_entropy * (x[k] + entropy));
        for (int64_t i = 0; i < left; i++) {
            for (int64_t k = 0; k < actions; k++) outputs[i * wide + k] = x[k][i];
            outputs[i * wide + chosen[i]] += by_log_prob[i];
            outputs[i * wide + actions] = by_value[i];
        }
    }
    for (int64_t k = 0; k < STATISTICS; k++)
        for (int64_t i = 0; i < LANES; i++) numbers[k] += sums[k][i];
}

/* Copies sequences (from..to) out of the rollout, the first step of each, then the second of all that have one; returns
   the number of steps. */
static int64_t gather(const struct agent *a, const struct rollout *o, const struct objective *j, struct work *w,
                      const int64_t *first, const int64_t *length, int64_t sequences, float noise_scale) {
    int64_t n = 0, units = a->units, features = a->features, wide = a->wide;
    float *x = (float *)w->loop.x, *noise = (float *)w->loop.noise;
    float *h0 = (float *)w->loop.h0, *c0 = (float *)w->loop.c0;
    for (int64_t s = 0; s < sequences; s++) {
        memcpy(h0 + s * units, o->h + first[s] * units, 4 * units);
        if (o->c) memcpy(c0 + s * units, o->c + first[s] * units, 4 * units);
    }
    for (int64_t t = 0; t < length[0]; t++) {
        int64_t before = n;
        for (int64_t s = 0; s < sequences && t < length[s]; s++, n++) {
            int64_t place = first[s] + t * o->envs;
            memcpy(x + n * features, o->obs + place * features, 4 * features);
            for (int64_t i = 0; noise && i < wide; i++) noise[n * wide + i] = noise_scale * o->noise[place * wide + i];
            w->chosen[n] = o->chosen[place];
            w->known[OLD][n] = o->old[place];
            w->known[ADVANTAGE][n] = (o->advantages[place] - j->mean) * j->scale;
            w->known[RETURN][n] = o->returns[place];
            w->known[BEFORE][n] = o->values[place];
            w->known[WEIGHT][n] = o->counts[place] ? j->share : 0;
        }
        w->counts[t] = n - before;
    }
    return n;
}

/* sum (depth, columns) += transpose of a (n, depth) times b (n, columns). */
static void add_products(const float *a, const float *b, int64_t n, int64_t depth, int64_t columns, float *sum) {
    int64_t whole = columns - columns % WIDTH, rest = columns - whole;
    for (int64_t k = 0; k < n; k += BLOCK, a += BLOCK * depth, b += BLOCK * columns) {
        int64_t some = n - k < BLOCK ? n - k : BLOCK;
        for (int64_t j = 0; j < whole; j += WIDTH) strip(a, 1, depth, depth, some, b + j, columns, sum + j, columns, 1);
        if (!rest) continue;
        float last[BLOCK * WIDTH] = {0}, edge[TALL * WIDTH];
        for (int64_t i = 0; i < some; i++) memcpy(last + i * WIDTH, b + i * columns + whole, 4 * rest);
        for (int64_t r = 0; r < depth; r += TALL) {
            int64_t rows = depth - r < TALL ? depth - r : TALL;
            strip(a + r, 1, depth, rows, some, last, WIDTH, edge, WIDTH, 0);
            for (int64_t i = 0; i < rows * rest; i++)
                sum[(r + i / rest) * columns + whole + i % rest] += edge[i / rest * WIDTH + i % rest];
        }
    }
}

/* Takes n steps of sequences that have been gathered all the way. */
static void take(const struct agent *a, const struct packed *p, const struct objective *o, struct work *w, int64_t n,
                 int64_t sequences, struct sums *sums, double *numbers) {
    struct loop *l = &w->loop;
    l->panels = p->gates;
    loop_forward(l);
    read_out(a, p, l->h, n, w->outputs);
    objective(a, o, w, n, numbers);
    add_products(w->outputs, l->h, n, a->outputs, a->units, sums->heads);
    for (int64_t r = 0; r < n; r++)
        for (int64_t k = 0; k < a->outputs; k++) sums->bias[k] += w->outputs[r * a->outputs + k];
    multiply(w->outputs, n, a->outputs, p->unread, l->h, a->units, 0); /* h is not needed any more: rows hold it */
    struct loop back = *l;
    back.panels = p->state;
    back.dh = l->h;
    back.h0_fixed = 1;
    memset(l->dh0, 0, 4 * sequences * a->units);
    memset(l->dc0, 0, 4 * sequences * a->units);
    loop_backward(&back);
    add_products(l->rows, l->gates, n, a->depth, a->wide, sums->weight);
}

/* Where the group of sequences that begins with this one ends. */
static int64_t group_end(const int64_t *length, int64_t from, int64_t sequences) {
    int64_t steps = length[from], to = from + 1;
    for (; to < sequences && (steps + length[to] <= STEPS || to - from < SIDE_BY_SIDE); to++) steps += length[to];
    return to;
}

static int64_t count_groups(const int64_t *length, int64_t sequences) {
    int64_t groups = 0;
    for (int64_t from = 0; from < sequences; groups++) from = group_end(length, from, sequences);
    return groups;
}

/* Sums over the sequences of a chunk. */
static void learn(const struct agent *a, const struct packed *p, const struct rollout *o, const struct objective *j,
                  struct work *w, const int64_t *first, const int64_t *length, int64_t sequences, int64_t chunk,
                  int64_t chunks, float noise_scale, struct sums *sums, double *numbers) {
    int64_t groups = count_groups(length, sequences), begin = groups * chunk / chunks;
    int64_t end = groups * (chunk + 1) / chunks;
    memset(sums->weight, 0, 4 * a->depth * a->wide);
    memset(sums->heads, 0, 4 * a->outputs * a->units);
    memset(sums->bias, 0, 4 * a->outputs);
    memset(numbers, 0, 8 * STATISTICS);
    for (int64_t from = 0, group = 0, to; from < sequences; from = to, group++) {
        to = group_end(length, from, sequences);
        if (group < begin || group >= end) continue;
        int64_t n = gather(a, o, j, w, first + from, length + from, to - from, noise_scale);
        w->loop.times = length[from];
        take(a, p, j, w, n, to - from, sums, numbers);
    }
}

/* Hands the sums of all chunks over, in the order of the weights; those of the first become those of all. */
static void collect(const struct agent *a, float *memory, int64_t chunks, int64_t apart, float *const *to) {
    struct sums all, *s = &all;
    lay_sums(a, s, memory);
    for (int64_t k = 1; k < chunks; k++) {
        struct sums more;
        lay_sums(a, &more, memory + k * apart);
        for (int64_t i = 0; i < a->depth * a->wide; i++) all.weight[i] += more.weight[i];
        for (int64_t i = 0; i < a->outputs * a->units; i++) all.heads[i] += more.heads[i];
        for (int64_t i = 0; i < a->outputs; i++) all.bias[i] += more.bias[i];
    }
    int64_t units = a->units, features = a->features, wide = a->wide;
    for (int64_t r = 0; r < wide; r++) {
        for (int64_t i = 0; i < units; i++) to[OF_H][r * units + i] = s->weight[i * wide + r];
        for (int64_t i = 0; i < features; i++) to[OF_INPUTS][r * features + i] = s->weight[(units + i) * wide + r];
    }
    for (int k = BIAS; k <= SECOND_BIAS; k++) memcpy(to[k], s->weight + (units + features) * wide, 4 * wide);
    memcpy(to[OF_ACTIONS], s->heads, 4 * a->actions * units);
    memcpy(to[ACTION_BIAS], s->bias, 4 * a->actions);
    memcpy(to[OF_VALUE], s->heads + a->actions * units, 4 * units);
    *to[VALUE_BIAS] = s->bias[a->actions];
}

/* -- as Python calls them ------------------------------------------------------------------------------------------ */

/* Fills in the sizes; returns what does not fit, or null. */
static const char *agent_of(struct agent *a, int64_t cell, int64_t features, int64_t units, int64_t actions, int noisy) {
    if (cell < LSTM || cell > RELU) return "there is no such cell";
    if (features < 0 || units < 1 || actions < 1) return "there are no units or no actions";
    *a = (struct agent){cell, features, units, actions, units + features + 1, GATES[cell] * units, actions + 1, noisy};
    return 0;
}

static const char NO_ROOM[] = "there is no room for what is worked on";

static const char *run_sizes(struct call *c) {
    enum { CELL, FEATURES, UNITS, ACTIONS, NOISY, ENVS, LONGEST, FOUND };
    const union value *v = c->value;
    int64_t *found = v[FOUND].array;
    struct agent a;
    struct packed p;
    struct sums s;
    struct work w;
    const char *problem = agent_of(&a, v[CELL].integer, v[FEATURES].integer, v[UNITS].integer, v[ACTIONS].integer,
                                   v[NOISY].integer != 0);
    if (problem) return problem;
    found[0] = lay_packed(&a, &p, 0);
    found[1] = lay_sums(&a, &s, 0);
    found[2] = lay_work(&a, most_steps(v[ENVS].integer, v[LONGEST].integer), 1, &w, 0);
    found[3] = CHUNKS;
    return 0;
}

static const char *run_prepare(struct call *c) {
    enum { CELL, WEIGHT };
    enum { WIDE, UNITS, FEATURES, ACTIONS, ROOM };
    const union value *v = c->value;
    const int64_t *s = c->size;
    const float *weight[WEIGHTS];
    struct agent a;
    struct packed p;
    const char *problem = agent_of(&a, v[CELL].integer, s[FEATURES], s[UNITS], s[ACTIONS], 0);
    if (problem) return problem;
    if (s[WIDE] != a.wide) return "the gates do not fit the units";
    if (s[ROOM] < lay_packed(&a, &p, 0)) return NO_ROOM;
    lay_packed(&a, &p, v[WEIGHT + WEIGHTS].array);
    for (int k = 0; k < WEIGHTS; k++) weight[k] = v[WEIGHT + k].array;
    prepare(&a, weight, &p);
    return 0;
}

static const char *run_act(struct call *c) {
    enum { CELL, ALPHA, NOISE_SCALE, TIME, PACKED, WORK, OBS, NOISE, H, C, LOGITS, VALUES, CHOSEN, OLD_LOG, DRAWS };
    enum { PACKED_ROOM, WORK_ROOM, PLACES, FEATURES, WIDE, STATES, UNITS, ACTIONS, ENVS };
    const union value *v = c->value;
    const int64_t *s = c->size;
    struct agent a;
    struct packed p;
    struct work w;
    const char *problem = agent_of(&a, v[CELL].integer, s[FEATURES], s[UNITS], s[ACTIONS], v[NOISE].array != 0);
    if (problem) return problem;
    if (v[NOISE].array && s[WIDE] != a.wide) return "the noise does not fit the units";
    if (a.cell == LSTM && !v[C].array) return "an LSTM has a state c";
    if (v[TIME].integer < 0 || v[TIME].integer >= s[PLACES] / (s[ENVS] ? s[ENVS] : 1)) return "there is no such step";
    if (s[STATES] != s[PLACES] + s[ENVS]) return "there is not a state before and after each step";
    if (s[PACKED_ROOM] < lay_packed(&a, &p, 0) || s[WORK_ROOM] < lay_work(&a, s[ENVS], v[C].array != 0, &w, 0))
        return NO_ROOM;
    lay_packed(&a, &p, v[PACKED].array);
    lay_work(&a, s[ENVS], v[C].array != 0, &w, v[WORK].array);
    w.loop.alpha = v[ALPHA].real;
    struct rollout o = {.envs = s[ENVS], .places = s[PLACES], .obs = v[OBS].array, .noise = v[NOISE].array,
                        .h = v[H].array, .c = v[C].array, .logits = v[LOGITS].array, .values = v[VALUES].array,
                        .chosen = v[CHOSEN].array, .old = v[OLD_LOG].array};
    act(&a, &p, &o, &w, v[TIME].integer, v[NOISE_SCALE].real, v[DRAWS].array);
    return 0;
}

/* Whether sequences lie in the rollout, the longest first. */
static int in_rollout(const int64_t *first, const int64_t *length, int64_t sequences, int64_t envs, int64_t places) {
    if (envs < 1 || places % envs) return 0;
    for (int64_t s = 0; s < sequences; s++) {
        if (length[s] < 1 || length[s] > places / envs || first[s] < 0) return 0;
        if (first[s] + (length[s] - 1) * envs >= places || (s && length[s] > length[s - 1])) return 0;
    }
    return 1;
}

static const char NOT_IN_ROLLOUT[] = "sequences do not lie in the rollout, the longest first";

/* The number of steps that are learned from, mean and scale of their advantages; returns the number of chunks. */
static const char *run_deal(struct call *c) {
    enum { ENVS, NORMALIZE, ADVANTAGES, COUNTS, FIRST, LENGTH, FOUND };
    enum { PLACES, SEQUENCES };
    const union value *v = c->value;
    const float *advantages = v[ADVANTAGES].array;
    const uint8_t *counts = v[COUNTS].array;
    const int64_t *first = v[FIRST].array, *length = v[LENGTH].array, envs = v[ENVS].integer;
    double *found = v[FOUND].array, n = 0, sum = 0, squares = 0;
    int64_t sequences = c->size[SEQUENCES];
    if (!in_rollout(first, length, sequences, envs, c->size[PLACES])) return NOT_IN_ROLLOUT;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t s = 0; s < sequences; s++)
            for (int64_t t = 0; t < length[s]; t++) {
                int64_t place = first[s] + t * envs;
                double off = advantages[place] - sum / (n > 1 ? n : 1);
                if (!counts[place]) continue;
                if (pass) squares += off * off;
                else n++, sum += advantages[place];
            }
    int normalize = v[NORMALIZE].integer && n > 1;
    found[0] = n;
    found[1] = normalize ? sum / n : 0;
    found[2] = normalize ? 1 / (sqrt(squares / (n - 1)) + 1e-8) : 1;
    int64_t groups = count_groups(length, sequences);
    c->result = groups < CHUNKS ? groups : CHUNKS;
    return 0;
}

static const char *run_learn(struct call *c) {
    enum { CELL, ALPHA, NOISE_SCALE, ACTIONS, ENVS, CHUNK, PARTS, PACKED, WORK, OBS, NOISE, H, C, VALUES, CHOSEN,
           OLD_LOG, ADVANTAGES, RETURNS, COUNTS, FIRST, LENGTH, CLIP, REACH, ENT_COEF, VF_COEF, MEAN, SCALE, SHARE, SUMS,
           NUMBERS };
    enum { PACKED_ROOM, WORK_ROOM, PLACES, FEATURES, WIDE, STATES, UNITS, SEQUENCES, SUMS_ROOM };
    const union value *v = c->value;
    const int64_t *s = c->size, *chosen = v[CHOSEN].array, *first = v[FIRST].array, *length = v[LENGTH].array;
    int64_t actions = v[ACTIONS].integer, envs = v[ENVS].integer, chunk = v[CHUNK].integer, chunks = v[PARTS].integer;
    struct agent a;
    struct packed p;
    struct work w;
    struct sums sums;
    const char *problem = agent_of(&a, v[CELL].integer, s[FEATURES], s[UNITS], actions, v[NOISE].array != 0);
    if (problem) return problem;
    if (v[NOISE].array && s[WIDE] != a.wide) return "the noise does not fit the units";
    if (a.cell == LSTM && !v[C].array) return "an LSTM has a state c";
    if (!s[SEQUENCES] || !in_rollout(first, length, s[SEQUENCES], envs, s[PLACES])) return NOT_IN_ROLLOUT;
    if (chunks < 1 || chunks > CHUNKS || chunk < 0 || chunk >= chunks) return "there is no such chunk";
    if (s[STATES] < s[PLACES]) return "there is not a state before each step";
    for (int64_t i = 0; i < s[PLACES]; i++)
        if ((uint64_t)chosen[i] >= (uint64_t)actions) return "there is no such action";
    int64_t steps = most_steps(envs, length[0]);
    if (s[PACKED_ROOM] < lay_packed(&a, &p, 0) || s[SUMS_ROOM] < lay_sums(&a, &sums, 0) ||
        s[WORK_ROOM] < lay_work(&a, steps, v[C].array != 0, &w, 0))
        return NO_ROOM;
    lay_packed(&a, &p, v[PACKED].array);
    lay_sums(&a, &sums, v[SUMS].array);
    lay_work(&a, steps, v[C].array != 0, &w, v[WORK].array);
    w.loop.alpha = v[ALPHA].real;
    struct rollout o = {.envs = envs, .places = s[PLACES], .obs = v[OBS].array, .noise = v[NOISE].array,
                        .h = v[H].array, .c = v[C].array, .values = v[VALUES].array, .chosen = v[CHOSEN].array,
                        .old = v[OLD_LOG].array, .advantages = v[ADVANTAGES].array, .returns = v[RETURNS].array,
                        .counts = v[COUNTS].array};
    struct objective j = {v[CLIP].real, v[REACH].real, v[ENT_COEF].real, v[VF_COEF].real,
                          v[MEAN].real, v[SCALE].real, v[SHARE].real};
    learn(&a, &p, &o, &j, &w, first, length, s[SEQUENCES], chunk, chunks, v[NOISE_SCALE].real, &sums,
          v[NUMBERS].array);
    return 0;
}

static const char *run_collect(struct call *c) {
    enum { CELL, PARTS, SUMS, GRADIENT };
    enum { MOST, ROOM, WIDE, UNITS, FEATURES, ACTIONS };
    const union value *v = c->value;
    const int64_t *s = c->size;
    float *gradient[WEIGHTS];
    struct agent a;
    struct sums sums;
    const char *problem = agent_of(&a, v[CELL].integer, s[FEATURES], s[UNITS], s[ACTIONS], 0);
    if (problem) return problem;
    if (s[WIDE] != a.wide) return "the gates do not fit the units";
    if (v[PARTS].integer < 1 || v[PARTS].integer > s[MOST] || s[ROOM] < lay_sums(&a, &sums, 0)) return NO_ROOM;
    for (int k = 0; k < WEIGHTS; k++) gradient[k] = v[GRADIENT + k].array;
    collect(&a, v[SUMS].array, v[PARTS].integer, s[ROOM], gradient);
    return 0;
}

#define AGENT "cell int; alpha float; noise_scale float; "
#define ROLLOUT(written)                                                                                             \
    "packed float32[packed]; work float32[work] out; obs float32[places,features]; "                                 \
    "noise float32[places,wide] optional; h float32[states,units]" written "; c float32[states,units] optional" written "; "
#define EIGHT(written)                                                                                               \
    "of_h float32[wide,units]" written "; of_inputs float32[wide,features]" written "; bias float32[wide]" written   \
    "; second_bias float32[wide]" written "; of_actions float32[actions,units]" written                              \
    "; action_bias float32[actions]" written "; of_value float32[1,units]" written "; value_bias float32[1]" written

const struct kernel FUSED_KERNELS[] = {
    {"sizes",
     "cell int; features int; units int; actions int; noisy int; envs int; longest int; found int64[4] out", run_sizes,
     0},
    {"prepare", "cell int; " EIGHT("") "; packed float32[packed] out", run_prepare, 0},
    {"act",
     AGENT "time int; " ROLLOUT(" out") "logits float32[places,actions] out; values float32[places] out; "
     "chosen int64[places] out; old float32[places] out; draws float32[envs,actions]",
     run_act, 0},
    {"deal",
     "envs int; normalize int; advantages float32[places]; counts uint8[places]; first int64[sequences]; "
     "length int64[sequences]; found float64[3] out",
     run_deal, 0},
    {"learn",
     AGENT "actions int; envs int; chunk int; chunks int; " ROLLOUT("") "values float32[places]; chosen int64[places]; "
     "old float32[places]; advantages float32[places]; returns float32[places]; counts uint8[places]; "
     "first int64[sequences]; length int64[sequences]; clip float; reach float; ent_coef float; vf_coef float; "
     "mean float; scale float; share float; sums float32[sums] out; numbers float64[5] out",
     run_learn, 1},
    {"collect", "cell int; chunks int; sums float32[most,sums] out; " EIGHT(" out"), run_collect, 0},
    {0}};
