/* loop.h - inside the fused loops: the tile kernels and how one is found.
 *
 * A kernel computes one op of one element type over n elements that lie side by side. Tiles hold elements as the dtype stores them
 * (bf16 as 16 bits), so a value is rounded wherever it is stored and a chain of kernels equals the ops run one by one, bit for bit.
 * loop_kernels.h is compiled once per instruction set (loop_avx512.c, loop_avx2.c, loop_base.c); loop_rare.c holds the rest. */
#ifndef ENG_LOOP_H
#define ENG_LOOP_H
#include "engine/engine.h"

/* d may be exactly a, b or c where the element sizes agree. Unused operands are NULL. */
typedef void (*loop_kernel)(void *d, const void *a, const void *b, const void *c, int64_t n);

typedef enum loop_direction { LOOP_EQ, LOOP_NE, LOOP_LT, LOOP_LE, LOOP_GT, LOOP_GE } loop_direction;

/* op + LOOP_ROW: the kernel that reduces a[0, n) by op to one element d: f32 from 16- and 32-bit floats, else the type itself. Where a
 * pred's `and` meets no element the result has all bits set. */
enum { LOOP_ROW = 1 << 16 };

/* The element type of a key: in is operand 0's (for SELECT operand 1's), out the result's. NULL: there is none. */
loop_kernel loop_find_base(int op, tt_dtype in, tt_dtype out, int direction);
loop_kernel loop_find_avx2(int op, tt_dtype in, tt_dtype out, int direction);
loop_kernel loop_find_avx512(int op, tt_dtype in, tt_dtype out, int direction);
loop_kernel loop_find_rare(int op, tt_dtype in, tt_dtype out, int direction);

/* The best of them for this CPU; never ISA-dependent in whether there is one. */
loop_kernel loop_find(int op, tt_dtype in, tt_dtype out, int direction);
/* The kernel of an elementwise node, NULL if loops cannot run it. */
loop_kernel loop_find_node(const hlo_graph *g, const hlo_node *node);
int loop_direction_parse(const char *text);    /* "LT" ...; -1 if it is none */

static inline int64_t loop_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t loop_max(int64_t a, int64_t b) { return a > b ? a : b; }

enum { LOOP_SCRATCH = 0, FAST_SCRATCH = 1 };   /* eng_scratch slots: loops, the other kernels of these files */
#endif
