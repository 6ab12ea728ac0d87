/* How an actor-critic agent acts, and the gradient of its objective over the sequences of a minibatch (actor.py,
   policy.py and objective.py have the plain forms; fused.c is how Python calls this).

   For the gradient a few sequences are taken all the way, forward, through the objective and back, before the next are:
   what they leave behind for the way back stays in the cache. Such groups are dealt into at most CHUNKS chunks, each
   with sums of its own, which are added up in order: the result does not depend on how many threads share the work. */

#include "agent.h"

#include <math.h>

#define BLOCK 128 /* steps whose gates stay in the nearest cache while the gradient of the weights is summed */

static int64_t inputs_of(const struct agent *a, int64_t layer) { return layer ? a->units : a->features; }

static int64_t depth_of(const struct agent *a, int64_t layer) { return a->units + inputs_of(a, layer) + 1; }

/* The network that a read-out reads. */
static int64_t network_of(const struct agent *a, int64_t chain) { return chain ? a->networks - 1 : 0; }

/* -- memory -------------------------------------------------------------------------------------------------------- */

/* Arrays lie one after the other in memory that Python owns, each at the beginning of a line of the cache. */
#define LAY(pointer, size) ((pointer) = (void *)(begin + at), at += ((size) + 15) / 16 * 16)

static float *first_line(float *memory) { return (float *)(((uintptr_t)memory + 63) / 64 * 64); }

int64_t lay_packed(const struct agent *a, struct packed *p, float *memory) {
    float *begin = first_line(memory);
    int64_t at = 0;
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t l = 0; l < a->layers; l++) {
            LAY(p->layer[net][l].weight, a->wide * depth_of(a, l));
            LAY(p->layer[net][l].gates, packed_size(depth_of(a, l), a->wide));
            LAY(p->layer[net][l].state, packed_size(a->wide, a->units));
            LAY(p->layer[net][l].inputs, l ? packed_size(a->wide, a->units) : 0);
        }
    for (int64_t c = 0; c < a->chains; c++)
        for (int64_t d = 0; d < a->dense[c]; d++) {
            int64_t in = a->width[c][d], out = a->width[c][d + 1];
            LAY(p->dense[c][d].weight, out * in);
            LAY(p->dense[c][d].bias, out);
            LAY(p->dense[c][d].read, packed_size(in, out));
            LAY(p->dense[c][d].unread, packed_size(out, in));
        }
    LAY(p->log_std, a->actions);
    return at + 16;
}

int64_t lay_sums(const struct agent *a, struct sums *s, float *memory) {
    float *begin = s->memory = first_line(memory);
    int64_t at = 0;
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t l = 0; l < a->layers; l++) LAY(s->layer[net][l], depth_of(a, l) * a->wide);
    for (int64_t c = 0; c < a->chains; c++)
        for (int64_t d = 0; d < a->dense[c]; d++) {
            LAY(s->weight[c][d], a->width[c][d] * a->width[c][d + 1]);
            LAY(s->bias[c][d], a->width[c][d + 1]);
        }
    LAY(s->log_std, a->actions);
    s->size = at;
    return at + 16;
}

static void lay_loop(const struct agent *a, int64_t layer, int64_t steps, int noisy, struct loop *l, float **memory) {
    float *begin = *memory;
    int64_t at = 0, units = steps * a->units, c = a->cell == LSTM ? units : 0;
    LAY(l->noise, noisy ? steps * a->wide : 0);
    LAY(l->h0, units);
    LAY(l->c0, c);
    LAY(l->dh0, units);
    LAY(l->dc0, c);
    LAY(l->rows, steps * depth_of(a, layer));
    LAY(l->gates, steps * a->wide);
    LAY(l->h, units);
    LAY(l->c, c);
    LAY(l->squashed, c);
    if (!noisy) l->noise = 0;
    l->cell = a->cell, l->features = inputs_of(a, layer), l->units = a->units;
    *memory = begin + at;
}

