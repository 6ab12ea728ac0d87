/* An actor-critic agent that is one layer of a recurrent network with a linear read-out and chooses among actions: how
   it acts, and the gradient of its objective over the sequences of a minibatch.

   For the gradient a few sequences are taken all the way, forward, through the objective and back, before the next are:
   what they leave behind for the way back stays in the cache. What is computed is said in objective.py. */

#include "../networks/loops.c"
#include <math.h>

#define BLOCK 128 /* steps whose gates stay in the nearest cache while the gradient of the weights is summed */

enum { POLICY, VALUE, ENTROPY, KL, CLIPPED, SUMS };

struct agent {
    int64_t cell, features, units, actions, envs, sequences;
    int64_t steps, side_by_side; /* how many steps are taken at a time, or sequences if those are more */
    int64_t longest;             /* steps of the longest sequence that may come */
    int64_t normalize;           /* whether advantages are normalised */
    float alpha, noise_scale, clip, reach, ent_coef, vf_coef; /* reach: how far values may go from the old ones */
    const int64_t *first, *length; /* (sequence), the longest first: place of the first step, number of steps */
    /* The rollout, with a step at time t of environment e in place t * envs + e: */
    const float *obs, *noise;          /* (place, feature), (place, unit); noise may be null */
    float *h, *c;                      /* (place, unit), states before the step; c may be null */
    float *logits, *values;            /* (place, action), (place) */
    int64_t *chosen;                   /* (place): actions */
    float *old;                        /* (place): log-probabilities of the actions */
    const float *advantages, *returns; /* (place) */
    const uint8_t *counts;             /* (place): whether it is learned from */
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
static long lay_out(const struct agent *it, struct work *w, float *room) {
    long depth = it->units + it->features + 1, wide = GATES[it->cell] * it->units, outputs = it->actions + 1, at = 0;
    long steps = it->steps > it->envs ? it->steps : it->envs;
    if (steps < it->side_by_side * it->longest) steps = it->side_by_side * it->longest;
#define TAKE(pointer, size) ((pointer) = (void *)(room + at), at += ((size) + 15) / 16 * 16)
    TAKE(w->counts, 2 * steps);
    TAKE(w->chosen, 2 * steps);
    for (long k = 0; k < 5; k++) TAKE(w->known[k], steps);
    TAKE(w->outputs, steps * outputs);
    TAKE(w->weight, depth * wide);
    TAKE(w->d_weight, depth * wide);
    TAKE(w->heads, outputs * it->units);
    TAKE(w->d_heads, outputs * it->units);
    TAKE(w->d_bias, outputs);
    TAKE(w->read, panels_of(it->units, outputs));
    TAKE(w->unread, panels_of(outputs, it->units));
    TAKE(w->to.panels, panels_of(depth, wide));
    TAKE(w->back.panels, panels_of(wide, it->units));
    TAKE(w->to.x, steps * it->features);
    TAKE(w->to.noise, it->noise_scale ? steps * wide : 0);
    TAKE(w->to.h0, steps * it->units);
    TAKE(w->to.c0, steps * it->units);
    TAKE(w->to.dh0, steps * it->units);
    TAKE(w->to.dc0, steps * it->units);
    TAKE(w->to.rows, steps * depth);
    TAKE(w->to.gates, steps * wide);
    TAKE(w->to.h, steps * it->units);
    TAKE(w->to.c, it->c ? steps * it->units : 0);
    TAKE(w->to.squashed, it->c ? steps * it->units : 0);
    return at;
}

int64_t room(const struct agent *it) {
    struct work w;
    return lay_out(it, &w, 0);
}

static struct work work_of(const struct agent *it) {
    struct work w;
    memset(&w, 0, sizeof w);
    lay_out(it, &w, it->room);
    w.to.cell = it->cell, w.to.features = it->features, w.to.units = it->units, w.to.alpha = it->alpha;
    w.to.counts = w.counts;
    if (!it->noise || !it->noise_scale) w.to.noise = 0;
    return w;
}

/* Packs the weights; they stay in the room. */
static void prepare(const struct agent *it, struct work *w) {
    long units = it->units, features = it->features, depth = units + features + 1, wide = GATES[it->cell] * units;
    for (long r = 0; r < wide; r++) {
        float *row = w->weight + r * depth;
        memcpy(row, it->weight[OF_H] + r * units, 4 * units);
        memcpy(row + units, it->weight[OF_INPUTS] + r * features, 4 * features);
        row[depth - 1] = it->weight[BIAS][r] + it->weight[SECOND_BIAS][r];
    }
    memcpy(w->heads, it->weight[OF_ACTIONS], 4 * it->actions * units);
    memcpy(w->heads + it->actions * units, it->weight[OF_VALUE], 4 * units);
    pack(w->weight, 1, depth, depth, wide, w->to.panels);
    pack(w->heads, 1, units, units, it->actions + 1, w->read);
}

/* Preferences and values of n steps from h. */
static void read_out(const struct agent *it, struct work *w, const float *h, long n) {
    long outputs = it->actions + 1;
    for (long r = 0; r < n; r++) {
        memcpy(w->outputs + r * outputs, it->weight[ACTION_BIAS], 4 * it->actions);
        w->outputs[r * outputs + it->actions] = *it->weight[VALUE_BIAS];
    }
    multiply(h, n, it->units, w->read, w->outputs, outputs, 1);
}

/* -- acting -------------------------------------------------------------------------------------------------------- */

/* Every environment takes the action at this time that is preferred most once the draws (environment, action) are
   added: fills actions, their log-probabilities, preferences, values and the states after the step. At time 0 the
   weights are packed. */
void act(const struct agent *it, int64_t time, const float *draws) {
    struct work w = work_of(it);
    long n = it->envs, units = it->units, at = time * n, wide = GATES[it->cell] * units;
    if (!time) prepare(it, &w);
    struct loop *l = &w.to;
    w.counts[0] = n;
    l->times = 1;
    l->x = it->obs + at * it->features;
    l->h0 = it->h + at * units, l->h = it->h + (at + n) * units;
    if (it->c) l->c0 = it->c + at * units, l->c = it->c + (at + n) * units;
    float *noise = (float *)l->noise;
    for (long i = 0; noise && i < n * wide; i++) noise[i] = it->noise_scale * it->noise[at * wide + i];
    forward(l);
    read_out(it, &w, l->h, n);
    for (long r = 0; r < n; r++) {
        const float *outputs = w.outputs + r * (it->actions + 1), *drawn = draws + r * it->actions;
        long best = 0, most = 0;
        for (long a = 1; a < it->actions; a++) {
            if (outputs[a] + drawn[a] > outputs[best] + drawn[best]) best = a;
            if (outputs[a] > outputs[most]) most = a;
        }
        float total = 0;
        for (long a = 0; a < it->actions; a++) total += expf(outputs[a] - outputs[most]);
        it->old[at + r] = outputs[best] - outputs[most] - logf(total);
        memcpy(it->logits + (at + r) * it->actions, outputs, 4 * it->actions);
        it->values[at + r] = outputs[it->actions];
        it->chosen[at + r] = best;
    }
}

/* -- learning ------------------------------------------------------------------------------------------------------ */

static inline lanes logarithm(lanes x) {
    for (long i = 0; i < LANES; i++) x[i] = logf(x[i]);
    return x;
}

/* Adds to the numbers; the outputs become their gradient. Several steps are looked at side by side. */
static void objective(const struct agent *it, const struct work *w, long n) {
    long wide = it->actions + 1;
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
        for (long a = 0; a < it->actions; a++) most = choose(x[a] > most, x[a], most);
        for (long a = 0; a < it->actions; a++) total += p[a] = exponential(x[a] - most);
        lanes rest = most + logarithm(total), share = inverse(total);
        for (long a = 0; a < it->actions; a++) {
            x[a] -= rest;
            p[a] *= share;
            entropy -= p[a] * x[a];
        }
        for (long i = 0; i < left; i++) log_prob[i] = x[chosen[i]][i];

        lanes weight = known[WEIGHT], log_ratio = log_prob - known[OLD], ratio = exponential(log_ratio);
        lanes inside = within(none + 1.f - it->clip, ratio, none + 1.f + it->clip);
        lanes gain = known[ADVANTAGE] * ratio, bounded = known[ADVANTAGE] * inside;
        lanes value = x[it->actions], moved = value - known[BEFORE];
        lanes held = within(none - it->reach, moved, none + it->reach);
        lanes error = choose(held == moved, value, known[BEFORE] + held) - known[RETURN];
        sums[POLICY] -= weight * choose(bounded < gain, bounded, gain);
        sums[VALUE] += weight * error * error;
        sums[ENTROPY] -= weight * entropy;
        sums[KL] += weight * (ratio - 1.f - log_ratio);
        sums[CLIPPED] += choose(ratio != inside, weight, none);

        lanes by_log_prob = -choose(gain <= bounded, gain * weight, none), by_entropy = -it->ent_coef * weight;
        lanes by_value = 2 * it->vf_coef * choose(held == moved, error * weight, none);
        for (long a = 0; a < it->actions; a++) x[a] = -p[a] * (by_log_prob + by_entropy * (x[a] + entropy));
        for (long i = 0; i < left; i++) {
            for (long a = 0; a < it->actions; a++) outputs[i * wide + a] = x[a][i];
            outputs[i * wide + chosen[i]] += by_log_prob[i];
            outputs[i * wide + it->actions] = by_value[i];
        }
    }
    for (long k = 0; k < SUMS; k++)
        for (long i = 0; i < LANES; i++) it->numbers[k] += sums[k][i];
}

