#include "vipu/server/api/faults_admin.h"

#include <string.h>

#include "base/io/log.h"
#include "base/io/loop.h"
#include "vipu/server/config/faults_doc.h"

static bool is_nothing(const struct faults *f)
{
    static const struct fault_quirks none;

    return !f->stall && !f->stall_ms && !f->linger_ms && !f->forget && !f->drop_connections &&
           memcmp(&f->quirks, &none, sizeof(none)) == 0 &&
           f->call_count + f->partition_count + f->hardware_count == 0;
}

void faults_admin_set_take(struct faults_admin *admin, struct faults *faults)
{
    bool drops = faults->drop_connections;

    if (!is_nothing(faults))
        log_warn("fault injection is active", KVF("call_rules", "%zu", faults->call_count),
                 KVF("partition_rules", "%zu", faults->partition_count),
                 KVF("hardware_rules", "%zu", faults->hardware_count));
    methods_set_faults_take(admin->methods, faults);
    if (drops)
        grpc_server_drop_all(admin->grpc);
}

static void show(const struct faults_admin *admin, struct http_server_request *request)
{
    AUTO(str) struct str text = {0};

    faults_print(methods_faults(admin->methods), loop_now_ms(admin->loop), &text);
    http_server_reply(request, 200, "application/json", str_slice(&text));
}

/* The request that waits, which waits no longer. */
static struct http_server_request *request_take(struct faults_admin *admin)
{
    loop_timer_stop(&admin->limit);
    return TAKE(admin->request);
}

static void on_limit(struct loop_timer *timer)
{
    struct faults_admin *admin = CONTAINER_OF(timer, struct faults_admin, limit);

    faults_release(&admin->next);
    http_server_replyf(request_take(admin), 503,
                       "the storage has not responded for %d seconds; nothing has changed, try again\n",
                       FAULTS_ADMIN_WAIT_MS / 1000);
}

void faults_admin_on_idle(struct faults_admin *admin)
{
    struct http_server_request *request = request_take(admin);

    if (!request)
        return;
    faults_admin_set_take(admin, &admin->next);
    show(admin, request);
}

void faults_admin_gone(void *ctx, struct http_server_request *request)
{
    struct faults_admin *admin = ctx;

    if (admin->request != request)
        return;
    faults_release(&admin->next);
    (void)request_take(admin);
}

static void replace(struct faults_admin *admin, struct http_server_request *request, struct slice body)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str text = {0};
    struct faults faults;

    if (admin->request) {
        http_server_replyf(request, 503, "another change of the faults waits for the storage; try again\n");
        return;
    }
    if (faults_read(body, "faults", admin->controller->clusters, &faults, &problems)) {
        admin->request = request;
        admin->next = faults;
        loop_timer_start(admin->loop, &admin->limit, FAULTS_ADMIN_WAIT_MS, on_limit);
        methods_settle(admin->methods);
        return;
    }
    for (size_t i = 0; i < problems.count; i++)
        str_addf(&text, "%s\n", problems.items[i]);
    http_server_reply(request, 400, "text/plain", str_slice(&text));
}

void faults_admin_answer(void *ctx, struct http_server_request *request,
                         const struct http_server_request_info *view)
{
    if (str_eq(view->method, "PUT") && view->is_from_page)
        http_server_replyf(request, 403,
                           "a web page may not change the faults; use curl, with localhost or an address\n");
    else if (str_eq(view->method, "PUT"))
        replace(ctx, request, view->body);
    else
        show(ctx, request);
}
