#include "operator/api/admission/warnings.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define POD(image, more) "{\"spec\":{" more "\"containers\":[{\"name\":\"main\",\"image\":\"" image "\"}]}}"
#define JOB(more, template, status)                                                                          \
    "{\"metadata\":{\"name\":\"j\"},\"spec\":{" more "\"jobInstances\":1,\"ipusPerJobInstance\":\"4\","      \
    "\"workers\":{\"template\":" template "}},\"status\":" status "}"
#define PLAIN(more, status) JOB(more, POD("a", ""), status)
#define LED(image, status) JOB("\"launcher\":{\"command\":[\"mpirun\"]},", POD(image, ""), status)
#define MPIRUN(words, more) PLAIN("\"launcher\":{\"command\":[" words "]" more "},", "{}")
#define SIZED(ipus) "{\"spec\":{\"jobInstances\":1,\"ipusPerJobInstance\":" ipus "}}"
#define HOLDS(id, total)                                                                                     \
    PLAIN("", "{\"partitions\":[{\"id\":\"" id "\"}],\"partitionCounts\":{\"total\":" total "}}")
#define RELEASES(ids)                                                                                        \
    "{\"metadata\":{\"name\":\"j\",\"annotations\":{\"graphcore.ai/release\":\"" ids "\"}},"                 \
    "\"spec\":{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"}}"
#define PREEMPTED(key, value)                                                                                \
    "{\"metadata\":{\"name\":\"j\",\"annotations\":{\"graphcore.ai/" key "\":\"" value "\"}},"               \
    "\"spec\":{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"}}"
#define CLASS(name) "\"priorityClassName\":\"" name "\","
#define ALWAYS "\"restartPolicy\":\"Always\","

#define RUNS "{\"launcherStatus\":\"Running\"}"
#define ENDED(type, reason)                                                                                  \
    "{\"conditions\":[{\"type\":\"" type "\",\"status\":\"True\",\"reason\":\"" reason "\"}]}"
#define COMPLETED ENDED("Completed", "Completed")

static cJSON *parse(const char *text)
{
    struct err err = {0};
    cJSON *job = text ? json_parse(slice_of(text), &err) : NULL;

    CHECK_OK(job || !text, err);
    return job;
}

static void advise(const char *old_text, const char *text, struct strv *ret)
{
    AUTO(json) cJSON *old = parse(old_text);
    AUTO(json) cJSON *job = parse(text);

    struct strv classes = {.items = (char *[]){(char *)(uintptr_t) "research", NULL}, .count = 1};

    warnings_for_job(old, job, &(struct warning_facts){64, &classes}, ret);
}