/* Copies sequences (from..to) out of the rollout, the first step of each, then the second of all that have one; returns
   the number of steps. */
static long gather(const struct agent *it, struct work *w, long from, long to, float mean, float scale, float share) {
    long n = 0, units = it->units, features = it->features, wide = GATES[it->cell] * units;
    float *x = (float *)w->to.x, *noise = (float *)w->to.noise, *h0 = (float *)w->to.h0, *c0 = (float *)w->to.c0;
    for (long s = from; s < to; s++) {
        memcpy(h0 + (s - from) * units, it->h + it->first[s] * units, 4 * units);
        if (it->c) memcpy(c0 + (s - from) * units, it->c + it->first[s] * units, 4 * units);
    }
    for (long t = 0; t < it->length[from]; t++) {
        long before = n;
        for (long s = from; s < to && t < it->length[s]; s++, n++) {
            long place = it->first[s] + t * it->envs;
            memcpy(x + n * features, it->obs + place * features, 4 * features);
            for (long i = 0; noise && i < wide; i++)
                noise[n * wide + i] = it->noise_scale * it->noise[place * wide + i];
            w->chosen[n] = it->chosen[place];
            w->known[OLD][n] = it->old[place];
            w->known[ADVANTAGE][n] = (it->advantages[place] - mean) * scale;
            w->known[RETURN][n] = it->returns[place];
            w->known[BEFORE][n] = it->values[place];
            w->known[WEIGHT][n] = it->counts[place] ? share : 0;
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
static void take(const struct agent *it, struct work *w, long from, long to, float mean, float scale, float share) {
    long n = gather(it, w, from, to, mean, scale, share), units = it->units, outputs = it->actions + 1;
    long depth = units + it->features + 1, wide = GATES[it->cell] * units;
    struct loop *l = &w->to;
    l->times = it->length[from];
    forward(l);
    read_out(it, w, l->h, n);
    objective(it, w, n);
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

static void hand_over(const struct agent *it, const struct work *w) {
    long units = it->units, features = it->features, wide = GATES[it->cell] * units;
    float *const *to = it->gradient;
    for (long r = 0; r < wide; r++) {
        for (long i = 0; i < units; i++) to[OF_H][r * units + i] = w->d_weight[i * wide + r];
        for (long i = 0; i < features; i++) to[OF_INPUTS][r * features + i] = w->d_weight[(units + i) * wide + r];
    }
    for (long k = BIAS; k <= SECOND_BIAS; k++) memcpy(to[k], w->d_weight + (units + features) * wide, 4 * wide);
    memcpy(to[OF_ACTIONS], w->d_heads, 4 * it->actions * units);
    memcpy(to[ACTION_BIAS], w->d_bias, 4 * it->actions);
    memcpy(to[OF_VALUE], w->d_heads + it->actions * units, 4 * units);
    *to[VALUE_BIAS] = w->d_bias[it->actions];
}

/* Fills gradient and numbers; returns the number of steps that are learned from, and does nothing if there are none. */
int64_t update(const struct agent *it) {
    double n = 0, sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (long s = 0; s < it->sequences; s++)
            for (long t = 0; t < it->length[s]; t++) {
                long place = it->first[s] + t * it->envs;
                double off = it->advantages[place] - sum / (n > 1 ? n : 1);
                if (!it->counts[place]) continue;
                if (pass) squares += off * off;
                else n++, sum += it->advantages[place];
            }
    if (!n) return 0;
    int normalize = it->normalize && n > 1;
    float mean = normalize ? sum / n : 0, scale = normalize ? 1 / (sqrt(squares / (n - 1)) + 1e-8) : 1;

    struct work w = work_of(it);
    long depth = it->units + it->features + 1, wide = GATES[it->cell] * it->units, outputs = it->actions + 1;
    prepare(it, &w);
    pack(w.weight, depth, 1, wide, it->units, w.back.panels);
    pack(w.heads, it->units, 1, outputs, it->units, w.unread);
    memset(w.d_weight, 0, 4 * depth * wide);
    memset(w.d_heads, 0, 4 * outputs * it->units);
    memset(w.d_bias, 0, 4 * outputs);
    memset(it->numbers, 0, 8 * (SUMS + 1));
    for (long from = 0, to; from < it->sequences; from = to) {
        long steps = it->length[from];
        for (to = from + 1; to < it->sequences; to++, steps += it->length[to - 1])
            if (steps + it->length[to] > it->steps && to - from >= it->side_by_side) break;
        take(it, &w, from, to, mean, scale, 1 / n);
    }
    hand_over(it, &w);
    double *found = it->numbers;
    found[SUMS] = found[POLICY] + it->ent_coef * found[ENTROPY] + it->vf_coef * found[VALUE];
    return n;
}
