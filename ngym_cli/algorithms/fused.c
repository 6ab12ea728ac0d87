/* An actor-critic agent that is one layer of a recurrent network with a linear read-out and chooses among actions: how it
   acts, and the gradient of its objective over the sequences of a minibatch.

   For the gradient a few sequences are taken all the way, forward, through the objective and back, before the next are:
   what they leave behind for the way back stays in the cache. What is computed is said in objective.py. */

#include "../networks/loops.c"
#include <math.h>

#define BLOCK 128 /* steps whose gates stay in the nearest cache while the gradient of the weights is summed */

enum { POLICY, VALUE, ENTROPY, KL, CLIPPED, SUMS };

struct agent {
    int64_t cell, features, units, actions, envs, sequences;
    int64_t steps;     /* that there is room for at a time: at least one sequence, and one of every environment */
    int64_t normalize; /* whether advantages are normalised */
    float alpha, noise_scale, clip, reach, ent_coef, vf_coef; /* reach: how far values may go from the old ones */
    const int64_t *first, *length; /* (sequence), the longest first: place of the first step, number of steps */
    /* The rollout, with a step at time t of environment e in place t * envs + e: */
    const float *obs, *noise;      /* (place, feature), (place, unit); noise may be null */
    float *h, *c;                  /* (place, unit), states before the step; c may be null */
    float *logits, *values;        /* (place, action), (place) */
    int64_t *chosen;               /* (place): actions */
    float *old;                         /* (place): log-probabilities of the actions */
    const float *advantages, *returns;  /* (place) */
    const uint8_t *counts;              /* (place): whether it is learned from */
    /* Weights of h (gate * unit, unit) and of the inputs (gate * unit, feature), two biases (gate * unit), weights and
       biases of the preferences (action, unit), (action) and of the value (unit), (1); and their gradient. */
    const float *weight[8];
    float *gradient[8];
    float *room;     /* as much as `room` says */
    double *numbers; /* (SUMS + 1), filled: the sums, then the loss */
};

enum { OF_H, OF_INPUTS, BIAS, SECOND_BIAS, OF_ACTIONS, ACTION_BIAS, OF_VALUE, VALUE_BIAS };

/* What is worked on at a time. */
struct work {
    struct loop to, back; /* share all but the panels */
    int64_t *counts, *chosen;
    float *weight, *d_weight;        /* (gate * unit, unit + feature + 1), its transpose */
    float *heads, *d_heads, *d_bias; /* (action + 1, unit), (action + 1) */
    float *read, *unread;            /* packed weights of the read-out */
    float *known[5];                 /* (step): old log-probabilities, advantages, returns, values, weights */
    float *outputs;                  /* (step, action + 1): preferences and value, then their gradient */
};

enum { OLD, ADVANTAGE, RETURN, BEFORE, WEIGHT };

static long panels_of(long depth, long columns) { return depth * ((columns + WIDTH - 1) / WIDTH * WIDTH); }

/* Lays the arrays out in a room, or if there is none only says how large it must be. */
static long lay_out(const struct agent *u, struct work *w, float *room) {
    long depth = u->units + u->features + 1, wide = GATES[u->cell] * u->units, outputs = u->actions + 1, at = 0;
    long steps = u->steps;
#define TAKE(pointer, size) ((pointer) = (void *)(room + at), at += ((size) + 15) / 16 * 16)
    TAKE(w->counts, 2 * steps);
    TAKE(w->chosen, 2 * steps);
    for (long k = 0; k < 5; k++) TAKE(w->known[k], steps);
    TAKE(w->outputs, steps * outputs);
    TAKE(w->weight, depth * wide);
    TAKE(w->d_weight, depth * wide);
    TAKE(w->heads, outputs * u->units);
    TAKE(w->d_heads, outputs * u->units);
    TAKE(w->d_bias, outputs);
    TAKE(w->read, panels_of(u->units, outputs));
    TAKE(w->unread, panels_of(outputs, u->units));
    TAKE(w->to.panels, panels_of(depth, wide));
    TAKE(w->back.panels, panels_of(wide, u->units));
    TAKE(w->to.x, steps * u->features);
    TAKE(w->to.noise, u->noise ? steps * wide : 0);
    TAKE(w->to.h0, steps * u->units);
    TAKE(w->to.c0, steps * u->units);
    TAKE(w->to.dh0, steps * u->units);
    TAKE(w->to.dc0, steps * u->units);
    TAKE(w->to.rows, steps * depth);
    TAKE(w->to.gates, steps * wide);
    TAKE(w->to.h, steps * u->units);
    TAKE(w->to.c, u->c ? steps * u->units : 0);
    TAKE(w->to.squashed, u->c ? steps * u->units : 0);
    return at;
}