int64_t lay_work(const struct agent *a, int64_t steps, int noisy, struct work *w, float *memory) {
    float *begin = first_line(memory), *start = begin;
    int64_t at = 0, widest = a->units;
    memset(w, 0, sizeof *w);
    for (int64_t c = 0; c < a->chains; c++)
        for (int64_t d = 0; d < a->dense[c]; d++) {
            LAY(w->out[c][d], steps * a->width[c][d + 1]);
            if (a->width[c][d] > widest) widest = a->width[c][d];
        }
    LAY(w->d_in, steps * widest);
    for (int64_t net = 0; net < a->networks; net++) LAY(w->dh[net], steps * a->units);
    LAY(w->counts, 2 * steps);
    LAY(w->chosen, 2 * steps);
    LAY(w->moved, a->continuous ? steps * a->actions : 0);
    LAY(w->x, steps * a->features);
    for (int k = 0; k < 5; k++) LAY(w->known[k], steps);
    LAY(w->side, (a->actions + 1) * LANES);
    LAY(w->probability, (a->actions + 1) * LANES);
    begin += at;
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t l = 0; l < a->layers; l++) {
            lay_loop(a, l, steps, noisy, &w->loop[net][l], &begin);
            w->loop[net][l].counts = w->counts;
            w->loop[net][l].x = l ? w->loop[net][l - 1].h : w->x;
        }
    return begin - start + 16;
}

int64_t most_steps(int64_t envs, int64_t longest) {
    int64_t steps = STEPS > envs ? STEPS : envs;
    return steps > SIDE_BY_SIDE * longest ? steps : SIDE_BY_SIDE * longest;
}

/* -- weights ------------------------------------------------------------------------------------------------------- */

static void prepare_layer(const struct agent *a, const struct packed *p, int64_t net, int64_t l, const float **at) {
    int64_t units = a->units, inputs = inputs_of(a, l), depth = depth_of(a, l), wide = a->wide;
    const float *of_h = *at, *of_x = of_h + wide * units, *bias = of_x + wide * inputs, *second = bias + wide;
    float *weight = p->layer[net][l].weight;
    for (int64_t r = 0; r < wide; r++) {
        float *row = weight + r * depth;
        memcpy(row, of_h + r * units, 4 * units);
        memcpy(row + units, of_x + r * inputs, 4 * inputs);
        row[depth - 1] = bias[r] + second[r];
    }
    pack(weight, 1, depth, depth, wide, p->layer[net][l].gates);
    pack(weight, depth, 1, wide, units, p->layer[net][l].state);
    if (l) pack(weight + units, depth, 1, wide, inputs, p->layer[net][l].inputs);
    *at = second + wide;
}

/* Weights: for each network and layer those of h (gate * unit, unit), of the inputs (gate * unit, input) and two biases
   (gate * unit); for each read-out and its layers (out, in) and a bias (out); logarithms of standard deviations. */
void agent_prepare(const struct agent *a, const float *weights, const struct packed *p) {
    const float *at = weights;
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t l = 0; l < a->layers; l++) prepare_layer(a, p, net, l, &at);
    for (int64_t c = 0; c < a->chains; c++)
        for (int64_t d = 0; d < a->dense[c]; d++) {
            int64_t in = a->width[c][d], out = a->width[c][d + 1], joint = a->chains == 1;
            for (int64_t row = 0, rows; row < out; row += rows) { /* preferences and value follow each other */
                rows = joint && !row ? out - 1 : out - row;
                memcpy(p->dense[c][d].weight + row * in, at, 4 * rows * in);
                memcpy(p->dense[c][d].bias + row, at + rows * in, 4 * rows);
                at += rows * in + rows;
            }
            pack(p->dense[c][d].weight, 1, in, in, out, p->dense[c][d].read);
            pack(p->dense[c][d].weight, in, 1, out, in, p->dense[c][d].unread);
        }
    if (a->continuous) memcpy(p->log_std, at, 4 * a->actions);
}

