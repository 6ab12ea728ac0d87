/* An update: for one minibatch after the other the gradient over its sequences, and a step of Adam down it.

   Threads share the gradient. One leads: it offers the chunks of a minibatch on a board, takes some itself, waits for
   those that others took, adds up the sums in the order of the chunks, and steps. The others take chunks until the
   leader ends the update, or there are fewer chunks than threads. A thread that comes late, or never, takes none;
   nothing waits for it. */

#include "agent.h"

#include <math.h>

#ifdef _WIN32
#define give_way()
#else
#include <sched.h>
#define give_way() sched_yield()
#endif

#define PATIENCE 1024 /* looks at the board before another thread may have the core */
#define ENDED (-1)

/* An offer: minibatch, its chunks, the next of them; 0 before the first. */
static int64_t offer_of(int64_t minibatch, int64_t chunks) { return minibatch << 16 | chunks << 8; }
static int64_t offered_minibatch(int64_t offer) { return offer >> 16; }
static int64_t offered_chunks(int64_t offer) { return offer >> 8 & 255; }
static int64_t next_chunk(int64_t offer) { return offer & 255; }

static int64_t read_offer(struct board *b) { return __atomic_load_n(&b->offer, __ATOMIC_ACQUIRE); }
static void write_offer(struct board *b, int64_t offer) { __atomic_store_n(&b->offer, offer, __ATOMIC_RELEASE); }

/* Between two looks at the board. */
static void wait_a_little(int64_t *looks) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
    if (++*looks % PATIENCE == 0) give_way();
}

/* Packs the present weights: each thread its own, for it takes longer to fetch panels from another core. */
static void prepare(const struct agent *a, const struct packed_weights *p, const struct update *u,
                    struct workspace *w) {
    if (!u->adam.weights) return agent_prepare(a, u->weights, p);
    float *to = w->weights;
    for (int64_t k = 0; k < u->parts; to += u->size[k++]) memcpy(to, u->adam.weights + u->place[k], 4 * u->size[k]);
    agent_prepare(a, w->weights, p);
}

/* Takes a chunk that is on offer, if there is one, and computes it. `packed`: minibatch whose weights are packed. */
static int take_chunk(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                      const struct minibatches *m, const struct update *u, struct workspace *w, struct board *b,
                      int64_t *packed) {
    int64_t offer = read_offer(b);
    do
        if (offer < 0 || next_chunk(offer) >= offered_chunks(offer)) return 0;
    while (!__atomic_compare_exchange_n(&b->offer, &offer, offer + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    int64_t k = offered_minibatch(offer), chunk = next_chunk(offer);
    struct sequences s = sequences_of(m, k);
    if (*packed != k) prepare(a, p, u, w), *packed = k;
    struct gradient_sums sums;
    layout_gradient_sums(a, &sums, u->sums + chunk * u->sums_apart);
    agent_learn(a, p, o, &b->objective, w, &s, chunk, offered_chunks(offer), &sums, b->statistics[chunk]);
    __atomic_add_fetch(&b->done, 1, __ATOMIC_RELEASE);
    return 1;
}

/* Takes chunks until the update ends, or a minibatch has none left for the thread of this rank. */
void agent_help(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                const struct minibatches *m, const struct update *u, struct workspace *w, struct board *b,
                int64_t rank) {
    int64_t looks = 0, packed = -1, offer;
    while ((offer = read_offer(b)) != ENDED) {
        if (take_chunk(a, p, o, m, u, w, b, &packed)) continue;
        if (offered_chunks(offer) && offered_chunks(offer) <= rank) return;
        wait_a_little(&looks);
    }
}

/* Puts mean and scale of the advantages of a minibatch, and the weight of a step, on the board; returns the number of
   steps that are learned from. */
static double put_objective(const struct rollout *o, const struct sequences *s, const struct update *u,
                            struct board *b) {
    double n = 0, sum = 0, squares = 0;
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
    b->objective = u->objective;
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

/* Leads an update; returns how many minibatches were looked at. The last is stepped from unless its KL divergence was
   too large. */
int64_t agent_update(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                     const struct minibatches *m, const struct update *u, struct workspace *w, struct board *b) {
    int64_t k = 0, packed = -1;
    for (int far = 0; k < m->n && !far; k++) {
        int64_t looks = 0;
        struct sequences s = sequences_of(m, k);
        double *numbers = u->numbers + k * (STATISTICS + 1);
        memset(numbers, 0, 8 * (STATISTICS + 1));
        if (!(numbers[STATISTICS] = put_objective(o, &s, u, b))) continue;
        int64_t groups = count_groups(&s), chunks = groups < MAX_CHUNKS ? groups : MAX_CHUNKS;
        b->done = 0;
        write_offer(b, offer_of(k, chunks));
        while (take_chunk(a, p, o, m, u, w, b, &packed)) {}
        while (__atomic_load_n(&b->done, __ATOMIC_ACQUIRE) < chunks) wait_a_little(&looks);
        for (int64_t c = 0; c < chunks; c++)
            for (int64_t i = 0; i < STATISTICS; i++) numbers[i] += b->statistics[c][i];
        agent_collect(a, u->sums, chunks, u->sums_apart, u->slopes);
        far = (float)numbers[KL] > (float)u->most_kl;
        if (u->adam.weights && !far) step(u);
    }
    write_offer(b, ENDED);
    return k;
}
