#include "operator/serve/metrics/process_stats.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double cpu_used(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) ? 0 : seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

/* The second number of statm, in pages. */
static uint64_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long total, pages = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%llu %llu", &total, &pages) != 2)
        pages = 0;
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Less the one that this look takes, and the two entries that are no descriptors. */
static uint32_t descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint32_t count = 0;

    if (!folder)
        return 0;
    while (readdir(folder))
        count++;
    (void)closedir(folder);
    return count > 3 ? count - 3 : 0;
}

struct process_stats process_stats_read(void)
{
    return (struct process_stats){
        .cpu_s = cpu_used(), .resident_bytes = resident(), .open_fds = descriptors()};
}
