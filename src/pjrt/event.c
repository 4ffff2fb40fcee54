/* event.c - events of the plugin: is it done, wait. Knows nothing of what they stand for. */
#include "base/arena.h"
#include "pjrt/objects.h"
#include <stdlib.h>

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
    *e = (tt_event){b->client->plugin, args.a.value};
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

void tt_event_destroy(tt_event *e) {
    if (!e)
        return;
    tt_pjrt_destroy(e->plugin, TT_PJRT_Event_Destroy, e->event);
    free(e);
}
