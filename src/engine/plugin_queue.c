/* plugin_queue.c - a device's in-order queue and its thread.
 *
 * A caller that finds the queue idle may run a small program itself (enter ... leave): no hand-over, no
 * wake-up. While it does, others can only queue; the thread starts on their tasks when the caller leaves. One
 * atomic word decides. */
#include "engine/plugin.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { INLINE = 1, ACTIVE = 2 };
enum { SPIN_NS = 20000 };
enum { MAX_TASKS = 2048 }; /* a host far ahead of the device waits here instead of filling memory */

void eng_queue_init(eng_queue *q) {
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    pthread_cond_init(&q->drained, NULL);
}

static void *queue_main(void *argument) {
    eng_queue *q = argument;
    bool worked = false;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        if (q->first && !(atomic_load(&q->state) & INLINE)) {
            eng_task *t = q->first;
            q->first = t->next;
            if (!q->first)
                q->last = NULL;
            pthread_mutex_unlock(&q->lock);
            t->run(t);
            pthread_mutex_lock(&q->lock);
            if (q->n_tasks-- == MAX_TASKS || !q->first)
                pthread_cond_broadcast(&q->drained);
            if (!q->first)
                atomic_fetch_and(&q->state, ~(unsigned)ACTIVE);
            worked = eng_pool_size() > 1; /* else its processor is the host's */
            continue;
        }
        if (worked && !q->stopping) {
            const uint32_t seen = atomic_load(&q->pushed);
            worked = false;
            pthread_mutex_unlock(&q->lock);
            eng_spin_while_equal(&q->pushed, seen, SPIN_NS);
            pthread_mutex_lock(&q->lock);
            continue;
        }
        if (q->stopping && !q->first)
            break;
        pthread_cond_wait(&q->changed, &q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

static bool start(eng_queue *q, int device) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    q->started = !pthread_create(&q->thread, NULL, queue_main, q);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (q->started) {
        char name[16];
        snprintf(name, sizeof name, "tt-chip-%d", device);
        pthread_setname_np(q->thread, name);
    }
    return q->started;
}

void eng_queue_push(eng_queue *q, eng_task *t, int device) {
    t->next = NULL;
    pthread_mutex_lock(&q->lock);
    if (!q->started &&
        !start(q, device)) { /* no thread to be had: run it here, in order, since nothing can be queued */
        pthread_mutex_unlock(&q->lock);
        while (!eng_queue_enter(q))
            sched_yield();
        t->run(t);
        eng_queue_leave(q);
        return;
    }
    while (q->n_tasks >= MAX_TASKS && !pthread_equal(pthread_self(), q->thread))
        pthread_cond_wait(&q->drained, &q->lock);
    if (q->last)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
    q->n_tasks++;
    atomic_fetch_add(&q->pushed, 1);
    if (!(atomic_fetch_or(&q->state, ACTIVE) & INLINE))
        pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

bool eng_queue_enter(eng_queue *q) {
    unsigned idle = 0;
    return atomic_compare_exchange_strong_explicit(&q->state, &idle, INLINE, memory_order_acquire,
                                                   memory_order_relaxed);
}

void eng_queue_leave(eng_queue *q) {
    if (!(atomic_fetch_and(&q->state, ~(unsigned)INLINE) & ACTIVE))
        return;
    pthread_mutex_lock(&q->lock);
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

void eng_queue_drain(eng_queue *q) {
    pthread_mutex_lock(&q->lock);
    while (q->n_tasks > 0)
        pthread_cond_wait(&q->drained, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

void eng_queue_deinit(eng_queue *q) {
    pthread_mutex_lock(&q->lock);
    q->stopping = true;
    pthread_cond_signal(&q->changed);
    bool started = q->started;
    pthread_mutex_unlock(&q->lock);
    if (started)
        pthread_join(q->thread, NULL);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->changed);
    pthread_cond_destroy(&q->drained);
}
