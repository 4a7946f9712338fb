#include "base/io/loop.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "lib/check.h"

struct stage {
    struct loop *loop;
    struct loop_timer a, b, c;
    char order[8]; /* which timer fired, in order */
    int64_t now_ms;
};

static void stage_init(struct stage *stage)
{
    *stage = (struct stage){.loop = loop_new()};
}

static void stage_release(struct stage *stage)
{
    loop_free(stage->loop);
}

static void note(struct stage *stage, char name)
{
    size_t len = strlen(stage->order);

    stage->order[len] = name;
}

static void fire_a(struct loop_timer *timer)
{
    note(CONTAINER_OF(timer, struct stage, a), 'a');
}

static void fire_b(struct loop_timer *timer)
{
    note(CONTAINER_OF(timer, struct stage, b), 'b');
}

static void fire_c(struct loop_timer *timer)
{
    struct stage *stage = CONTAINER_OF(timer, struct stage, c);

    note(stage, 'c');
    loop_stop(stage->loop);
}

TEST_F(stage, stage, timers_fire_in_the_order_of_their_times)
{
    loop_timer_start(stage->loop, &stage->c, 6, fire_c);
    loop_timer_start(stage->loop, &stage->b, 4, fire_b);
    loop_timer_start(stage->loop, &stage->a, 2, fire_a);
    CHECK(loop_timer_is_running(&stage->a));
    loop_run(stage->loop);
    CHECK_STR_EQ(stage->order, "abc");
    CHECK(!loop_timer_is_running(&stage->a));
}

static void stop_others(struct loop_timer *timer)
{
    struct stage *stage = CONTAINER_OF(timer, struct stage, a);

    note(stage, 'a');
    loop_timer_stop(&stage->b);
    loop_timer_stop(&stage->b);
}

TEST_F(stage, stage, a_stopped_timer_does_not_fire_even_when_due_in_the_same_turn)
{
    loop_timer_start(stage->loop, &stage->a, 0, stop_others);
    loop_timer_start(stage->loop, &stage->b, 0, fire_b);
    loop_timer_start(stage->loop, &stage->c, 0, fire_c);
    loop_run(stage->loop);
    CHECK_STR_EQ(stage->order, "ac");
}

TEST_F(stage, stage, starting_a_running_timer_moves_it)
{
    loop_timer_start(stage->loop, &stage->a, 0, fire_a);
    loop_timer_start(stage->loop, &stage->b, 2, fire_b);
    loop_timer_start(stage->loop, &stage->a, 4, fire_a);
    loop_timer_start(stage->loop, &stage->c, 6, fire_c);
    loop_run(stage->loop);
    CHECK_STR_EQ(stage->order, "bac");
}

static void fire_again(struct loop_timer *timer)
{
    struct stage *stage = CONTAINER_OF(timer, struct stage, a);

    note(stage, 'a');
    if (strlen(stage->order) < 5)
        loop_timer_start(stage->loop, timer, 0, fire_again);
}

TEST_F(stage, stage, a_timer_may_start_itself_and_the_loop_ends_when_nothing_is_left)
{
    loop_timer_start(stage->loop, &stage->a, 0, fire_again);
    loop_run(stage->loop);
    CHECK_STR_EQ(stage->order, "aaaaa");
}

static void on_signal(void *ctx, int signum)
{
    struct stage *stage = ctx;

    stage->now_ms = signum;
    loop_stop(stage->loop);
}

static void fire_for_ever(struct loop_timer *timer)
{
    struct stage *stage = CONTAINER_OF(timer, struct stage, a);

    loop_timer_start(stage->loop, timer, 0, fire_for_ever);
}

TEST_F(stage, stage, timers_without_delay_do_not_starve_the_rest)
{
    loop_timer_start(stage->loop, &stage->a, 0, fire_for_ever);
    loop_timer_start(stage->loop, &stage->c, 1, fire_c);
    loop_on_signal(stage->loop, SIGUSR1, on_signal, stage);
    CHECK(raise(SIGUSR1) == 0);
    while (!stage->order[0] || !stage->now_ms) /* both end a run, in any order or together */
        loop_run(stage->loop);
    CHECK_STR_EQ(stage->order, "c");
    CHECK_INT_EQ(stage->now_ms, SIGUSR1);
    loop_timer_stop(&stage->a);
}