int64_t room(const struct agent *u) {
    struct work w;
    return lay_out(u, &w, 0);
}

static struct work work_of(const struct agent *u) {
    struct work w;
    memset(&w, 0, sizeof w);
    lay_out(u, &w, u->room);
    w.to.cell = u->cell, w.to.features = u->features, w.to.units = u->units, w.to.alpha = u->alpha;
    w.to.counts = w.counts;
    if (!u->noise) w.to.noise = 0;
    return w;
}

/* Packs the weights; they stay in the room. */
static void prepare(const struct agent *u, struct work *w) {
    long units = u->units, features = u->features, depth = units + features + 1, wide = GATES[u->cell] * units;
    for (long r = 0; r < wide; r++) {
        float *row = w->weight + r * depth;
        memcpy(row, u->weight[OF_H] + r * units, 4 * units);
        memcpy(row + units, u->weight[OF_INPUTS] + r * features, 4 * features);
        row[depth - 1] = u->weight[BIAS][r] + u->weight[SECOND_BIAS][r];
    }
    memcpy(w->heads, u->weight[OF_ACTIONS], 4 * u->actions * units);
    memcpy(w->heads + u->actions * units, u->weight[OF_VALUE], 4 * units);
    pack(w->weight, 1, depth, depth, wide, w->to.panels);
    pack(w->heads, 1, units, units, u->actions + 1, w->read);
}

/* Preferences and values of n steps from h. */
static void read_out(const struct agent *u, struct work *w, const float *h, long n) {
    long outputs = u->actions + 1;
    for (long r = 0; r < n; r++) {
        memcpy(w->outputs + r * outputs, u->weight[ACTION_BIAS], 4 * u->actions);
        w->outputs[r * outputs + u->actions] = *u->weight[VALUE_BIAS];
    }
    multiply(h, n, u->units, w->read, w->outputs, outputs, 1);
}

/* -- acting --------------------------------------------------------------------------------------------------------- */

/* Every environment takes the action at this time that is preferred most once the draws (environment, action) are added:
   fills actions, their log-probabilities, preferences, values and the states after the step. The weights must be new at
   time 0 only. */
void act(const struct agent *u, int64_t time, const float *draws) {
    struct work w = work_of(u);
    long n = u->envs, units = u->units, at = time * n, wide = GATES[u->cell] * units;
    if (!time) prepare(u, &w);
    struct loop *l = &w.to;
    w.counts[0] = n;
    l->times = 1;
    l->x = u->obs + at * u->features;
    l->h0 = u->h + at * units, l->h = u->h + (at + n) * units;
    if (u->c) l->c0 = u->c + at * units, l->c = u->c + (at + n) * units;
    for (long i = 0; u->noise && i < n * wide; i++) ((float *)l->noise)[i] = u->noise_scale * u->noise[at * wide + i];
    forward(l);
    read_out(u, &w, l->h, n);
    for (long r = 0; r < n; r++) {
        const float *outputs = w.outputs + r * (u->actions + 1), *drawn = draws + r * u->actions;
        long best = 0, most = 0;
        for (long a = 1; a < u->actions; a++) {
            if (outputs[a] + drawn[a] > outputs[best] + drawn[best]) best = a;
            if (outputs[a] > outputs[most]) most = a;
        }
        float total = 0;
        for (long a = 0; a < u->actions; a++) total += expf(outputs[a] - outputs[most]);
        u->old[at + r] = outputs[best] - outputs[most] - logf(total);
        memcpy(u->logits + (at + r) * u->actions, outputs, 4 * u->actions);
        u->values[at + r] = outputs[u->actions];
        u->chosen[at + r] = best;
    }
}

/* -- learning ------------------------------------------------------------------------------------------------------- */

static inline lanes logarithm(lanes x) {
    for (long i = 0; i < LANES; i++) x[i] = logf(x[i]);
    return x;
}

