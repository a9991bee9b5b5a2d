/*
 * Preloaded into a process, it makes its wall clock wrong by WRONG_CLOCK_SECONDS.
 *
 * Only the time of day: what measures durations (CLOCK_MONOTONIC) is left alone, as it is on
 * a machine whose clock was set wrong. libfaketime was tried first: it breaks Python's sleep.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t offset(void) {
    static time_t seconds;
    static int known;
    if (!known) {
        const char *text = getenv("WRONG_CLOCK_SECONDS");
        seconds = text ? (time_t)atoll(text) : 0;
        known = 1;
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += offset();
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    static int (*real)(struct timeval *, void *);
    if (!real)
        real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
    int status = real(now, zone);
    if (status == 0)
        now->tv_sec += offset();
    return status;
}

time_t time(time_t *now) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