/* Hands the sums of all chunks over, in the order of the weights; those of the first become those of all. */
void agent_collect(const struct agent *a, float *memory, int64_t chunks, int64_t apart, float *gradient) {
    struct sums all, more;
    float *to = gradient;
    lay_sums(a, &all, memory);
    for (int64_t k = 1; k < chunks; k++) {
        lay_sums(a, &more, memory + k * apart);
        for (int64_t i = 0; i < all.size; i++) all.memory[i] += more.memory[i];
    }
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t l = 0; l < a->layers; l++) {
            int64_t wide = a->wide, units = a->units, inputs = inputs_of(a, l);
            const float *sum = all.layer[net][l];
            for (int64_t r = 0; r < wide; r++)
                for (int64_t i = 0; i < units; i++) *to++ = sum[i * wide + r];
            for (int64_t r = 0; r < wide; r++)
                for (int64_t i = 0; i < inputs; i++) *to++ = sum[(units + i) * wide + r];
            for (int twice = 0; twice < 2; twice++, to += wide) memcpy(to, sum + (units + inputs) * wide, 4 * wide);
        }
    for (int64_t c = 0; c < a->chains; c++)
        for (int64_t d = 0; d < a->dense[c]; d++) {
            int64_t in = a->width[c][d], out = a->width[c][d + 1], joint = a->chains == 1;
            for (int64_t row = 0, rows; row < out; row += rows) {
                rows = joint && !row ? out - 1 : out - row;
                memcpy(to, all.weight[c][d] + row * in, 4 * rows * in);
                memcpy(to + rows * in, all.bias[c][d] + row, 4 * rows);
                to += rows * in + rows;
            }
        }
    if (a->continuous) memcpy(to, all.log_std, 4 * a->actions);
}

/* -- read-outs ----------------------------------------------------------------------------------------------------- */

static void activate(float *y, int64_t n, int64_t activation) {
    for (int64_t i = 0; i < n; i += LANES) {
        lanes x = load(y + i, n - i);
        if (activation == RELU_UNITS) x = choose(x < 0.f, (lanes){0}, x);
        else x = 2.f * inverse(1.f + exponential(-2.f * x)) - 1.f;
        store(y + i, x, n - i);
    }
}

/* Outputs of all layers of all read-outs for n steps. */
static void read_out(const struct agent *a, const struct packed *p, struct work *w, int64_t n) {
    for (int64_t c = 0; c < a->chains; c++) {
        const float *from = w->loop[network_of(a, c)][a->layers - 1].h;
        for (int64_t d = 0; d < a->dense[c]; d++) {
            int64_t in = a->width[c][d], out = a->width[c][d + 1];
            float *to = w->out[c][d];
            for (int64_t r = 0; r < n; r++) memcpy(to + r * out, p->dense[c][d].bias, 4 * out);
            multiply(from, n, in, p->dense[c][d].read, to, out, 1);
            if (d + 1 < a->dense[c]) activate(to, n * out, a->activation);
            from = to;
        }
    }
}

/* Where preferences and values of steps are, and how far apart. */
struct outputs {
    float *logits, *value;
    int64_t apart, value_apart;
};

