/* How a compiled function is declared, and what it is given once its arguments have been checked (see module.c). */

#ifndef NGYM_KERNEL_H
#define NGYM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define MOST_ARGUMENTS 48
#define MOST_SIZES 20

union value {
    int64_t integer;
    double real;
    void *array; /* null for an optional array that was not given */
};

struct call {
    union value value[MOST_ARGUMENTS]; /* in the order of the signature */
    int64_t size[MOST_SIZES];          /* named sizes, in the order in which the signature first names them */
    int64_t result;                    /* what the function returns to Python */
};

/* A signature lists the arguments, separated by semicolons: a name, a type (int, float, or an array such as
   float32[steps,units]), then `out` if it is written and `optional` if it may be None. Equal names of sizes are equal
   numbers. `run` returns null, or what is wrong with the values; then it has changed nothing. */
struct kernel {
    const char *name, *signature;
    const char *(*run)(struct call *);
    int long_running; /* other threads of Python go on meanwhile */
};

extern const struct kernel BATCH_KERNELS[], FILLING_KERNELS[], LOOPS_KERNELS[], FUSED_KERNELS[], DESCENT_KERNELS[];

#endif
