/* Threads that share work: one leads and offers it in parts, all take parts until the leader ends. */

#pragma once

#include <stdint.h>

#define ENDED (-1) /* the offer of a team whose leader has ended */

/* Work in parts. `run` computes a part of `data`; null: the members of the team know what the part of this number of
   a minibatch is. */
struct work {
    void (*run)(const void *data, int64_t part, int64_t parts);
    const void *data;
    int64_t minibatch;
};

/* Shared by the threads of a team; of zeros at first. The counters lie in cache lines of their own. */
struct team {
    int64_t offer, separate_offer[7];       /* number of the offer, its parts and the next of them to be taken */
    int64_t finished, separate_finished[7]; /* parts that are finished */
    int64_t offers, threads;                /* offers so far; threads that may share */
    struct work work;
};

/* For the leader: offers work in so many parts; waits until all of them are finished; ends. */
void offer_work(struct team *t, const struct work *work, int64_t parts);
void wait_for_others(struct team *t, int64_t parts);
void end_work(struct team *t);

/* Does work in at most so many parts, with every thread that takes one; alone where there is no team. */
void share_work(struct team *t, const struct work *work, int64_t most_parts);

/* For all: takes a part of the present offer; returns its number, or -1 if there is none left. */
int64_t take_part(struct team *t, int64_t *parts);
void finish_part(struct team *t);

/* For the others: waits for an offer with a part for the thread of this rank; 0 if the leader has ended, or offers
   fewer parts than there are threads. `part` is taken then. */
int wait_for_part(struct team *t, int64_t rank, int64_t *part, int64_t *parts);