static struct outputs outputs_of(const struct agent *a, const struct work *w) {
    float *first = w->out[0][a->dense[0] - 1];
    if (a->chains == 1) return (struct outputs){first, first + a->actions, a->actions + 1, a->actions + 1};
    return (struct outputs){first, w->out[1][a->dense[1] - 1], a->actions, 1};
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

/* Back from the outputs, which have become their gradient, to dh. */
static void read_back(const struct agent *a, const struct packed *p, struct work *w, int64_t n, struct sums *sums) {
    for (int64_t c = 0; c < a->chains; c++) {
        int64_t net = network_of(a, c);
        for (int64_t d = a->dense[c] - 1; d >= 0; d--) {
            int64_t in = a->width[c][d], out = a->width[c][d + 1];
            const float *slope = w->out[c][d], *from = d ? w->out[c][d - 1] : w->loop[net][a->layers - 1].h;
            add_products(slope, from, n, out, in, sums->weight[c][d]);
            for (int64_t r = 0; r < n; r++)
                for (int64_t k = 0; k < out; k++) sums->bias[c][d][k] += slope[r * out + k];
            if (!d) multiply(slope, n, out, p->dense[c][d].unread, w->dh[net], in, c && a->networks == 1);
            else {
                float *y = w->out[c][d - 1];
                multiply(slope, n, out, p->dense[c][d].unread, w->d_in, in, 0);
                for (int64_t i = 0; i < n * in; i++)
                    y[i] = w->d_in[i] * (a->activation == RELU_UNITS ? y[i] > 0 : 1 - y[i] * y[i]);
            }
        }
    }
}

/* -- acting -------------------------------------------------------------------------------------------------------- */

static const float HALF_LOG_2_PI = 0.918938533f;

/* Takes the action that is preferred most once the draws are added, in this place. */
static void choose_action(const struct agent *a, const float *logits, const float *drawn, const struct rollout *o,
                          int64_t place) {
    int64_t best = 0, most = 0;
    float total = 0;
    for (int64_t k = 1; k < a->actions; k++) {
        if (logits[k] + drawn[k] > logits[best] + drawn[best]) best = k;
        if (logits[k] > logits[most]) most = k;
    }
    for (int64_t k = 0; k < a->actions; k++) total += expf(logits[k] - logits[most]);
    o->old[place] = logits[best] - logits[most] - logf(total);
    o->chosen[place] = best;
}

/* Takes an action around the mean. */
static void move(const struct agent *a, const struct packed *p, const float *mean, const float *drawn,
                 const struct rollout *o, int64_t place) {
    float log_prob = 0;
    for (int64_t k = 0; k < a->actions; k++) {
        o->moved[place * a->actions + k] = mean[k] + expf(p->log_std[k]) * drawn[k];
        log_prob -= 0.5f * drawn[k] * drawn[k] + p->log_std[k] + HALF_LOG_2_PI;
    }
    o->old[place] = log_prob;
}

/* The environments from `first` to before `end` act at this time, with draws (environment, action): fills actions, their
   log-probabilities, preferences, values and the states after the step. None depends on which others act with it. */
void agent_act(const struct agent *a, const struct packed *p, const struct rollout *o, struct work *w, int64_t time,
               int64_t first, int64_t end, const float *draws) {
    int64_t n = end - first, size = n * a->units;
    w->counts[0] = n;
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t k = 0; k < a->layers; k++) {
            struct loop *l = &w->loop[net][k];
            int64_t before = ((time * a->layers + k) * o->envs + first) * a->units;
            int64_t after = before + a->layers * o->envs * a->units;
            float *noise = (float *)l->noise;
            for (int64_t i = 0; noise && i < size; i++) noise[i] = o->noise_scale * o->noise[net][before + i];
            l->times = 1, l->alpha = o->alpha, l->panels = p->layer[net][k].gates;
            l->x = k ? w->loop[net][k - 1].h : o->obs + (time * o->envs + first) * a->features;
            l->h0 = o->h[net] + before, l->h = o->h[net] + after;
            if (o->c[net]) l->c0 = o->c[net] + before, l->c = o->c[net] + after;
            loop_forward(l);
        }
    read_out(a, p, w, n);
    struct outputs f = outputs_of(a, w);
    for (int64_t r = 0; r < n; r++) {
        const float *logits = f.logits + r * f.apart, *drawn = draws + (first + r) * a->actions;
        int64_t place = time * o->envs + first + r;
        memcpy(o->logits + place * a->actions, logits, 4 * a->actions);
        o->values[place] = f.value[r * f.value_apart];
        if (a->continuous) move(a, p, logits, drawn, o, place);
        else choose_action(a, logits, drawn, o, place);
    }
}

/* -- objective ----------------------------------------------------------------------------------------------------- */

static inline lanes logarithm(lanes x) {
    for (int64_t i = 0; i < LANES; i++) x[i] = logf(x[i]);
    return x;
}

/* Log-probability and entropy of some steps side by side. x: preferences, which become log-probabilities; p:
   probabilities. */
static void categorical(const struct agent *a, lanes *x, lanes *p, const int64_t *chosen, int64_t left, lanes *log_prob,
                        lanes *entropy) {
    lanes most = (lanes){0} - INFINITY, total = {0};
    for (int64_t k = 0; k < a->actions; k++) most = choose(x[k] > most, x[k], most);
    for (int64_t k = 0; k < a->actions; k++) total += p[k] = exponential(x[k] - most);
    lanes rest = most + logarithm(total), share = inverse(total);
    for (int64_t k = 0; k < a->actions; k++) {
        x[k] -= rest;
        p[k] *= share;
        *entropy -= p[k] * x[k];
    }
    for (int64_t i = 0; i < left; i++) (*log_prob)[i] = x[chosen[i]][i];
}

/* The same of continuous actions. x: means; z: how many standard deviations the actions are from them. */
static void gaussian(const struct agent *a, const float *log_std, const lanes *x, lanes *z, const float *moved,
                     int64_t left, lanes *log_prob, lanes *entropy) {
    for (int64_t k = 0; k < a->actions; k++) {
        lanes action = {0};
        for (int64_t i = 0; i < left; i++) action[i] = moved[i * a->actions + k];
        z[k] = (action - x[k]) * expf(-log_std[k]);
        *log_prob -= 0.5f * z[k] * z[k] + (log_std[k] + HALF_LOG_2_PI);
        *entropy += 0.5f + log_std[k] + HALF_LOG_2_PI;
    }
}

