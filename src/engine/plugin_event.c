/* plugin_event.c - events: one-shot, with an error, a spin-then-futex wait and callbacks.
 *
 * Work that was done in the call shares one immortal event, so the common case allocates nothing. */
#include "engine/plugin.h"
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READY = 1, SLEEPERS = 2 };
enum { SPIN_NS = 20000 };

typedef struct callback {
    struct callback *next;
    void (*fn)(tt_pjrt_error *, void *);
    void *context;
} callback;

struct eng_event {
    _Atomic int refs;
    _Atomic uint32_t state;
    tt_status error; /* written before READY */
    pthread_mutex_t lock;
    callback *callbacks;
};

static eng_event done = {.refs = 1, .state = READY, .lock = PTHREAD_MUTEX_INITIALIZER};

tt_status eng_status_copy(const tt_error *e) {
    return e ? tt_status_make(tt_status_code(e), __FILE__, __LINE__, "%s", tt_status_text(e)) : TT_OK;
}

eng_event *eng_event_done(void) {
    return &done;
}

eng_event *eng_event_create(void) {
    eng_event *e = tt_calloc(1, sizeof *e);
    e->refs = 1;
    pthread_mutex_init(&e->lock, NULL);
    return e;
}

eng_event *eng_event_retain(eng_event *e) {
    if (e != &done)
        atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void eng_event_release(eng_event *e) {
    if (!e || e == &done || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    while (e->callbacks) { /* never set: nobody will run them */
        callback *c = e->callbacks;
        e->callbacks = c->next;
        c->fn(eng_pjrt_error(TT_ERROR(CANCELLED, "the event was destroyed before it was ready")), c->context);
        free(c);
    }
    tt_status_free(e->error);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

void eng_event_set(eng_event *e, tt_status error) {
    eng_event_retain(e); /* a waiter may drop the last reference as soon as it sees READY */
    if (error)
        (void)tt_status_text(error); /* formed once, here: readers on other threads only look */
    pthread_mutex_lock(&e->lock);
    if (eng_event_is_ready(e)) {
        pthread_mutex_unlock(&e->lock);
        tt_status_free(error);
        eng_event_release(e);
        return;
    }
    e->error = error;
    callback *list = e->callbacks, *ordered = NULL;
    e->callbacks = NULL;
    uint32_t old = atomic_exchange_explicit(&e->state, READY, memory_order_acq_rel);
    pthread_mutex_unlock(&e->lock);
    if (old & SLEEPERS)
        syscall(SYS_futex, &e->state, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    while (list) { /* in the order of registration */
        callback *next = list->next;
        list->next = ordered;
        ordered = list;
        list = next;
    }
    while (ordered) {
        callback *next = ordered->next;
        ordered->fn(eng_pjrt_error(eng_status_copy(e->error)), ordered->context);
        free(ordered);
        ordered = next;
    }
    eng_event_release(e);
}

bool eng_event_is_ready(const eng_event *e) {
    return atomic_load_explicit(&((eng_event *)e)->state, memory_order_acquire) & READY;
}

const tt_error *eng_event_error(const eng_event *e) {
    return eng_event_is_ready(e) ? e->error : NULL;
}

static _Atomic uint32_t waits;

uint32_t eng_event_waits(void) {
    return atomic_load_explicit(&waits, memory_order_relaxed);
}

static void wait_ready(eng_event *e) {
    atomic_fetch_add_explicit(&waits, 1, memory_order_relaxed);
    eng_spin_while_equal(&e->state, 0, SPIN_NS);
    for (uint32_t s; !((s = atomic_load_explicit(&e->state, memory_order_acquire)) & READY);) {
        if (!(s & SLEEPERS) && !atomic_compare_exchange_weak(&e->state, &s, s | SLEEPERS))
            continue;
        syscall(SYS_futex, &e->state, FUTEX_WAIT_PRIVATE, SLEEPERS, NULL, NULL, 0);
    }
}

tt_status eng_event_wait(eng_event *e) {
    if (!eng_event_is_ready(e))
        wait_ready(e);
    return e->error ? eng_status_copy(e->error) : TT_OK;
}

void eng_event_on_ready(eng_event *e, void (*fn)(tt_pjrt_error *, void *), void *context) {
    pthread_mutex_lock(&e->lock);
    bool now = eng_event_is_ready(e);
    if (!now) {
        callback *c = tt_malloc(sizeof *c);
        *c = (callback){e->callbacks, fn, context};
        e->callbacks = c;
    }
    pthread_mutex_unlock(&e->lock);
    if (now)
        fn(eng_pjrt_error(eng_status_copy(e->error)), context);
}

/* ---- slots ---- */
tt_pjrt_error *eng_Event_Destroy(void *args) {
    ENG_ARGS(object, a, object);
    eng_event_release(a->object);
    return NULL;
}

tt_pjrt_error *eng_Event_IsReady(void *args) {
    ENG_ARGS(get_bool, a, value);
    a->value = eng_event_is_ready(a->object);
    return NULL;
}

tt_pjrt_error *eng_Event_Error(void *args) {
    ENG_ARGS(object, a, object);
    if (!eng_event_is_ready(a->object))
        return eng_pjrt_error(
            TT_ERROR(FAILED_PRECONDITION, "the event is not ready yet: its error is not known"));
    return eng_pjrt_error(eng_status_copy(eng_event_error(a->object)));
}

tt_pjrt_error *eng_Event_Await(void *args) {
    ENG_ARGS(object, a, object);
    return eng_pjrt_error(eng_event_wait(a->object));
}

tt_pjrt_error *eng_Event_OnReady(void *args) {
    ENG_ARGS(event_on_ready, a, context);
    eng_event_on_ready((eng_event *)a->event, a->callback, a->context);
    return NULL;
}

tt_pjrt_error *eng_Event_Create(void *args) {
    ENG_ARGS(event_create, a, event);
    a->event = (tt_pjrt_event *)eng_event_create();
    return NULL;
}

tt_pjrt_error *eng_Event_Set(void *args) {
    ENG_ARGS(event_set, a, message_size);
    eng_event *e = (eng_event *)a->event;
    if (eng_event_is_ready(e))
        return eng_pjrt_error(TT_ERROR(FAILED_PRECONDITION, "the event was set before"));
    eng_event_set(e, a->code ? tt_status_make((tt_code)a->code, __FILE__, __LINE__, "%.*s",
                                              (int)a->message_size, a->message)
                             : TT_OK);
    return NULL;
}
