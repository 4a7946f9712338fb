/* The kinds of jobs that the simulator runs. A new kind is a row of the table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What its pods do; the first ones end by themselves. */
enum pods_do {
    PODS_SUCCEED,
    PODS_FAIL,       /* with exit code 3, every time */
    PODS_FAIL_TWICE, /* then they succeed */
    PODS_RUN_FOR_EVER,
    PODS_CANNOT_PULL, /* their image */
    PODS_PULL_LATE,   /* likewise, until somebody mends that; then they succeed */
    PODS_FIT_NOWHERE,
};

/* What its user does. */
enum user_does {
    USER_WAITS,
    USER_DELETES,           /* at some time */
    USER_DELETES_TWICE,     /* and creates a job of the same name again, at once, which is then left alone */
    USER_REPLACES_BY_FORCE, /* likewise, and with --force: the pod's object goes, its program need not */
    USER_SUSPENDS,          /* and resumes */
    USER_IS_RESTLESS,       /* suspends and resumes as soon as status says so, many times */
    USER_SCALES,            /* up and down, and at last to one instance */
    USER_DRAINS_PODS,       /* as kubectl drain does */
    USER_CHANGES,           /* the template, twice */
    USER_CLAIMS_PODS,       /* takes away what says of its pods which partition they use */
    USER_KILLS_PODS,        /* by force: the object goes, the program does not know */
};

struct kind {
    const char *name;
    const char *spec; /* JSON; %s is the members of `workers` besides the template */
    enum pods_do pods;
    enum user_does user;
    const char *ends;     /* launcherStatus in the end, when nothing goes wrong; "": the job has gone */
    const char *mistakes; /* fields, divided by |, that its rejection must name; NULL: there is nothing wrong
                             with it */
};

extern const struct kind KINDS[];
extern const size_t KIND_COUNT;
