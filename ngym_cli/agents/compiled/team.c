/* Threads that share work (see team.h).

   A thread that comes late, or never, takes no part; nothing waits for it. */

#include "team.h"

#ifdef _WIN32
#define give_way()
#else
#include <sched.h>
#define give_way() sched_yield()
#endif

#define SPINS 1024 /* looks at an offer before another thread may have the core */

/* An offer: its number, which no other has, its parts, the next of them; 0 before the first. */
static int64_t offer_of(int64_t number, int64_t parts) { return number << 16 | parts << 8; }
static int64_t offered_parts(int64_t offer) { return offer >> 8 & 255; }
static int64_t next_part(int64_t offer) { return offer & 255; }

static int64_t read_offer(struct team *t) { return __atomic_load_n(&t->offer, __ATOMIC_ACQUIRE); }
static void write_offer(struct team *t, int64_t offer) { __atomic_store_n(&t->offer, offer, __ATOMIC_RELEASE); }

/* Between two looks at the offer. */
static void wait_a_little(int64_t *looks) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
    if (++*looks % SPINS == 0) give_way();
}

int64_t take_part(struct team *t, int64_t *parts) {
    int64_t offer = read_offer(t);
    do
        if (offer < 0 || next_part(offer) >= offered_parts(offer)) return -1;
    while (!__atomic_compare_exchange_n(&t->offer, &offer, offer + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    *parts = offered_parts(offer);
    return next_part(offer);
}

void finish_part(struct team *t) { __atomic_add_fetch(&t->finished, 1, __ATOMIC_RELEASE); }

/* The work may be written, for nobody has a part of the last any more. */
void offer_work(struct team *t, const struct work *work, int64_t parts) {
    t->work = *work;
    t->finished = 0;
    write_offer(t, offer_of(++t->offers, parts));
}

void wait_for_others(struct team *t, int64_t parts) {
    int64_t looks = 0;
    while (__atomic_load_n(&t->finished, __ATOMIC_ACQUIRE) < parts) wait_a_little(&looks);
}

void end_work(struct team *t) { write_offer(t, ENDED); }

void share_work(struct team *t, const struct work *work, int64_t most_parts) {
    if (!t) {
        work->run(work->data, 0, 1);
        return;
    }
    int64_t parts = t->threads < most_parts ? t->threads : most_parts, part;
    offer_work(t, work, parts);
    while ((part = take_part(t, &parts)) >= 0) work->run(work->data, part, parts), finish_part(t);
    wait_for_others(t, parts);
}

int wait_for_part(struct team *t, int64_t rank, int64_t *part, int64_t *parts) {
    int64_t looks = 0, offer;
    while ((offer = read_offer(t)) != ENDED) {
        if ((*part = take_part(t, parts)) >= 0) return 1;
        if (offered_parts(offer) && offered_parts(offer) <= rank) return 0;
        wait_a_little(&looks);
    }
    return 0;
}