/* Adds to the numbers; the outputs become their gradient. Several steps are looked at side by side. */
static void objective(const struct agent *u, const struct work *w, long n) {
    long wide = u->actions + 1;
    lanes x[wide], p[wide], sums[SUMS];
    memset(sums, 0, sizeof sums);
    for (long at = 0; at < n; at += LANES) {
        long left = n - at < LANES ? n - at : LANES;
        float *outputs = w->outputs + at * wide;
        const int64_t *chosen = w->chosen + at;
        lanes none = {0}, most = none - INFINITY, total = none, entropy = none, log_prob = none, known[5];
        for (long k = 0; k < 5; k++) known[k] = load(w->known[k] + at, left);
        memset(x, 0, sizeof x);
        for (long i = 0; i < left; i++)
            for (long a = 0; a < wide; a++) x[a][i] = outputs[i * wide + a];
        for (long a = 0; a < u->actions; a++) most = choose(x[a] > most, x[a], most);
        for (long a = 0; a < u->actions; a++) total += p[a] = exponential(x[a] - most);
        lanes rest = most + logarithm(total), share = inverse(total);
        for (long a = 0; a < u->actions; a++) {
            x[a] -= rest;
            p[a] *= share;
            entropy -= p[a] * x[a];
        }
        for (long i = 0; i < left; i++) log_prob[i] = x[chosen[i]][i];

        lanes weight = known[WEIGHT], log_ratio = log_prob - known[OLD], ratio = exponential(log_ratio);
        lanes inside = within(none + 1.f - u->clip, ratio, none + 1.f + u->clip);
        lanes gain = known[ADVANTAGE] * ratio, bounded = known[ADVANTAGE] * inside;
        lanes value = x[u->actions], moved = value - known[BEFORE];
        lanes held = within(none - u->reach, moved, none + u->reach);
        lanes error = choose(held == moved, value, known[BEFORE] + held) - known[RETURN];
        sums[POLICY] -= weight * choose(bounded < gain, bounded, gain);
        sums[VALUE] += weight * error * error;
        sums[ENTROPY] -= weight * entropy;
        sums[KL] += weight * (ratio - 1.f - log_ratio);
        sums[CLIPPED] += choose(ratio != inside, weight, none);

        lanes by_log_prob = -choose(gain <= bounded, gain * weight, none), by_entropy = -u->ent_coef * weight;
        lanes by_value = 2 * u->vf_coef * choose(held == moved, error * weight, none);
        for (long a = 0; a < u->actions; a++) x[a] = -p[a] * (by_log_prob + by_entropy * (x[a] + entropy));
        for (long i = 0; i < left; i++) {
            for (long a = 0; a < u->actions; a++) outputs[i * wide + a] = x[a][i];
            outputs[i * wide + chosen[i]] += by_log_prob[i];
            outputs[i * wide + u->actions] = by_value[i];
        }
    }
    for (long k = 0; k < SUMS; k++)
        for (long i = 0; i < LANES; i++) u->numbers[k] += sums[k][i];
}

/* Copies sequences (from..to) out of the rollout, the first step of each, then the second of all that have one; returns
   the number of steps. */
static long gather(const struct agent *u, struct work *w, long from, long to, float mean, float scale, float share) {
    long n = 0, units = u->units, features = u->features, wide = GATES[u->cell] * units;
    float *x = (float *)w->to.x, *noise = (float *)w->to.noise, *h0 = (float *)w->to.h0, *c0 = (float *)w->to.c0;
    for (long s = from; s < to; s++) {
        memcpy(h0 + (s - from) * units, u->h + u->first[s] * units, 4 * units);
        if (u->c) memcpy(c0 + (s - from) * units, u->c + u->first[s] * units, 4 * units);
    }
    for (long t = 0; t < u->length[from]; t++) {
        long before = n;
        for (long s = from; s < to && t < u->length[s]; s++, n++) {
            long place = u->first[s] + t * u->envs;
            memcpy(x + n * features, u->obs + place * features, 4 * features);
            for (long i = 0; u->noise && i < wide; i++) noise[n * wide + i] = u->noise_scale * u->noise[place * wide + i];
            w->chosen[n] = u->chosen[place];
            w->known[OLD][n] = u->old[place];
            w->known[ADVANTAGE][n] = (u->advantages[place] - mean) * scale;
            w->known[RETURN][n] = u->returns[place];
            w->known[BEFORE][n] = u->values[place];
            w->known[WEIGHT][n] = u->counts[place] ? share : 0;
        }
        w->counts[t] = n - before;
    }
    return n;
}

/* sum (depth, columns) += transpose of a (n, depth) times b (n, columns). */
static void add_products(const float *a, const float *b, long n, long depth, long columns, float *sum) {
    long whole = columns - columns % WIDTH, rest = columns - whole;
    for (long k = 0; k < n; k += BLOCK, a += BLOCK * depth, b += BLOCK * columns) {
        long some = n - k < BLOCK ? n - k : BLOCK;
        for (long j = 0; j < whole; j += WIDTH) strip(a, 1, depth, depth, some, b + j, columns, sum + j, columns, 1);
        if (!rest) continue;
        float last[BLOCK * WIDTH] = {0}, edge[TALL * WIDTH];
        for (long i = 0; i < some; i++) memcpy(last + i * WIDTH, b + i * columns + whole, 4 * rest);
        for (long r = 0; r < depth; r += TALL) {
            long rows = depth - r < TALL ? depth - r : TALL;
            strip(a + r, 1, depth, rows, some, last, WIDTH, edge, WIDTH, 0);
            for (long i = 0; i < rows * rest; i++)
                sum[(r + i / rest) * columns + whole + i % rest] += edge[i / rest * WIDTH + i % rest];
        }
    }
}

