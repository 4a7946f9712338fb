#include "vipu/cli/output/progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ERASE_LINE "\r\033[K"
/* On a narrow terminal the line is truncated; wrapped, it could not be erased. */
#define NO_WRAP "\033[?7l"
#define WRAP "\033[?7h"

struct progress progress_new(void)
{
    return (struct progress){.is_terminal = isatty(STDERR_FILENO) == 1, .shown_s = -1};
}

void progress_show(void *ctx, const char *id, const char *what, int64_t waited_ms)
{
    struct progress *progress = ctx;
    int64_t second = waited_ms / 1000;

    if (!progress->is_terminal || second == progress->shown_s)
        return;
    progress->shown_s = second;
    (void)fprintf(stderr, ERASE_LINE NO_WRAP "partition %s: %s, %lld s" WRAP, id, what, (long long)second);
    (void)fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->shown_s < 0)
        return;
    progress->shown_s = -1;
    (void)fputs(ERASE_LINE, stderr);
    (void)fflush(stderr);
}

/* Formatted in advance: a signal handler may neither format nor allocate. */
static char last_words[512];
static size_t last_words_len;

static void on_interrupt(int signum)
{
    ssize_t written = write(STDERR_FILENO, last_words, last_words_len);

    (void)written;
    /* The handler is reset by its first call (SA_RESETHAND), so this ends the program. */
    (void)raise(signum);
}

void progress_on_interrupt(const char *sentence)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

    (void)snprintf(last_words, sizeof(last_words), "\n%s\n", sentence);
    last_words_len = strlen(last_words);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}
