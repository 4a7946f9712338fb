/* Runs a fuzz target without a fuzzer: every seed as it is, every prefix of it, and a fixed number of mutants
 * drawn from a generator with a fixed start, so that a failure repeats. The last input is left in the file
 * named by REPLAY_LAST when the target crashes and that variable is set. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_MAX = 1 << 20, PREFIXES = 2000, MUTANTS = 400, EDITS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static uint64_t dice = 0x9e3779b97f4a7c15U;

static uint64_t roll(uint64_t sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return dice % sides;
}

static void keep(const uint8_t *bytes, size_t len)
{
    const char *path = getenv("REPLAY_LAST");
    FILE *file = path ? fopen(path, "we") : NULL;

    if (!file)
        return;
    (void)fwrite(bytes, 1, len, file);
    (void)fclose(file);
}

/* The target sees a heap block of exactly len bytes, so that a sanitizer catches a read past its end. */
static void run(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);

    if (!copy)
        abort();
    if (len > 0)
        memcpy(copy, bytes, len);
    keep(copy, len);
    (void)LLVMFuzzerTestOneInput(copy, len);
    free(copy);
}

static void mutate(const uint8_t *seed, size_t len)
{
    static const char spice[] = "\"\\{}[]:,-=\n\r\t 0x~&*!|>'%";
    uint8_t *mutant = malloc(len + EDITS);
    size_t size = len;

    if (!mutant)
        abort();
    if (len > 0)
        memcpy(mutant, seed, len);
    for (int i = 0; i < EDITS && size > 0; i++) {
        size_t at = roll(size);
        switch (roll(4)) {
        case 0:
            mutant[at] = (uint8_t)roll(256);
            break;
        case 1:
            mutant[at] = (uint8_t)spice[roll(sizeof spice - 1)];
            break;
        case 2: /* leave one out */
            memmove(mutant + at, mutant + at + 1, size - at - 1);
            size--;
            break;
        default: /* say one twice */
            memmove(mutant + at + 1, mutant + at, size - at);
            size++;
            break;
        }
    }
    run(mutant, size);
    free(mutant);
}

static void replay(const uint8_t *seed, size_t len)
{
    size_t step = len / PREFIXES + 1;

    for (size_t cut = 0; cut < len; cut += step)
        run(seed, cut);
    run(seed, len);
    for (int i = 0; i < MUTANTS; i++)
        mutate(seed, len);
}

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "re");
    uint8_t *seed = malloc(SEED_MAX);

    if (!file || !seed) {
        (void)fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    size_t len = fread(seed, 1, SEED_MAX, file);
    (void)fclose(file);
    replay(seed, len);
    free(seed);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    int count = argc == 2 ? scandir(argv[1], &entries, not_hidden, alphasort) : -1;

    if (count <= 0) {
        (void)fprintf(stderr, "usage: %s DIRECTORY with at least one seed\n", argv[0]);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
        replay_file(path);
        free(entries[i]);
    }
    free(entries);
    (void)printf("%d seeds\n", count);
    return 0;
}
