/* How an agent acts, and the gradient of its objective over the sequences of a minibatch (acting.py, policy.py and
   rollout.py have the plain forms).

   For the gradient a few sequences are taken all the way, forward, through the objective and back, before the next are:
   what they leave behind for the way back stays in the cache. Such groups are dealt into at most MAX_CHUNKS chunks,
   each with sums of its own, which are added up in order: the result does not depend on how many threads share the
   work. */

#include "passes.h"

#include <math.h>

#define BLOCK 128 /* steps whose gates stay in the nearest cache while the gradient of the weights is summed */

/* The network that a head reads. */
static int64_t network_of_head(const struct agent *a, int64_t head) { return head ? a->networks - 1 : 0; }

/* -- heads --------------------------------------------------------------------------------------------------------- */

static void activate(float *y, int64_t n, int64_t activation) {
    for (int64_t i = 0; i < n; i += LANES) {
        lanes x = load(y + i, n - i);
        if (activation == RELU_UNITS) x = choose(x < 0.f, (lanes){0}, x);
        else x = 2.f * inverse(1.f + exponential(-2.f * x)) - 1.f;
        store(y + i, x, n - i);
    }
}

void forward_heads(const struct agent *a, const struct packed_weights *p, struct workspace *w, int64_t n) {
    for (int64_t c = 0; c < a->heads; c++) {
        const float *from = w->loop[network_of_head(a, c)][a->layers - 1].h;
        for (int64_t d = 0; d < a->head_layers[c]; d++) {
            int64_t in = a->head_width[c][d], out = a->head_width[c][d + 1];
            float *to = w->head_out[c][d];
            for (int64_t r = 0; r < n; r++) memcpy(to + r * out, p->head[c][d].bias, 4 * out);
            multiply(from, n, in, p->head[c][d].forward, to, out, 1);
            if (d + 1 < a->head_layers[c]) activate(to, n * out, a->activation);
            from = to;
        }
    }
}

/* Columns from `first`, a multiple of WIDTH, to before `end` of
   sum (depth, columns) += transpose of a (n, depth) times b (n, columns). */
