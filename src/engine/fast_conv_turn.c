/* fast_conv_turn.c - convolutions of channels that lie innermost and have no way of their own: x is turned to planes before, y back after.
 * Both copies stay near where images are few; they cost one reading and writing each. */
#include "engine/fast_conv.h"

enum { PIECE = 4096, LEAST_CHANNELS = 2, VECTOR = 16 };

/* Planes [image][channel][position] and cells [image][position][channel]. */
typedef struct turn {
    const conv *c;
    const char *from;
    char *to;
    bool to_planes;
    int64_t bytes, images, cells, channels, piece, pieces;
} turn;

/* to[k * to_ld + i] = from[i * ld + k]; a transpose writes whole vectors, and what follows is others'. */
static void turn_part(const turn *t, char *to, int64_t to_ld, const char *from, int64_t ld, int64_t n, int64_t count) {
    const int64_t whole = n / VECTOR * VECTOR, bytes = t->bytes;
    if (whole)
        t->c->kernels->transpose((int)bytes, to, to_ld, from, ld, whole, count);
    for (int64_t i = whole; i < n; i++)
        conv_copy(to + i * bytes, to_ld, from + i * ld * bytes, 1, count, bytes);
}

static void turn_task(void *context, int64_t task, int worker) {
    (void)worker;
    const turn *t = context;
    const int64_t first = task % t->pieces * t->piece, n = eng_min(t->piece, t->cells - first), image = task / t->pieces * t->cells * t->channels;
    const int64_t cell = (image + first * t->channels) * t->bytes, plane = (image + first) * t->bytes;
    if (t->to_planes)
        turn_part(t, t->to + plane, t->cells, t->from + cell, t->channels, n, t->channels);
    else
        turn_part(t, t->to + cell, t->channels, t->from + plane, t->cells, t->channels, n);
}

static void run(turn *t) {
    t->piece = eng_round_up(eng_max(16, PIECE / t->channels), 16);
    t->pieces = eng_blocks(t->cells, t->piece);
    eng_parallel(t->images * t->pieces, turn_task, t);
}

/* Sets strides of planes, if x (y) lies as [image][position][channel] without gaps. */
static bool planes(conv *c, bool of_y, int64_t *out_cells) {
    const int64_t channels = c->groups * (of_y ? c->outs : c->channels);
    int64_t cells = 1, spread = channels;
    for (int i = CONV_DIMS - 1; i >= 0; i--) {
        conv_dim *d = &c->dim[i];
        const int64_t extent = of_y ? d->out : d->in;
        int64_t *stride = of_y ? &d->y : &d->x;
        if (extent > 1 && *stride != spread)
            return false;
        *stride = cells;
        cells *= extent;
        spread *= extent;
    }
    int64_t *batch = of_y ? &c->y_batch : &c->x_batch, *channel = of_y ? &c->y_out : &c->x_channel, *group = of_y ? &c->y_group : &c->x_group;
    if (channels < LEAST_CHANNELS || cells < LEAST_CHANNELS || *channel != 1 || (c->groups > 1 && *group != channels / c->groups) ||
        (c->batch > 1 && *batch != spread))
        return false;
    *batch = spread;
    *channel = cells;
    *group = channels / c->groups * cells;
    *out_cells = cells;
    return true;
}

tt_status conv_turn(const conv *c, conv *out_planes, bool *out_done) {
    conv *p = out_planes;
    int64_t x_cells, y_cells;
    *p = *c;
    *out_done = c->bytes <= 8 && planes(p, false, &x_cells) && planes(p, true, &y_cells);
    if (!*out_done)
        return TT_OK;
    const int64_t x_bytes = eng_round_up(c->batch * c->groups * c->channels * x_cells * c->bytes, 64) + 256;
    const int64_t y_bytes = c->batch * c->groups * c->outs * y_cells * c->y_bytes + 256;
    char *room;
    TT_TRY(conv_scratch(ENG_SLOT_TURNED, x_bytes + y_bytes, &room));
    turn t = {.c = c, .from = c->x, .to = room, .to_planes = true, .bytes = c->bytes, .images = c->batch, .cells = x_cells,
              .channels = c->groups * c->channels};
    run(&t);
    p->x = room;
    p->y = room + x_bytes;
    p->follow = NULL;
    return TT_OK;
}

void conv_turn_back(const conv *c, const conv *p) {
    turn t = {.c = c, .from = p->y, .to = c->y, .bytes = c->y_bytes, .images = c->batch, .cells = p->y_out, .channels = c->groups * c->outs};
    run(&t);
}
