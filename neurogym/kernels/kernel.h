/* How a compiled function is declared, and what it is given once its arguments have been checked (see module.c). */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MOST_ARGUMENTS 56
#define MOST_SIZES 20

union value {
    int64_t integer;
    double real;
    void *array; /* null for an optional array that was not given */
};

struct call {
    union value value[MOST_ARGUMENTS]; /* in the order of the signature */
    int64_t size[MOST_SIZES];          /* in the order of `sizes` */
    int64_t result;                    /* what the function returns to Python */
};

/* A signature lists the arguments, separated by semicolons: a name, a type (int, float, or an array such as
   float32[steps,units]), then `out` if it is written and `optional` if it may be None. Equal names of sizes are equal
   numbers. `run` returns null, or what is wrong with the values; then it has changed nothing. */
struct kernel {
    const char *name, *signature, *sizes; /* `sizes`: names, separated by commas */
    const char *(*run)(struct call *);
    int long_running; /* other threads of Python go on meanwhile */
};

/* A kernel is declared once, by a list of its arguments and the names of their sizes:

       #define FILL(X) X(OUT, values, float32, rows,units) X(MAYBE, scale, float32, units) X(INT, first)
       DECLARE(fill, FILL, rows, units)

   This makes the struct `fill_arguments` with members `values`, `scale` (null if it is None) and `first`, the struct
   `fill_sizes`, and the texts from which KERNEL(fill, 0) makes an entry for Python. `run_fill` begins with TAKE(fill):
   `given.values` and `size.rows` are then what was given. */
#define DECLARE(kernel, LIST, ...)                                                                                     \
    STRUCTS(kernel, LIST, __VA_ARGS__)                                                                                 \
    static const char kernel##_signature[] = LIST(ENTRY), kernel##_size_names[] = LISTED(__VA_ARGS__);
#define STRUCTS(kernel, LIST, ...)                                                                                     \
    struct kernel##_arguments {                                                                                        \
        LIST(MEMBER)                                                                                                   \
    };                                                                                                                 \
    struct kernel##_sizes {                                                                                            \
        int64_t __VA_ARGS__;                                                                                           \
    };
#define LISTED(...) #__VA_ARGS__
#define KERNEL(kernel, long_running) {#kernel, kernel##_signature + 2, kernel##_size_names, run_##kernel, long_running}
#define TAKE(kernel)                                                                                                   \
    struct kernel##_arguments given;                                                                                   \
    struct kernel##_sizes size;                                                                                        \
    memcpy(&given, c->value, sizeof given);                                                                            \
    memcpy(&size, c->size, sizeof size)

#define MEMBER(kind, name, ...) MEMBER_##kind(__VA_ARGS__) name;
#define MEMBER_INT(...) int64_t
#define MEMBER_FLOAT(...) double
#define MEMBER_IN(type, ...) const type *
#define MEMBER_OUT(type, ...) type *
#define MEMBER_MAYBE(type, ...) const type *
#define MEMBER_MAYBE_OUT(type, ...) type *

#define ENTRY(kind, name, ...) "; " #name ENTRY_##kind(__VA_ARGS__)
#define ENTRY_INT(...) " int"
#define ENTRY_FLOAT(...) " float"
#define ENTRY_IN(type, ...) " " #type "[" #__VA_ARGS__ "]"
#define ENTRY_OUT(type, ...) " " #type "[" #__VA_ARGS__ "] out"
#define ENTRY_MAYBE(type, ...) " " #type "[" #__VA_ARGS__ "] optional"
#define ENTRY_MAYBE_OUT(type, ...) " " #type "[" #__VA_ARGS__ "] out optional"

typedef float float32;
typedef double float64;
typedef int64_t int64;
typedef int32_t int32;
typedef uint8_t uint8;
_Static_assert(sizeof(void *) == sizeof(union value), "every member is as wide as a value");

extern const struct kernel BATCH_KERNELS[], FILLING_KERNELS[], AGENT_KERNELS[], NETWORK_KERNELS[], ADAM_KERNELS[];