static void add_columns(const float *a, const float *b, int64_t n, int64_t depth, int64_t columns, float *sum,
                        int64_t first, int64_t end) {
    int64_t rest = end % WIDTH, whole = end - rest;
    for (int64_t k = 0; k < n; k += BLOCK, a += BLOCK * depth, b += BLOCK * columns) {
        int64_t some = n - k < BLOCK ? n - k : BLOCK;
        for (int64_t j = first; j < whole; j += WIDTH)
            strip(a, 1, depth, depth, some, b + j, columns, sum + j, columns, 1);
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

void backward_heads(const struct agent *a, const struct packed_weights *p, struct workspace *w, int64_t n,
                    struct gradient_sums *sums) {
    for (int64_t c = 0; c < a->heads; c++) {
        int64_t net = network_of_head(a, c);
        for (int64_t d = a->head_layers[c] - 1; d >= 0; d--) {
            int64_t in = a->head_width[c][d], out = a->head_width[c][d + 1];
            const float *slope = w->head_out[c][d], *from = d ? w->head_out[c][d - 1] : w->loop[net][a->layers - 1].h;
            add_columns(slope, from, n, out, in, sums->weight[c][d], 0, in);
            for (int64_t r = 0; r < n; r++)
                for (int64_t k = 0; k < out; k++) sums->bias[c][d][k] += slope[r * out + k];
            if (!d) multiply(slope, n, out, p->head[c][d].backward, w->dh[net], in, c && a->networks == 1);
            else {
                float *y = w->head_out[c][d - 1];
                multiply(slope, n, out, p->head[c][d].backward, w->d_input, in, 0);
                for (int64_t i = 0; i < n * in; i++)
                    y[i] = w->d_input[i] * (a->activation == RELU_UNITS ? y[i] > 0 : 1 - y[i] * y[i]);
            }
        }
    }
}

/* -- acting -------------------------------------------------------------------------------------------------------- */

/* Chooses, at a place of the rollout, the action that is preferred most once the draws are added. */
static void choose_discrete_action(const struct agent *a, const float *logits, const float *drawn,
                                   const struct rollout *o, int64_t place) {
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

/* Chooses an action around the mean. */
static void choose_continuous_action(const struct agent *a, const struct packed_weights *p, const float *mean,
                                     const float *drawn, const struct rollout *o, int64_t place) {
    float log_prob = 0;
    for (int64_t k = 0; k < a->actions; k++) {
        o->moved[place * a->actions + k] = mean[k] + expf(p->log_std[k]) * drawn[k];
        log_prob -= 0.5f * drawn[k] * drawn[k] + p->log_std[k] + HALF_LOG_2_PI;
    }
    o->old[place] = log_prob;
}

void agent_act(const struct agent *a, const struct packed_weights *p, const struct rollout *o, struct workspace *w,
               int64_t time, int64_t first, int64_t end, const float *draws) {
    int64_t n = end - first, size = n * a->units;
    w->counts[0] = n;
    FOR_LAYERS(a, net, k) {
        struct loop *l = &w->loop[net][k];
        int64_t before = ((time * a->layers + k) * o->envs + first) * a->units;
        int64_t after = before + a->layers * o->envs * a->units;
        float *noise = (float *)l->noise;
        for (int64_t i = 0; noise && i < size; i++) noise[i] = o->noise_scale * o->noise[net][before + i];
        l->times = 1, l->alpha = o->alpha, l->panels = p->layer[net][k].gates;
        l->x = k ? w->loop[net][k - 1].h : o->obs + (time * o->envs + first) * a->features;
        l->h0 = o->h[net] + before, l->h = o->h[net] + after;
        if (o->c[net]) l->c0 = o->c[net] + before, l->c = o->c[net] + after;
        loop_forward_some(l, 0, n);
    }
    forward_heads(a, p, w, n);
    struct outputs f = head_outputs(a, w);
    for (int64_t r = 0; r < n; r++) {
        const float *logits = f.logits + r * f.logits_apart, *drawn = draws + (first + r) * a->actions;
        int64_t place = time * o->envs + first + r;
        memcpy(o->logits + place * a->actions, logits, 4 * a->actions);
        o->values[place] = f.value[r * f.value_apart];
        if (a->continuous) choose_continuous_action(a, p, logits, drawn, o, place);
        else choose_discrete_action(a, logits, drawn, o, place);
    }
}

/* -- learning ------------------------------------------------------------------------------------------------------ */

/* Copies states before sequences, and noise during them, of one layer. */
static void gather_layer(const struct agent *a, const struct rollout *o, struct loop *l, int64_t net, int64_t layer,
                         const struct sequences *s) {
    int64_t units = a->units, n = 0;
    float *noise = (float *)l->noise, *h0 = (float *)l->h0, *c0 = (float *)l->c0;
    if (!o->h[net]) memset(h0, 0, 4 * s->n * units);
    if (!o->h[net] && a->cell == LSTM) memset(c0, 0, 4 * s->n * units);
    for (int64_t k = 0; o->h[net] && k < s->n; k++) {
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
static int64_t gather(const struct agent *a, const struct rollout *o, const struct objective *j, struct workspace *w,
                      const struct sequences *s) {
    int64_t n = 0, features = a->features, actions = a->actions;
    for (int64_t t = 0; t < s->length[0]; t++) {
        int64_t before = n;
        for (int64_t k = 0; k < s->n && t < s->length[k]; k++, n++) {
            int64_t place = s->first[k] + t * o->envs;
            memcpy(w->x + n * features, o->obs + place * features, 4 * features);
            if (a->continuous) memcpy(w->moved + n * actions, o->moved + place * actions, 4 * actions);
            else w->chosen[n] = o->chosen[place];
            if (o->weight) {
                w->per_step[WEIGHT][n] = o->weight[place];
                w->per_step[DUE][n] = o->due[place];
                continue;
            }
            if (o->correct) w->correct[n] = o->correct[place];
            w->per_step[OLD_LOG_PROB][n] = o->old[place];
            w->per_step[ADVANTAGE][n] = (o->advantages[place] - j->mean) * j->scale;
            w->per_step[RETURN][n] = o->returns[place];
            w->per_step[OLD_VALUE][n] = o->values[place];
            w->per_step[WEIGHT][n] = o->counts[place] ? j->share : 0;
        }
        w->counts[t] = n - before;
    }
    FOR_LAYERS(a, net, l) gather_layer(a, o, &w->loop[net][l], net, l, s);
    return n;
}

void keep_last(const struct agent *a, const struct workspace *w, int64_t n, const int64_t *columns, int64_t apart,
               float *h, float *c) {
    int64_t units = a->units;
    for (int64_t k = 0; h && k < a->layers; k++) {
        const struct loop *l = &w->loop[0][k];
        for (int64_t s = 0; s < n; s++) {
            int64_t at = s, to = (k * apart + (columns ? columns[s] : s)) * units;
            for (int64_t t = 0; t + 1 < l->times && s < l->counts[t + 1]; t++) at += l->counts[t];
            memcpy(h + to, l->h + at * units, 4 * units);
            if (c) memcpy(c + to, l->c + at * units, 4 * units);
        }
    }
}

/* Bounds of a part of the sequences of a loop. */
static int64_t bound(const struct loop *l, int64_t part, int64_t parts) { return l->counts[0] * part / parts; }

static void run_forward_part(const void *data, int64_t part, int64_t parts) {
    const struct loop *l = data;
    loop_forward_some(l, bound(l, part, parts), bound(l, part + 1, parts));
}

static void run_backward_part(const void *data, int64_t part, int64_t parts) {
    const struct loop *l = data;
    loop_backward_some(l, bound(l, part, parts), bound(l, part + 1, parts));
}

/* The gradient of the weights of a loop, summed over so many steps. */
struct weight_gradient {
    const struct loop *loop;
    float *sum;
    int64_t steps;
};

static void run_weight_gradient_part(const void *data, int64_t part, int64_t parts) {
    const struct weight_gradient *g = data;
    const struct loop *l = g->loop;
    int64_t columns = GATES[l->cell] * l->units, strips = (columns + WIDTH - 1) / WIDTH;
    int64_t from = strips * part / parts * WIDTH, to = strips * (part + 1) / parts * WIDTH;
    add_columns(l->rows, l->gates, g->steps, l->units + l->features + 1, columns, g->sum, from,
                to < columns ? to : columns);
}

/* Does work on a loop, alone or with the others of a team. */
static void work_on(struct team *team, void (*run)(const void *, int64_t, int64_t), const void *data,
                    const struct loop *l) {
    struct work work = {run, data, 0};
    share_work(team, &work, l->counts[0]);
}

void forward_layers(const struct agent *a, const struct packed_weights *p, struct workspace *w, struct team *team) {
    FOR_LAYERS(a, net, k) {
        w->loop[net][k].panels = p->layer[net][k].gates;
        work_on(team, run_forward_part, &w->loop[net][k], &w->loop[net][k]);
    }
}

void backward_layers(const struct agent *a, const struct packed_weights *p, struct workspace *w, int64_t n,
                     struct gradient_sums *sums, struct team *team) {
    for (int64_t net = 0; net < a->networks; net++)
        for (int64_t k = a->layers - 1; k >= 0; k--) {
            struct loop l = w->loop[net][k];
            l.panels = p->layer[net][k].state;
            l.dh = w->dh[net];
            if (l.h0_fixed) memset(l.dh0, 0, 4 * l.counts[0] * a->units);
            if (l.h0_fixed && a->cell == LSTM) memset(l.dc0, 0, 4 * l.counts[0] * a->units);
            work_on(team, run_backward_part, &l, &l);
            struct weight_gradient g = {&l, sums->layer[net][k], n};
            work_on(team, run_weight_gradient_part, &g, &l);
            if (k) multiply(l.gates, n, a->gate_rows, p->layer[net][k].inputs, w->dh[net], a->units, 0);
        }
}

/* Computes n steps of sequences that have been gathered: forward, what is minimised, and back. */
static void forward_backward(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                             const struct objective *j, struct workspace *w, int64_t n, const struct sequences *s,
                             struct gradient_sums *sums, double *statistics, struct team *team) {
    forward_layers(a, p, w, team);
    if (o->weight) keep_last(a, w, s->n, s->first, o->envs, o->h[0], o->c[0]);
    forward_heads(a, p, w, n);
    if (o->weight) add_supervised_loss(a, w, n, statistics);
    else add_ppo_objective(a, p, j, w, n, sums, statistics);
    backward_heads(a, p, w, n, sums);
    if (j->l1 || j->l2) add_penalty_on_rates(a, j, w, n, statistics);
    backward_layers(a, p, w, n, sums, team);
}

/* Where the group of sequences that begins with this one ends. */
static int64_t group_end(const struct sequences *s, int64_t from) {
    int64_t steps = s->length[from], to = from + 1;
    for (; to < s->n && (steps + s->length[to] <= GROUP_STEPS || to - from < MIN_GROUP_SEQUENCES); to++)
        steps += s->length[to];
    return to;
}

int64_t count_groups(const struct sequences *s) {
    int64_t groups = 0;
    for (int64_t from = 0; from < s->n; groups++) from = group_end(s, from);
    return groups;
}

void agent_gradient(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                 const struct objective *j, struct workspace *w, const struct sequences *s, int64_t chunk,
                 int64_t chunks, struct gradient_sums *sums, double *statistics, struct team *team) {
    int64_t groups = count_groups(s), begin = groups * chunk / chunks, end = groups * (chunk + 1) / chunks;
    memset(sums->memory, 0, 4 * sums->size);
    memset(statistics, 0, 8 * STATISTICS);
    for (int64_t from = 0, group = 0, to; from < s->n; from = to, group++) {
        to = group_end(s, from);
        if (group < begin || group >= end) continue;
        struct sequences some = {s->first + from, s->length + from, to - from};
        forward_backward(a, p, o, j, w, gather(a, o, j, w, &some), &some, sums, statistics, team);
    }
}