TEST(what_has_no_effect_is_named)
{
    static const struct {
        const char *old, *job, *begins; /* NULL: nothing is said */
    } rows[] = {
        {NULL, PLAIN("", "{}"), NULL},
        {PLAIN("", RUNS), PLAIN("\"suspend\":true,", RUNS), NULL},

        /* after the end */
        {PLAIN("", COMPLETED), PLAIN("\"suspend\":true,", COMPLETED), "the job has finished"},
        {PLAIN("", COMPLETED), JOB("", POD("b", ""), COMPLETED), "the job has finished"},
        {PLAIN("", ENDED("Failed", "ContainerFailed")), JOB("", POD("b", ""), "{}"), "the job has finished"},
        {PLAIN("", COMPLETED), PLAIN("\"ttlSecondsAfterFinished\":5,", COMPLETED), NULL},
        {PLAIN("", COMPLETED), PLAIN("\"cleanPodPolicy\":\"All\",", COMPLETED), NULL},
        {PLAIN("", ENDED("Failed", "InvalidPodTemplate")), JOB("", POD("b", ""), "{}"), NULL},

        /* while a launcher runs */
        {LED("a", RUNS), LED("b", RUNS), "the change takes effect when"},
        {LED("a", RUNS), JOB("\"launcher\":{\"command\":[\"poprun\"]},", POD("a", ""), RUNS),
         "the change takes effect when"},
        {LED("a", RUNS), JOB("\"launcher\":{\"command\":[\"mpirun\"]},\"suspend\":true,", POD("b", ""), RUNS),
         NULL},
        {LED("a", "{\"launcherStatus\":\"Pending\"}"), LED("b", "{}"), NULL},
        {PLAIN("", RUNS), JOB("", POD("b", ""), RUNS), NULL},

        /* fields */
        {NULL, JOB("", POD("a", ALWAYS), "{}"), "spec.workers.template.spec.restartPolicy: ignored"},
        {NULL, JOB("", POD("a", "\"restartPolicy\":\"Never\","), "{}"), NULL},
        {JOB("", POD("a", ALWAYS), RUNS), JOB("\"suspend\":true,", POD("a", ALWAYS), RUNS), NULL},
        {NULL, PLAIN("\"launcher\":{\"command\":[\"a\"],\"template\":" POD("a", ALWAYS) "},", "{}"),
         "spec.launcher.template.spec.restartPolicy: ignored"},
        {NULL, PLAIN("\"restartPolicy\":{\"type\":\"OnFailure\",\"exitCodes\":\"1-5\"},", "{}"),
         "spec.restartPolicy.exitCodes: ignored unless type is ExitCode"},
        {NULL, PLAIN("\"restartPolicy\":{\"type\":\"ExitCode\",\"exitCodes\":\"1-5\"},", "{}"), NULL},
        {NULL,
         "{\"spec\":{\"launcher\":{\"command\":[\"a\"]},\"workers\":{\"strategy\":{\"type\":\"Recreate\"}}}}",
         "spec.workers.strategy: ignored for a job with a launcher"},
        {NULL, "{\"spec\":{\"workers\":{\"strategy\":{\"type\":\"Recreate\"}}}}", NULL},

        /* a size that no controller has */
        {NULL, SIZED("64"), NULL},
        {NULL, SIZED("128"),
         "spec.ipusPerJobInstance: the job will not start: 128 IPUs exceed the capacity of every "
         "V-IPU controller, the largest possible partition has 64"},
        {NULL, SIZED("192"),
         "spec.ipusPerJobInstance: the job will not start: a partition of 192 IPUs is not possible"},
        {SIZED("128"), SIZED("128"), NULL}, /* it is told once */

        /* more processes than slots */
        {NULL, MPIRUN("\"mpirun\",\"-np\",\"1\",\"train\"", ""), NULL},
        {NULL, MPIRUN("\"/usr/bin/mpirun\",\"--tag\",\"-np\",\"5\",\"train\"", ""),
         "spec.launcher.command: -np 5 needs more slots than there are (1 worker x 1); set "
         "spec.launcher.slotsPerWorker to 5"},
        {NULL, MPIRUN("\"mpirun\",\"-np\",\"4294967295\",\"train\"", ""),
         "spec.launcher.command: -np 4294967295 needs more slots than there are (1 worker x 1); set "
         "spec.launcher.slotsPerWorker to 4294967295"},
        {NULL, MPIRUN("\"mpiexec\",\"-np\",\"5\",\"train\"", ",\"slotsPerWorker\":5"), NULL},
        {NULL, MPIRUN("\"mpirun\",\"-np\",\"5\",\"train\"", ",\"env\":[{\"name\":\"IPU_JOB_SLOTS\"}]"), NULL},
        {NULL, MPIRUN("\"mpirun\",\"-np\",\"5\",\"--oversubscribe\",\"train\"", ""), NULL},
        {NULL, MPIRUN("\"mpirun\",\"-np\",\"5\",\"--host\",\"a:5\",\"train\"", ""), NULL},
        {NULL, MPIRUN("\"mpirun\",\"train\",\"-n\",\"5\"", ""), NULL}, /* the program's own */
        {NULL, MPIRUN("\"mpirun\",\"-np\",\"$(N)\",\"train\"", ""), NULL},
        {NULL, MPIRUN("\"mpirun\",\"-np\"", ""), NULL},
        {NULL, MPIRUN("\"sh\",\"-np\",\"5\"", ""), NULL},

        /* partitions that are not there */
        {HOLDS("p-j-a-0", "1"), RELEASES("p-j-a-0, p-j-a-0"), NULL},
        {HOLDS("p-j-a-0", "1"), RELEASES("p-j-a-00"),
         "metadata.annotations[graphcore.ai/release]: ignored: the job has no partition p-j-a-00; "},
        {PLAIN("", RUNS), RELEASES("yes"),
         "metadata.annotations[graphcore.ai/release]: ignored: the job has no partition yes; "},
        {RELEASES("yes"), RELEASES("yes"), NULL},
        {HOLDS("p-j-a-0", "17"), RELEASES("p-j-a-16"), NULL}, /* not all are listed */

        /* whether its IPUs may be taken */
        {NULL, PREEMPTED("preemptible", "true"), NULL},
        {NULL, PREEMPTED("preemptible", "yes"),
         "metadata.annotations[graphcore.ai/preemptible]: ignored: must be true or false, got \"yes\""},
        {PREEMPTED("preemptible", "yes"), PREEMPTED("preemptible", "yes"), NULL},
        {NULL, PREEMPTED("checkpointed-at", "2026-11-27T12:00:00Z"), NULL},
        {PREEMPTED("preemptible", "true"),
         PREEMPTED("checkpointed-at", "12345678901234567890123456789012345678901"),
         "metadata.annotations[graphcore.ai/checkpointed-at]: ignored: must be a time such as "
         "2026-11-27T12:00:00Z, got \"1234567890123456789012345678901234567890\""},

        /* a PriorityClass that does not order the queue */
        {NULL, JOB("", POD("a", CLASS("research")), "{}"), NULL},
        {NULL, JOB("", POD("a", CLASS("other")), "{}"),
         "spec.workers.template.spec.priorityClassName: the queue for IPUs ignores this PriorityClass; only "
         "those "
         "of the chart's value queue.priorityClasses count"},
        {NULL, JOB("", POD("a", CLASS("system-node-critical")), "{}"),
         "spec.workers.template.spec.priorityClassName: the queue for IPUs ignores this PriorityClass; "
         "classes of "
         "the system never count"},
        {JOB("", POD("a", CLASS("other")), "{}"), JOB("\"suspend\":true,", POD("a", CLASS("other")), "{}"),
         NULL},
        {NULL, PLAIN("\"launcher\":{\"command\":[\"a\"],\"template\":" POD("a", CLASS("other")) "},", "{}"),
         "spec.launcher.template.spec.priorityClassName: the queue"},

        /* somebody else's */
        {NULL, JOB("\"managedBy\":\"example.org/other\",", POD("a", ALWAYS), "{}"), NULL},
        {NULL, JOB("\"managedBy\":\"graphcore.ai/ipu-operator\",", POD("a", ALWAYS), "{}"),
         "spec.workers.template.spec.restartPolicy"},

        /* what makes no sense at all is not ours to judge */
        {"{}", "{}", NULL},
        {COMPLETED, "{\"spec\":[]}", NULL},
        {NULL, "{\"spec\":{\"workers\":7,\"launcher\":\"x\",\"restartPolicy\":[]}}", NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(strv) struct strv warnings = {0};

        advise(row->old, row->job, &warnings);
        CHECK_INT_EQ(warnings.count, row->begins != NULL);
        if (row->begins)
            CHECK(str_has_prefix(warnings.items[0], row->begins));
        for (size_t i = 0; i < warnings.count; i++)
            CHECK(strlen(warnings.items[i]) < WARNING_TEXT_MAX);
    }
}

TEST(a_size_is_not_judged_while_the_controllers_are_not_known)
{
    AUTO(strv) struct strv warnings = {0};
    AUTO(json) cJSON *job = parse(SIZED("128"));

    warnings_for_job(NULL, job, &(struct warning_facts){0}, &warnings);
    CHECK_INT_EQ(warnings.count, 0);
}

TEST(all_reasons_are_reported_at_once)
{
    AUTO(strv) struct strv warnings = {0};

    advise(NULL, JOB("\"restartPolicy\":{\"type\":\"Never\",\"exitCodes\":\"1\"},", POD("a", ALWAYS), "{}"),
           &warnings);
    CHECK_INT_EQ(warnings.count, 2);
}
