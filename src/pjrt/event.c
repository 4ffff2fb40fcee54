/* event.c - events of the plugin: is it done, wait, when was it done. Knows nothing of what they stand for. */
#include "base/arena.h"
#include "pjrt/objects.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Outlives the event when the event is destroyed before it is ready: the callback and the event own a half each. */
struct tt_event_stamp {
    _Atomic uint64_t nanoseconds; /* 0: not yet */
    _Atomic int owners;
    const tt_plugin *plugin;
};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void stamp_release(struct tt_event_stamp *stamp) {
    if (stamp && atomic_fetch_sub(&stamp->owners, 1) == 1)
        free(stamp);
}

tt_status tt_pjrt_await(const tt_plugin *plugin, tt_pjrt_event *event) {
    if (!event)
        return TT_OK;
    TT_PJRT_ARGS(object, args);
    args.a.object = event;
    tt_status error = TT_PJRT_CALL(plugin, Event_Await, args);
    tt_pjrt_destroy(plugin, TT_PJRT_Event_Destroy, event);
    return error;
}

tt_status tt_buffer_ready_event(tt_buffer *b, tt_event **out) {
    *out = NULL;
    TT_PJRT_ARGS(get_pointer, args);
    args.a.object = b->buffer;
    TT_TRY(TT_PJRT_CALL(b->client->plugin, Buffer_ReadyEvent, args));
    tt_event *e = tt_malloc(sizeof *e);
    *e = (tt_event){b->client->plugin, args.a.value, NULL};
    *out = e;
    return TT_OK;
}

int tt_event_ready(tt_event *e) {
    if (!e->event)
        return 1;
    TT_PJRT_ARGS(get_bool, args);
    args.a.object = e->event;
    tt_status error = TT_PJRT_CALL(e->plugin, Event_IsReady, args);
    if (error) {
        tt_status_free(error);
        return 1; /* waiting will tell */
    }
    return args.a.value;
}

tt_status tt_event_wait(tt_event *e) {
    if (!e->event)
        return TT_OK;
    TT_PJRT_ARGS(object, args);
    args.a.object = e->event;
    return TT_PJRT_CALL(e->plugin, Event_Await, args);
}

static void stamp_ready(tt_pjrt_error *error, void *context) {
    struct tt_event_stamp *stamp = context;
    if (error) /* waiting will tell */
        tt_pjrt_destroy(stamp->plugin, TT_PJRT_Error_Destroy, error);
    atomic_store(&stamp->nanoseconds, now_ns());
    stamp_release(stamp);
}

tt_status tt_event_stamp(tt_event *e) {
    e->stamp = tt_calloc(1, sizeof *e->stamp);
    e->stamp->plugin = e->plugin;
    atomic_store(&e->stamp->owners, 1);
    if (!e->event) {
        atomic_store(&e->stamp->nanoseconds, now_ns());
        return TT_OK;
    }
    atomic_store(&e->stamp->owners, 2);
    TT_PJRT_ARGS(event_on_ready, args);
    args.a.event = e->event;
    args.a.callback = stamp_ready;
    args.a.context = e->stamp;
    tt_status error = TT_PJRT_CALL(e->plugin, Event_OnReady, args);
    if (error)
        stamp_release(e->stamp);
    return error;
}

uint64_t tt_event_stamped(const tt_event *e) {
    return e->stamp ? atomic_load(&e->stamp->nanoseconds) : 0;
}

void tt_event_destroy(tt_event *e) {
    if (!e)
        return;
    stamp_release(e->stamp);
    tt_pjrt_destroy(e->plugin, TT_PJRT_Event_Destroy, e->event);
    free(e);
}