struct owner {
    struct loop_timer timer;
    bool *freed;
};

static void free_owner(struct loop_timer *timer)
{
    struct owner *owner = CONTAINER_OF(timer, struct owner, timer);

    *owner->freed = true;
    mem_free(owner);
}

TEST(an_owner_may_free_itself_in_its_timer)
{
    struct loop *loop = loop_new();
    struct owner *owner = NEW(struct owner);
    bool freed = false;

    owner->freed = &freed;
    loop_timer_start(loop, &owner->timer, 0, free_owner);
    loop_run(loop);
    CHECK(freed);
    loop_free(loop);
}

static void look_at_clock(struct loop_timer *timer)
{
    struct stage *stage = CONTAINER_OF(timer, struct stage, a);
    int64_t now_ms = loop_now_ms(stage->loop);

    /* Busy for two milliseconds: the turn's time stands still meanwhile. */
    for (int64_t start = loop_clock_ms(); loop_clock_ms() < start + 2;) {
    }
    CHECK_INT_EQ(loop_now_ms(stage->loop), now_ms);
    stage->now_ms = now_ms;
}

TEST_F(stage, stage, time_stands_still_within_a_turn_and_timers_are_not_early)
{
    int64_t start_ms = loop_now_ms(stage->loop);

    loop_timer_start(stage->loop, &stage->a, 20, look_at_clock);
    loop_run(stage->loop);
    CHECK(stage->now_ms >= start_ms + 20);
    CHECK(loop_clock_ms() >= stage->now_ms);
    CHECK(loop_clock_ms() - loop_now_ms(stage->loop) < 5000);
}

TEST_F(stage, stage, signals_arrive_in_the_loop)
{
    loop_on_signal(stage->loop, SIGUSR1, on_signal, stage);
    CHECK(raise(SIGUSR1) == 0);
    CHECK_INT_EQ(stage->now_ms, 0);
    loop_run(stage->loop);
    CHECK_INT_EQ(stage->now_ms, SIGUSR1);
}

TEST_F(stage, stage, a_stop_before_the_run_ends_it_at_once_and_only_once)
{
    loop_timer_start(stage->loop, &stage->c, 0, fire_c);
    loop_stop(stage->loop);
    loop_run(stage->loop);
    CHECK_STR_EQ(stage->order, "");
    loop_run(stage->loop);
    CHECK_STR_EQ(stage->order, "c");
    loop_stop(stage->loop);
}

TEST(a_running_timer_at_the_end_is_a_bug)
{
    struct stage stage = {.loop = loop_new()};

    loop_timer_start(stage.loop, &stage.a, 1000, fire_a);
    CHECK_ABORTS(loop_free(stage.loop));
    loop_timer_stop(&stage.a);
    loop_free(stage.loop);
    loop_free(NULL);
}

TEST(many_timers_use_few_handles)
{
    struct loop *loop = loop_new();
    struct loop_timer timer = {0};

    for (int i = 0; i < 100; i++) {
        loop_timer_start(loop, &timer, 1000, fire_a);
        struct loop_timer_handle *first = timer.handle;
        loop_timer_stop(&timer);
        loop_timer_start(loop, &timer, 1000, fire_a);
        CHECK(timer.handle == first);
        loop_timer_stop(&timer);
    }
    loop_free(loop);
}

TEST(dice_fall_differently)
{
    uint32_t first = loop_random_u32();
    bool differ = false;

    for (int i = 0; i < 8; i++)
        differ |= loop_random_u32() != first;
    CHECK(differ);
    CHECK(loop_unix_micros() > 1700000000000000);
}

/* In the child: no loop is to be had, and what the program says goes to the pipe. */
static void end_without_descriptors(int out)
{
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};

    (void)dup2(out, STDERR_FILENO);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_NOFILE, &none);
    (void)signal(SIGABRT, SIG_DFL);
    loop_free(loop_new());
    _exit(0);
}

TEST(a_program_without_an_event_loop_says_why_it_ends)
{
    char said[256] = "";
    int ends[2], status;

    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0)
        end_without_descriptors(ends[1]);
    (void)close(ends[1]);
    CHECK(read(ends[0], said, sizeof(said) - 1) > 0);
    CHECK_INT_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_HAS(said, "cannot create the event loop");
    (void)close(ends[0]);
}
