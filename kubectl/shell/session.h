/* What every verb needs: the connection with the user's own credentials, requests that are answered together,
 * the terminal, and one way to say what went wrong. */
#pragma once

#include "base/doc/json.h"
#include "base/io/loop.h"
#include "kubectl/core/options.h"
#include "kubectl/core/table.h"
#include "operator/kube/auth/client_config.h"
#include "operator/kube/client/client.h"

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_BAD_USAGE = 2 };

typedef const char *(*env_fn)(const char *name);

struct session {
    const struct options *options;
    const struct strv *words; /* after the verb */
    struct client_config config;
    struct loop *loop;
    struct kube *kube;
    const char *ns; /* of -n, else of the context */
    struct look look;
    bool is_terminal;
    int64_t clock_ahead_s; /* of this machine, before the API server's */
};

/* A verb on its session; returns the exit status. */
typedef int (*verb_fn)(struct session *session);

/* Connects without a request, runs the verb, disconnects. */
int session_run(const struct options *options, const struct strv *words, env_fn env, verb_fn verb);

/* "kubectl ipu: MESSAGE" on standard error. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same for a failed request, with what to do about it. Returns STATUS_FAILED. */
int session_complain(const struct session *session, const struct err *err);

/* The same for a request of this job: if there is none, also which one may be meant. */
int session_complain_of_job(struct session *session, const char *name, const struct err *err);

/* On standard error, if no operator seems to run: what is shown is from then. */
void complain_of_silence(const struct session *session, const cJSON *controllers);

struct fetch {
    struct kube_request request;
    struct session *session;
    unsigned *open;
    cJSON *body;  /* owned by the caller; texts are visible (visible.h) */
    size_t bytes; /* of its text, all pages together */
    struct err err;
};

/* Sends the requests together and waits for all of them. */
void session_fetch(struct session *session, struct fetch *fetches, size_t count);
/* One request; NULL: see err. */
MUST_USE cJSON *session_get(struct session *session, const struct kube_request *request, struct err *err);
/* The following pages of a list whose first page was fetched are added to its items, as far as the limits
 * below. */
MUST_USE bool session_fetch_rest(struct session *session, struct fetch *list, struct err *err);

#define PAGE_LIMIT "250" /* pods of a page stay far below JSON_MAX_BYTES */
/* Of one list, and of what a watch keeps. */
#define OBJECTS_MAX ((size_t)50000)
#define BYTES_MAX ((size_t)128 * 1024 * 1024)
#define PAGES_MAX 300u

/* With -o json: the report and a newline, in one line with --watch. False: there is another output. */
bool session_add_json(const struct session *session, const cJSON *report, struct str *out);
/* False when standard output is closed, for example by head: not worth a message. */
bool print_out(const char *bytes, size_t len);
int64_t now_seconds(void); /* by the clock of this machine */
/* By the API server's clock, once it has answered: the times in objects are from there. */
int64_t session_now(const struct session *session);

int why_verb(struct session *session);
int eta_verb(struct session *session);
int whatif_verb(struct session *session);
int queue_verb(struct session *session);
int top_verb(struct session *session);
int logs_verb(struct session *session);
int map_verb(struct session *session);
int suspend_verb(struct session *session);
int resume_verb(struct session *session);
int release_verb(struct session *session);
int collect_verb(struct session *session);
/* What kubectl asks for when a user presses Tab: words are those after "kubectl ipu". */
int complete_main(const struct strv *words, env_fn env);
