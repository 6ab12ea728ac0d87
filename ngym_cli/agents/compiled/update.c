/* An update: for one minibatch after the other the gradient over its sequences, and a step of Adam down it.

   Threads share the gradient. One leads: it offers the chunks of a minibatch, takes some itself, waits for those that
   others took, adds up the sums in the order of the chunks, and steps. Of a minibatch of one chunk it offers the parts of
   one product or loop after the other. The others take parts until the leader ends the update, or there are fewer
   chunks than threads. */

#include "update.h"

#include <math.h>

/* Packs the present weights: each thread its own, for it takes longer to fetch panels from another core. */
static void pack_present_weights(const struct agent *a, const struct packed_weights *p, const struct update *u,
                    struct workspace *w) {
    if (!u->adam.weights) return pack_weights(a, u->weights, p);
    float *to = w->weights;
    for (int64_t k = 0; k < u->parts; to += u->size[k++]) memcpy(to, u->adam.weights + u->place[k], 4 * u->size[k]);
    pack_weights(a, w->weights, p);
}

/* Computes the gradient of a chunk. `packed`: minibatch whose weights are packed. */
static void compute_chunk(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                          const struct minibatches *m, const struct update *u, struct workspace *w, struct shared_update *b,
                          int64_t k, int64_t chunk, int64_t chunks, int64_t *packed) {
    struct sequences s = sequences_of(m, k);
    if (*packed != k) pack_present_weights(a, p, u, w), *packed = k;
    struct gradient_sums sums;
    layout_gradient_sums(a, &sums, u->sums + chunk * u->sums_apart);
    agent_gradient(a, p, o, &b->objective, w, &s, chunk, chunks, &sums, b->statistics[chunk],
                chunks == 1 && b->team.threads > 1 ? &b->team : 0);
}

void join_update(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                 const struct minibatches *m, const struct update *u, struct workspace *w, struct shared_update *b,
                 int64_t rank) {
    int64_t packed = -1, part, parts;
    while (wait_for_part(&b->team, rank, &part, &parts)) {
        const struct work *work = &b->team.work;
        if (work->run) work->run(work->data, part, parts);
        else compute_chunk(a, p, o, m, u, w, b, work->minibatch, part, parts, &packed);
        finish_part(&b->team);
    }
}

/* Shares the objective of a minibatch: with mean and scale of its advantages, and the weight of a step. Returns the number of steps that are learned from. */
static double share_objective(const struct rollout *o, const struct sequences *s, int64_t units, const struct update *u,
                            struct shared_update *b) {
    double n = 0, sum = 0, squares = 0;
    int64_t steps = 0;
    for (int64_t k = 0; k < s->n; k++) steps += s->length[k];
    b->objective = u->objective;
    b->objective.l1 = u->l1 / (steps * units), b->objective.l2 = u->l2 / (steps * units);
    if (o->weight) return steps;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = 0; k < s->n; k++)
            for (int64_t t = 0; t < s->length[k]; t++) {
                int64_t place = s->first[k] + t * o->envs;
                double off = o->advantages[place] - sum / (n > 1 ? n : 1);
                if (!o->counts[place]) continue;
                if (pass) squares += off * off;
                else n++, sum += o->advantages[place];
            }
    int normalize = u->normalize && n > 1;
    b->objective.mean = normalize ? sum / n : 0;
    b->objective.scale = normalize ? 1 / (sqrt(squares / (n - 1)) + 1e-8) : 1;
    b->objective.share = n ? 1 / n : 0;
    return n;
}

/* Steps down the gradient, which is put into the order of the vector. */
static void step(const struct update *u) {
    const float *from = u->slopes;
    for (int64_t k = 0; k < u->parts; from += u->size[k++])
        memcpy(u->gradient + u->place[k], from, 4 * u->size[k]);
    adam_step(&u->adam, u->vector);
}

int64_t lead_update(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                     const struct minibatches *m, const struct update *u, struct workspace *w, struct shared_update *b,
                     int64_t threads) {
    int64_t k = 0, packed = -1;
    b->team.threads = threads;
    for (int far = 0; k < m->n && !far; k++) {
        struct sequences s = sequences_of(m, k);
        double *numbers = u->numbers + k * (STATISTICS + 1);
        memset(numbers, 0, 8 * (STATISTICS + 1));
        if (!(numbers[STATISTICS] = share_objective(o, &s, a->units, u, b))) continue;
        int64_t groups = count_groups(&s), chunks = groups < MAX_CHUNKS ? groups : MAX_CHUNKS;
        struct work work = {.minibatch = k};
        if (chunks == 1) compute_chunk(a, p, o, m, u, w, b, k, 0, 1, &packed);
        else {
            offer_work(&b->team, &work, chunks);
            for (int64_t chunk; (chunk = take_part(&b->team, &chunks)) >= 0; finish_part(&b->team))
                compute_chunk(a, p, o, m, u, w, b, k, chunk, chunks, &packed);
            wait_for_others(&b->team, chunks);
        }
        for (int64_t c = 0; c < chunks; c++)
            for (int64_t i = 0; i < STATISTICS; i++) numbers[i] += b->statistics[c][i];
        collect_gradient(a, u->sums, chunks, u->sums_apart, u->slopes);
        far = (float)numbers[KL] > (float)u->most_kl;
        if (u->adam.weights && !far) step(u);
    }
    end_work(&b->team);
    return k;
}