/* Takes sequences (from..to) all the way. */
static void take(const struct agent *u, struct work *w, long from, long to, float mean, float scale, float share) {
    long n = gather(u, w, from, to, mean, scale, share), units = u->units, outputs = u->actions + 1;
    long depth = units + u->features + 1, wide = GATES[u->cell] * units;
    struct loop *l = &w->to;
    l->times = u->length[from];
    forward(l);
    read_out(u, w, l->h, n);
    objective(u, w, n);
    add_products(w->outputs, l->h, n, outputs, units, w->d_heads);
    for (long r = 0; r < n; r++)
        for (long o = 0; o < outputs; o++) w->d_bias[o] += w->outputs[r * outputs + o];
    multiply(w->outputs, n, outputs, w->unread, l->h, units, 0); /* h is not needed any more: rows hold it */
    float *panels = w->back.panels;
    w->back = *l;
    w->back.panels = panels;
    w->back.dh = l->h;
    w->back.h0_fixed = 1;
    memset(l->dh0, 0, 4 * (to - from) * units);
    memset(l->dc0, 0, 4 * (to - from) * units);
    backward(&w->back);
    add_products(l->rows, l->gates, n, depth, wide, w->d_weight);
}

static void hand_over(const struct agent *u, const struct work *w) {
    long units = u->units, features = u->features, wide = GATES[u->cell] * units;
    float *const *to = u->gradient;
    for (long r = 0; r < wide; r++) {
        for (long i = 0; i < units; i++) to[OF_H][r * units + i] = w->d_weight[i * wide + r];
        for (long i = 0; i < features; i++) to[OF_INPUTS][r * features + i] = w->d_weight[(units + i) * wide + r];
    }
    for (long k = BIAS; k <= SECOND_BIAS; k++) memcpy(to[k], w->d_weight + (units + features) * wide, 4 * wide);
    memcpy(to[OF_ACTIONS], w->d_heads, 4 * u->actions * units);
    memcpy(to[ACTION_BIAS], w->d_bias, 4 * u->actions);
    memcpy(to[OF_VALUE], w->d_heads + u->actions * units, 4 * units);
    *to[VALUE_BIAS] = w->d_bias[u->actions];
}

/* Fills gradient and numbers; returns the number of steps that are learned from, and does nothing if there are none. */
int64_t update(const struct agent *u) {
    double n = 0, sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (long s = 0; s < u->sequences; s++)
            for (long t = 0; t < u->length[s]; t++) {
                long place = u->first[s] + t * u->envs;
                double off = u->advantages[place] - sum / (n > 1 ? n : 1);
                if (!u->counts[place]) continue;
                if (pass) squares += off * off;
                else n++, sum += u->advantages[place];
            }
    if (!n) return 0;
    int normalize = u->normalize && n > 1;
    float mean = normalize ? sum / n : 0, scale = normalize ? 1 / (sqrt(squares / (n - 1)) + 1e-8) : 1;

    struct work w = work_of(u);
    long depth = u->units + u->features + 1, wide = GATES[u->cell] * u->units, outputs = u->actions + 1;
    prepare(u, &w);
    pack(w.weight, depth, 1, wide, u->units, w.back.panels);
    pack(w.heads, u->units, 1, outputs, u->units, w.unread);
    memset(w.d_weight, 0, 4 * depth * wide);
    memset(w.d_heads, 0, 4 * outputs * u->units);
    memset(w.d_bias, 0, 4 * outputs);
    memset(u->numbers, 0, 8 * (SUMS + 1));
    for (long from = 0, to; from < u->sequences; from = to) {
        long steps = u->length[from];
        for (to = from + 1; to < u->sequences && steps + u->length[to] <= u->steps; to++) steps += u->length[to];
        take(u, &w, from, to, mean, scale, 1 / n);
    }
    hand_over(u, &w);
    double *found = u->numbers;
    found[SUMS] = found[POLICY] + u->ent_coef * found[ENTROPY] + u->vf_coef * found[VALUE];
    return n;
}