static float sum_of(lanes x) {
    float sum = 0;
    for (int64_t i = 0; i < LANES; i++) sum += x[i];
    return sum;
}

/* Adds to the numbers; the outputs become their gradient. Several steps are looked at side by side. */
static void objective(const struct agent *a, const struct packed *packed, const struct objective *o,
                      const struct work *w, int64_t n, struct sums *gradient, double *numbers) {
    int64_t actions = a->actions;
    struct outputs f = outputs_of(a, w);
    lanes *x = w->side, *p = w->probability, sums[STATISTICS];
    memset(sums, 0, sizeof sums);
    for (int64_t at = 0; at < n; at += LANES) {
        int64_t left = n - at < LANES ? n - at : LANES;
        float *logits = f.logits + at * f.apart, *values = f.value + at * f.value_apart;
        const int64_t *chosen = w->chosen + at;
        lanes none = {0}, entropy = none, log_prob = none, value = none, known[5];
        for (int64_t k = 0; k < 5; k++) known[k] = load(w->known[k] + at, left);
        memset(x, 0, sizeof(lanes) * actions);
        for (int64_t i = 0; i < left; i++) {
            for (int64_t k = 0; k < actions; k++) x[k][i] = logits[i * f.apart + k];
            value[i] = values[i * f.value_apart];
        }
        if (a->continuous) gaussian(a, packed->log_std, x, p, w->moved + at * actions, left, &log_prob, &entropy);
        else categorical(a, x, p, chosen, left, &log_prob, &entropy);

        lanes weight = known[WEIGHT], log_ratio = log_prob - known[OLD], ratio = exponential(log_ratio);
        lanes inside = within(none + 1.f - o->clip, ratio, none + 1.f + o->clip);
        lanes gain = known[ADVANTAGE] * ratio, bounded = known[ADVANTAGE] * inside;
        lanes moved = value - known[BEFORE], held = within(none - o->reach, moved, none + o->reach);
        lanes error = choose(held == moved, value, known[BEFORE] + held) - known[RETURN];
        sums[POLICY] -= weight * choose(bounded < gain, bounded, gain);
        sums[VALUE] += weight * error * error;
        sums[ENTROPY] -= weight * entropy;
        sums[KL] += weight * (ratio - 1.f - log_ratio);
        sums[CLIPPED] += choose(ratio != inside, weight, none);

        lanes by_log_prob = -choose(gain <= bounded, gain * weight, none), by_entropy = -o->ent_coef * weight;
        lanes by_value = 2 * o->vf_coef * choose(held == moved, error * weight, none);
        for (int64_t k = 0; k < actions && !a->continuous; k++)
            x[k] = -p[k] * (by_log_prob + by_entropy * (x[k] + entropy));
        for (int64_t k = 0; k < actions && a->continuous; k++) {
            x[k] = by_log_prob * p[k] * expf(-packed->log_std[k]);
            gradient->log_std[k] += sum_of(by_log_prob * (p[k] * p[k] - 1.f) + by_entropy);
        }
        for (int64_t i = 0; i < left; i++) {
            for (int64_t k = 0; k < actions; k++) logits[i * f.apart + k] = x[k][i];
            if (!a->continuous) logits[i * f.apart + chosen[i]] += by_log_prob[i];
            values[i * f.value_apart] = by_value[i];
        }
    }
    for (int64_t k = 0; k < STATISTICS; k++)
        for (int64_t i = 0; i < LANES; i++) numbers[k] += sums[k][i];
}

/* -- learning ------------------------------------------------------------------------------------------------------ */

/* Copies states before sequences, and noise during them, of one layer. */
static void gather_layer(const struct agent *a, const struct rollout *o, struct loop *l, int64_t net, int64_t layer,
                         const struct sequences *s) {
    int64_t units = a->units, n = 0;
    float *noise = (float *)l->noise, *h0 = (float *)l->h0, *c0 = (float *)l->c0;
    for (int64_t k = 0; k < s->n; k++) {
        int64_t from = ((s->first[k] / o->envs * a->layers + layer) * o->envs + s->first[k] % o->envs) * units;
        memcpy(h0 + k * units, o->h[net] + from, 4 * units);
        if (o->c[net]) memcpy(c0 + k * units, o->c[net] + from, 4 * units);
    }
    for (int64_t t = 0; noise && t < s->length[0]; t++)
        for (int64_t k = 0; k < s->n && t < s->length[k]; k++, n++) {
            int64_t time = s->first[k] / o->envs + t;
            int64_t from = ((time * a->layers + layer) * o->envs + s->first[k] % o->envs) * units;
            for (int64_t i = 0; i < units; i++) noise[n * units + i] = o->noise_scale * o->noise[net][from + i];
        }
    l->times = s->length[0];
    l->alpha = o->alpha;
}

