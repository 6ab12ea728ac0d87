/* Filling the rows of a block of trials (rows.py has the plain form). Rows of the block are found by their `index`. */

#include "kernel.h"

/* Whether all of n numbers are places of an array of this length. */
static int inside(const int64_t *places, int64_t n, int64_t length) {
    int outside = 0;
    for (int64_t i = 0; i < n; i++) outside |= (uint64_t)places[i] >= (uint64_t)length;
    return !outside;
}

/* Adds to some neighbouring columns of n rows. The values are one for each column, or a single one, of each row (or of
   the place `which` of each row), or the same for all rows. */
#define ADD(X)                                                                                                         \
    X(OUT, to, float32, block,width) X(INT, first) X(INT, columns) X(IN, index, int64, n)                              \
    X(IN, values, float32, given,each) X(MAYBE, which, int64, n)
DECLARE(add, ADD, block, width, n, given, each)

static void add(const struct add_arguments *a, const struct add_sizes *s) {
    int64_t columns = a->columns;
    for (int64_t i = 0; i < s->n; i++) {
        float *row = a->to + a->index[i] * s->width + a->first;
        const float *from = a->values + (s->given == 1 ? 0 : s->each * (a->which ? a->which[i] : i));
        if (s->each == 1)
            for (int64_t j = 0; j < columns; j++) row[j] += *from;
        else
            for (int64_t j = 0; j < columns; j++) row[j] += from[j];
    }
}

static const char *run_add(struct call *c) {
    TAKE(add);
    if (given.first < 0 || given.columns < 0 || given.first > size.width || given.columns > size.width - given.first)
        return "there are no such columns";
    if (size.each != 1 && size.each != given.columns) return "there is not one value, or one for each column";
    if (!inside(given.index, size.n, size.block)) return "a row is outside the block";
    if (size.given != 1 && (given.which ? !inside(given.which, size.n, size.given) : size.given != size.n))
        return "there are not values for each row";
    add(&given, &size);
    return 0;
}

const struct kernel FILLING_KERNELS[] = {KERNEL(add, 0), {0}};
