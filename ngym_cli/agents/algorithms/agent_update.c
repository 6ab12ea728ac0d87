/* An update: for one minibatch after the other the gradient over its sequences, and a step of Adam down it.

   Threads share the gradient. One leads: it offers the chunks of a minibatch on a board, takes some itself, waits for
   those that others took, adds up the sums in the order of the chunks, and steps. Of a minibatch of one chunk it offers
   the parts of one product or loop after the other. The others take parts until the leader ends the update, or there
   are fewer chunks than threads. A thread that comes late, or never, takes none; nothing waits for it. */

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

/* An offer: its number, which no other has, its parts, the next of them; 0 before the first. */
static int64_t offer_of(int64_t number, int64_t parts) { return number << 16 | parts << 8; }
static int64_t offered_parts(int64_t offer) { return offer >> 8 & 255; }
static int64_t next_part(int64_t offer) { return offer & 255; }

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

/* Takes a part that is on offer, if there is one; returns its place, or -1. */
static int64_t take_part(struct board *b, int64_t *parts) {
    int64_t offer = read_offer(b);
    do
        if (offer < 0 || next_part(offer) >= offered_parts(offer)) return -1;
    while (!__atomic_compare_exchange_n(&b->offer, &offer, offer + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    *parts = offered_parts(offer);
    return next_part(offer);
}

static void part_is_done(struct board *b) { __atomic_add_fetch(&b->done, 1, __ATOMIC_RELEASE); }

/* Offers work in so many parts. What it is may be written, for nobody has a part of the last any more. */
static void offer_work(struct board *b, const struct work *work, int64_t parts) {
    b->work = *work;
    b->done = 0;
    write_offer(b, offer_of(++b->offers, parts));
}

static void wait_for_others(struct board *b, int64_t parts) {
    int64_t looks = 0;
    while (__atomic_load_n(&b->done, __ATOMIC_ACQUIRE) < parts) wait_a_little(&looks);
}

/* Does work on a loop, with whoever takes a part of it. */
void share_work(struct board *b, const struct work *work) {
    int64_t sequences = work->loop->counts[0], parts = b->threads < sequences ? b->threads : sequences, part;
    offer_work(b, work, parts);
    while ((part = take_part(b, &parts)) >= 0) agent_part(work, part, parts), part_is_done(b);
    wait_for_others(b, parts);
}

/* Computes the gradient of a chunk. `packed`: minibatch whose weights are packed. */
static void compute_chunk(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                          const struct minibatches *m, const struct update *u, struct workspace *w, struct board *b,
                          int64_t k, int64_t chunk, int64_t chunks, int64_t *packed) {
    struct sequences s = sequences_of(m, k);
    if (*packed != k) prepare(a, p, u, w), *packed = k;
    struct gradient_sums sums;
    layout_gradient_sums(a, &sums, u->sums + chunk * u->sums_apart);
    agent_learn(a, p, o, &b->objective, w, &s, chunk, chunks, &sums, b->statistics[chunk],
                chunks == 1 && b->threads > 1 ? b : 0);
}

/* Takes parts until the update ends, or a minibatch has no chunk left for the thread of this rank. */
void agent_help(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                const struct minibatches *m, const struct update *u, struct workspace *w, struct board *b,
                int64_t rank) {
    int64_t looks = 0, packed = -1, part, parts, offer;
    while ((offer = read_offer(b)) != ENDED) {
        if ((part = take_part(b, &parts)) < 0) {
            if (offered_parts(offer) && offered_parts(offer) <= rank) return;
            wait_a_little(&looks);
            continue;
        }
        if (b->work.kind != CHUNKS) agent_part(&b->work, part, parts);
        else compute_chunk(a, p, o, m, u, w, b, b->work.minibatch, part, parts, &packed);
        part_is_done(b);
    }
}

/* Puts what is minimised on the board, for a minibatch: with mean and scale of its advantages, and the weight of a
   step. Returns the number of steps that are learned from. */
static double put_objective(const struct rollout *o, const struct sequences *s, const struct update *u,
                            struct board *b) {
    double n = 0, sum = 0, squares = 0;
    b->objective = u->objective;
    if (o->weight) {
        for (int64_t k = 0; k < s->n; k++) n += s->length[k];
        return n;
    }
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

/* Leads an update that so many threads may share; returns how many minibatches were looked at. The last is stepped
   from unless its KL divergence was too large. */
int64_t agent_update(const struct agent *a, const struct packed_weights *p, const struct rollout *o,
                     const struct minibatches *m, const struct update *u, struct workspace *w, struct board *b,
                     int64_t threads) {
    int64_t k = 0, packed = -1;
    b->threads = threads;
    for (int far = 0; k < m->n && !far; k++) {
        struct sequences s = sequences_of(m, k);
        double *numbers = u->numbers + k * (STATISTICS + 1);
        memset(numbers, 0, 8 * (STATISTICS + 1));
        if (!(numbers[STATISTICS] = put_objective(o, &s, u, b))) continue;
        int64_t groups = count_groups(&s), chunks = groups < MAX_CHUNKS ? groups : MAX_CHUNKS;
        struct work work = {CHUNKS, k, 0, 0, 0};
        if (chunks == 1) compute_chunk(a, p, o, m, u, w, b, k, 0, 1, &packed);
        else {
            offer_work(b, &work, chunks);
            for (int64_t chunk; (chunk = take_part(b, &chunks)) >= 0; part_is_done(b))
                compute_chunk(a, p, o, m, u, w, b, k, chunk, chunks, &packed);
            wait_for_others(b, chunks);
        }
        for (int64_t c = 0; c < chunks; c++)
            for (int64_t i = 0; i < STATISTICS; i++) numbers[i] += b->statistics[c][i];
        agent_collect(a, u->sums, chunks, u->sums_apart, u->slopes);
        far = (float)numbers[KL] > (float)u->most_kl;
        if (u->adam.weights && !far) step(u);
    }
    write_offer(b, ENDED);
    return k;
}