/* Copies sequences out of the rollout, the first step of each, then the second of all that have one; returns the number
   of steps. */
static int64_t gather(const struct agent *a, const struct rollout *o, const struct objective *j, struct work *w,
                      const struct sequences *s) {
    int64_t n = 0, features = a->features, actions = a->actions;
    for (int64_t t = 0; t < s->length[0]; t++) {
        int64_t before = n;
        for (int64_t k = 0; k < s->n && t < s->length[k]; k++, n++) {
            int64_t place = s->first[k] + t * o->envs;
            memcpy(w->x + n * features, o->obs + place * features, 4 * features);
            if (a->continuous) memcpy(w->moved + n * actions, o->moved + place * actions, 4 * actions);
            else w->chosen[n] = o->chosen[place];
            w->known[OLD][n] = o->old[place];
            w->known[ADVANTAGE][n] = (o->advantages[place] - j->mean) * j->scale;
            w->known[RETURN][n] = o->returns[place];
            w->known[BEFORE][n] = o->values[place];
            w->known[WEIGHT][n] = o->counts[place] ? j->share : 0;
        }
        w->counts[t] = n - before;
    }
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t l = 0; l < a->layers; l++) gather_layer(a, o, &w->loop[net][l], net, l, s);
    return n;
}

/* Takes n steps of sequences that have been gathered all the way. */
static void take(const struct agent *a, const struct packed *p, const struct objective *o, struct work *w, int64_t n,
                 int64_t sequences, struct sums *sums, double *numbers) {
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t k = 0; k < a->layers; k++) {
            w->loop[net][k].panels = p->layer[net][k].gates;
            loop_forward(&w->loop[net][k]);
        }
    read_out(a, p, w, n);
    objective(a, p, o, w, n, sums, numbers);
    read_back(a, p, w, n, sums);
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t k = a->layers - 1; k >= 0; k--) {
            struct loop l = w->loop[net][k];
            l.panels = p->layer[net][k].state;
            l.dh = w->dh[net];
            l.h0_fixed = 1;
            memset(l.dh0, 0, 4 * sequences * a->units);
            if (a->cell == LSTM) memset(l.dc0, 0, 4 * sequences * a->units);
            loop_backward(&l);
            add_products(l.rows, l.gates, n, depth_of(a, k), a->wide, sums->layer[net][k]);
            if (k) multiply(l.gates, n, a->wide, p->layer[net][k].inputs, w->dh[net], a->units, 0);
        }
}

/* Where the group of sequences that begins with this one ends. */
static int64_t group_end(const struct sequences *s, int64_t from) {
    int64_t steps = s->length[from], to = from + 1;
    for (; to < s->n && (steps + s->length[to] <= STEPS || to - from < SIDE_BY_SIDE); to++) steps += s->length[to];
    return to;
}

int64_t count_groups(const struct sequences *s) {
    int64_t groups = 0;
    for (int64_t from = 0; from < s->n; groups++) from = group_end(s, from);
    return groups;
}

/* Sums over the sequences of a chunk. */
void agent_learn(const struct agent *a, const struct packed *p, const struct rollout *o, const struct objective *j,
                 struct work *w, const struct sequences *s, int64_t chunk, int64_t chunks, struct sums *sums,
                 double *numbers) {
    int64_t groups = count_groups(s), begin = groups * chunk / chunks, end = groups * (chunk + 1) / chunks;
    memset(sums->memory, 0, 4 * sums->size);
    memset(numbers, 0, 8 * STATISTICS);
    for (int64_t from = 0, group = 0, to; from < s->n; from = to, group++) {
        to = group_end(s, from);
        if (group < begin || group >= end) continue;
        struct sequences some = {s->first + from, s->length + from, to - from};
        take(a, p, j, w, gather(a, o, j, w, &some), some.n, sums, numbers);
    }
}
