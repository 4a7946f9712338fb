#include "operator/kube/auth/config_loader.h"
#include "operator/kube/auth/credential_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/file.h"
#include "lib/check.h"

static const char *env_host, *env_port, *env_kubeconfig, *env_home;

static const char *env(const char *name)
{
    if (str_eq(name, "KUBERNETES_SERVICE_HOST"))
        return env_host;
    if (str_eq(name, "KUBERNETES_SERVICE_PORT"))
        return env_port;
    if (str_eq(name, "KUBECONFIG"))
        return env_kubeconfig;
    return str_eq(name, "HOME") ? env_home : NULL;
}

static void client_config_init(struct client_config *config)
{
    *config = (struct client_config){0};
}

static char *path_of(const char *name)
{
    return mem_printf("%s/%s", check_tmpdir(), name);
}

static void write_file(const char *name, const char *text)
{
    AUTO(mem) char *path = path_of(name);
    struct err err = {0};

    CHECK_OK(file_write(path, 0600, slice_of(text), &err), err);
}

static bool load(const char *paths, const char *context, struct client_config *ret, struct err *err)
{
    return client_config_load(
        &(struct client_config_options){.kubeconfig = paths, .context = context, .env = env}, ret, err);
}

static const char CONFIG[] = "apiVersion: v1\n"
                             "kind: Config\n"
                             "current-context: dev\n"
                             "clusters:\n"
                             "- name: c\n"
                             "  cluster:\n"
                             "    server: https://10.0.0.1:6443/\n"
                             "    certificate-authority-data: Q0E=\n"
                             "    tls-server-name: api.test\n"
                             "- name: loose\n"
                             "  cluster:\n"
                             "    server: https://[::1]:6443\n"
                             "    insecure-skip-tls-verify: true\n"
                             "    proxy-url: http://proxy:3128\n"
                             "users:\n"
                             "- name: u\n"
                             "  user:\n"
                             "    token: secret\n"
                             "- name: files\n"
                             "  user:\n"
                             "    tokenFile: my.token\n"
                             "    client-certificate: my.crt\n"
                             "    client-key-data: S0VZ\n"
                             "- name: plugin\n"
                             "  user:\n"
                             "    exec:\n"
                             "      command: aws\n"
                             "contexts:\n"
                             "- name: dev\n"
                             "  context: {cluster: c, user: u, namespace: team}\n"
                             "- name: files\n"
                             "  context: {cluster: loose, user: files}\n"
                             "- name: plugin\n"
                             "  context: {cluster: c, user: plugin}\n"
                             "- name: broken\n"
                             "  context: {cluster: nowhere, user: u}\n";

TEST_F(client_config, config, a_kubeconfig_gives_all_its_fields)
{
    AUTO(mem) char *path = path_of("config");
    struct err err = {0};

    write_file("config", CONFIG);
    CHECK_OK(load(path, NULL, config, &err), err);
    CHECK_STR_EQ(config->server, "https://10.0.0.1:6443");
    CHECK_STR_EQ(config->ca_pem, "CA");
    CHECK_STR_EQ(config->server_name, "api.test");
    CHECK_STR_EQ(config->token, "secret");
    CHECK_STR_EQ(config->ns, "team");
    CHECK(!config->insecure);
    CHECK_HAS(config->origin, "context dev of ");
}

TEST_F(client_config, config, files_are_found_beside_the_kubeconfig_and_followed)
{
    AUTO(mem) char *path = path_of("config");
    struct err err = {0};
    unsigned generation;

    write_file("config", CONFIG);
    write_file("my.token", "one\n");
    write_file("my.crt", "CERT");
    CHECK_OK(load(path, "files", config, &err), err);
    CHECK_STR_EQ(config->token, "one");
    CHECK_STR_EQ(config->cert_pem, "CERT");
    CHECK_STR_EQ(config->key_pem, "KEY");
    CHECK_STR_EQ(config->proxy_url, "http://proxy:3128");
    CHECK_STR_EQ(config->ns, "default");
    CHECK(config->insecure);
    generation = config->generation;
    write_file("my.token", "two\n");
    CHECK_OK(credential_files_refresh(config, false, &err), err);
    CHECK_STR_EQ(config->token, "two");
    CHECK_INT_EQ(config->generation, generation);
    write_file("my.crt", "CERT 2");
    CHECK_OK(credential_files_refresh(config, false, &err), err);
    CHECK_STR_EQ(config->cert_pem, "CERT 2");
    CHECK_INT_EQ(config->generation, generation + 1);
    write_file("my.token", "");
    CHECK_ERR(credential_files_refresh(config, false, &err), err, ERR_INVALID);
    CHECK_STR_EQ(config->token, "two"); /* half-written files change nothing */
}

TEST(what_cannot_be_used_is_named_with_file_and_line)
{
    static const struct {
        const char *text, *context, *want;
    } rows[] = {
        {CONFIG, "plugin",
         "line 27: \"exec\" credentials are supported only by the subcommands of ipu-operator"},
        {CONFIG, "broken", "line 36: the context refers to cluster \"nowhere\", which is not defined"},
        {CONFIG, "missing", "line 1: context \"missing\" is not defined"},
        {"clusters: []\n", NULL, "line 1: current-context is not set"},
        {"- a\n", NULL, "line 1: not a kubeconfig"},
        {"a: [\n", NULL, "line 2"},
        {"current-context: x\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\n"
         "users: [{name: u, user: {}}]\nclusters:\n- name: c\n  cluster:\n    server: ftp://x\n",
         NULL, "line 9: the cluster's server must be an http or https URL"},
        {"current-context: x\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\n"
         "users: [{name: u, user: {}}]\nclusters:\n- name: c\n  cluster:\n    server: https://u:pw@x\n",
         NULL, "line 9: the cluster's server may contain only host, port and path"},
        {"current-context: x\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\n"
         "users: [{name: u, user: {}}]\nclusters:\n- name: c\n  cluster:\n    server: https://x\n"
         "    certificate-authority-data: '%%%'\n",
         NULL, "line 10: certificate-authority-data is not base64"},
        {"current-context: x\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\n"
         "users: [{name: u, user: {client-key-data: S0VZ}}]\nclusters:\n- name: c\n  cluster:\n"
         "    server: https://x\n",
         NULL, "line 5: client-certificate and client-key must be set together"},
    };
    AUTO(mem) char *path = path_of("bad");

    CHECK_ROWS (row, rows) {
        struct client_config client_config;
        struct err err = {0};

        write_file("bad", row->text);
        CHECK_ERR(load(path, row->context, &client_config, &err), err, ERR_INVALID);
        CHECK_HAS(err.msg, path);
        CHECK_HAS(err.msg, row->want);
    }
}

TEST_F(client_config, config, the_first_of_several_files_wins)
{
    AUTO(mem) char *first = path_of("first");
    AUTO(mem) char *second = path_of("config");
    AUTO(mem) char *both = mem_printf("%s/absent:%s:%s", check_tmpdir(), first, second);
    struct err err = {0};

    write_file("config", CONFIG);
    write_file("first", "clusters:\n- name: c\n  cluster: {server: 'http://127.0.0.1:1'}\n");
    env_kubeconfig = both;
    CHECK_OK(load(NULL, NULL, config, &err), err);
    env_kubeconfig = NULL;
    CHECK_STR_EQ(config->server, "http://127.0.0.1:1");
    CHECK_STR_EQ(config->token, "secret");
}

TEST(without_any_place_it_says_where_it_looked)
{
    struct client_config config;
    struct err err = {0};

    env_home = check_tmpdir();
    CHECK_ERR(load(NULL, NULL, &config, &err), err, ERR_NOT_FOUND);
    CHECK_HAS(err.msg, "KUBECONFIG is not set");
    CHECK_ERR(load("/nowhere/config", NULL, &config, &err), err, ERR_NOT_FOUND);
    CHECK_HAS(err.msg, "/nowhere/config");
}

static bool load_pod(const char *host, const char *port, struct client_config *ret, struct err *err)
{
    AUTO(mem) char *dir = path_of("pod");
    bool good;

    env_host = host;
    env_port = port;
    good = client_config_load(&(struct client_config_options){.env = env, .pod_dir = dir}, ret, err);
    env_host = env_port = NULL;
    return good;
}

TEST(a_pod_knows_its_cluster)
{
    AUTO(mem) char *dir = path_of("pod");
    struct client_config config;
    struct err err = {0};

    CHECK_INT_EQ(mkdir(dir, 0700), 0);
    CHECK_ERR(load_pod("10.96.0.1", "443", &config, &err), err, ERR_NOT_FOUND);
    CHECK_HAS(err.msg, "pod/token");
    write_file("pod/token", "t\n");
    write_file("pod/ca.crt", "CA");
    CHECK_ERR(load_pod("10.96.0.1", NULL, &config, &err), err, ERR_INVALID);
    CHECK_OK(load_pod("10.96.0.1", "443", &config, &err), err);
    CHECK_STR_EQ(config.server, "https://10.96.0.1:443");
    CHECK_STR_EQ(config.token, "t");
    CHECK_STR_EQ(config.ns, "default");
    client_config_release(&config);
    write_file("pod/namespace", "ops\n");
    CHECK_OK(load_pod("fd00::1", "443", &config, &err), err);
    CHECK_STR_EQ(config.server, "https://[fd00::1]:443");
    CHECK_STR_EQ(config.ns, "ops");
    client_config_release(&config);
}

TEST(a_tool_of_a_person_prefers_the_kubeconfig_to_the_pod)
{
    AUTO(mem) char *dir = path_of("person-pod"), *home = path_of("person"), *kube = path_of("person/.kube");
    struct client_config_options options = {.env = env, .pod_dir = dir, .is_personal = true};
    struct client_config config;
    struct err err = {0};

    CHECK_INT_EQ(mkdir(dir, 0700) + mkdir(home, 0700) + mkdir(kube, 0700), 0);
    write_file("person-pod/token", "t");
    write_file("person-pod/ca.crt", "CA");
    env_host = "10.96.0.1";
    env_port = "443";
    env_home = home;
    CHECK_OK(client_config_load(&options, &config, &err), err);
    CHECK_STR_EQ(config.token, "t");
    client_config_release(&config);
    write_file("person/.kube/config", CONFIG);
    CHECK_OK(client_config_load(&options, &config, &err), err);
    CHECK_HAS(config.origin, "person/.kube/config");
    CHECK(config.env_proxy);
    client_config_release(&config);
    env_host = env_port = env_home = NULL;
}

/* ---- credential plugins ---- */

#define V1 "client.authentication.k8s.io/v1"

static void write_plugin(const char *script)
{
    AUTO(mem) char *path = path_of("plugin");
    AUTO(mem) char *text = mem_printf("#!/bin/sh\n%s\n", script);
    struct err err = {0};

    CHECK_OK(file_write(path, 0700, slice_of(text), &err), err);
}

static bool is_personal;

/* What the script prints is its answer. */
static bool load_with_plugin(const char *exec, struct client_config *ret, struct err *err)
{
    AUTO(mem) char *path = path_of("config");
    AUTO(mem)
    char *text = mem_printf("current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                            "clusters:\n- name: c\n  cluster:\n    server: https://10.0.0.1:6443\n"
                            "    certificate-authority-data: Q0E=\n    extensions:\n"
                            "    - {name: client.authentication.k8s.io/exec, extension: {audience: us}}\n"
                            "users:\n- name: u\n  user:\n    exec: {%s}\n",
                            exec);

    write_file("config", text);
    return client_config_load(
        &(struct client_config_options){
            .kubeconfig = path, .env = env, .may_run_plugins = true, .is_personal = is_personal},
        ret, err);
}

#define EXEC "apiVersion: " V1 ", interactiveMode: Never, command: ./plugin"
#define ANSWER(status) "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{" status "}}"

TEST_F(client_config, config, a_plugin_gives_a_token_and_is_asked_again_before_that_expires)
{
    struct err err = {0};

    write_plugin("test -z \"$(cat)\" && echo '" ANSWER("\"token\":\"'\"$1-$WHO\"'\"") "'");
    CHECK_OK(load_with_plugin(EXEC ", args: [me], env: [{name: WHO, value: here}]", config, &err), err);
    CHECK_STR_EQ(config->token, "me-here");
    CHECK_STR_EQ(config->ca_pem, "CA");
    CHECK_OK(credential_files_refresh(config, false, &err), err); /* it never expires */
    write_plugin("echo '" ANSWER("\"token\":\"two\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"") "'");
    CHECK_OK(credential_files_refresh(config, false, &err), err);
    CHECK_STR_EQ(config->token, "me-here");
    CHECK_OK(credential_files_refresh(config, true, &err), err); /* it was rejected */
    CHECK_STR_EQ(config->token, "two");
    write_plugin("echo '" ANSWER("\"token\":\"three\",\"expirationTimestamp\":\"2999-01-01T00:00:00Z\"") "'");
    CHECK_OK(credential_files_refresh(config, false, &err), err); /* it had expired */
    CHECK_STR_EQ(config->token, "three");
    write_plugin("exit 3");
    CHECK_OK(credential_files_refresh(config, false, &err), err); /* it is good for long */
    CHECK_ERR(credential_files_refresh(config, true, &err), err, ERR_DENIED);
    CHECK_STR_EQ(config->token, "three");
}

TEST_F(client_config, config, a_plugin_may_give_a_client_certificate)
{
    struct err err = {0};
    unsigned generation;

    write_plugin("echo '" ANSWER("\"clientCertificateData\":\"CERT\",\"clientKeyData\":\"KEY\"") "'");
    CHECK_OK(load_with_plugin(EXEC, config, &err), err);
    CHECK_STR_EQ(config->cert_pem, "CERT");
    CHECK_STR_EQ(config->key_pem, "KEY");
    CHECK(!config->token);
    generation = config->generation;
    CHECK_OK(credential_files_refresh(config, true, &err), err);
    CHECK_INT_EQ(config->generation, generation);
    write_plugin("echo '" ANSWER("\"clientCertificateData\":\"CERT2\",\"clientKeyData\":\"KEY\"") "'");
    CHECK_OK(credential_files_refresh(config, true, &err), err);
    CHECK_INT_EQ(config->generation, generation + 1); /* new connections */
}

/* The token is what it was told. */
static void check_told(const char *exec, const char *want)
{
    struct client_config config;
    struct err err = {0};

    write_plugin("told=$(printf %s \"$KUBERNETES_EXEC_INFO\" | tr -d '\" ')\n"
                 "echo '" ANSWER("\"token\":\"'\"$told\"'\"") "'");
    CHECK_OK(load_with_plugin(exec, &config, &err), err);
    CHECK_STR_EQ(config.token, want);
    client_config_release(&config);
}

TEST(a_plugin_gets_the_cluster_if_it_wants_it)
{
    check_told(EXEC, "{kind:ExecCredential,apiVersion:" V1 ",spec:{interactive:false}}");
    check_told(EXEC ", provideClusterInfo: true",
               "{kind:ExecCredential,apiVersion:" V1 ",spec:{interactive:false,cluster:{server:https://"
               "10.0.0.1:6443,certificate-authority-data:Q0E=,config:{audience:us}}}}");
}

TEST(a_plugin_of_a_person_without_a_terminal_cannot_ask)
{
    struct client_config config;
    struct err err = {0};
    int input = dup(STDIN_FILENO), null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    CHECK(null >= 0 && dup2(null, STDIN_FILENO) == STDIN_FILENO);
    is_personal = true;
    check_told("apiVersion: " V1 ", interactiveMode: IfAvailable, command: ./plugin",
               "{kind:ExecCredential,apiVersion:" V1 ",spec:{interactive:false}}");
    CHECK_ERR(
        load_with_plugin("apiVersion: " V1 ", interactiveMode: Always, command: ./plugin", &config, &err),
        err, ERR_INVALID);
    CHECK_HAS(err.msg, "exec.interactiveMode is Always, but standard input is no terminal");
    is_personal = false;
    CHECK(dup2(input, STDIN_FILENO) == STDIN_FILENO);
    (void)close(input);
    (void)close(null);
}

TEST(a_plugin_of_a_person_may_ask_on_the_terminal)
{
    int input = dup(STDIN_FILENO), terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), peer = -1;

    CHECK(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    peer = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(peer >= 0 && dup2(peer, STDIN_FILENO) == STDIN_FILENO);
    is_personal = true;
    check_told("apiVersion: " V1 ", interactiveMode: Always, command: ./plugin",
               "{kind:ExecCredential,apiVersion:" V1 ",spec:{interactive:true}}");
    is_personal = false;
    CHECK(dup2(input, STDIN_FILENO) == STDIN_FILENO);
    (void)close(input);
    (void)close(terminal);
    (void)close(peer);
}

TEST(a_plugin_that_cannot_be_used_is_named)
{
    static const struct {
        const char *exec, *script, *want;
    } rows[] = {
        {"apiVersion: " V1, "", "line 13: exec.command is required"},
        {"command: ./plugin", "",
         "exec.apiVersion must be client.authentication.k8s.io/v1 or v1beta1, got \"\""},
        {"command: ./plugin, apiVersion: client.authentication.k8s.io/v1alpha1", "",
         "exec.apiVersion must be"},
        {"command: ./plugin, apiVersion: " V1 ", interactiveMode: Always", "",
         "interactiveMode Always is not supported"},
        {"command: ./plugin, apiVersion: " V1 ", interactiveMode: Often", "",
         "must be Never, IfAvailable or Always, got \"Often\""},
        {EXEC ", args: [{}]", "", "exec.args must be a list"},
        {EXEC ", env: [{name: a=b, value: c}]", "", "exec.env must be a list"},
        {EXEC "-of-nobody, installHint: get it", "", "/plugin-of-nobody: No such file or directory; get it"},
        {EXEC "-of-nobody, installHint: get it", "", "; get it"},
        {EXEC, "exit 3", "/plugin exited with status 3"},
        {EXEC, "kill -9 $$", "/plugin exited with status 137"},
        {EXEC, "echo secret", "/plugin: output is not valid JSON"},
        {EXEC, "echo '{}'", "expected an ExecCredential of " V1},
        {EXEC, "echo '" ANSWER("") "'", "returned neither a token nor a client certificate"},
        {EXEC, "echo '" ANSWER("\"token\":\"a b\"") "'", "a token that contains whitespace"},
        {EXEC, "echo '" ANSWER("\"clientKeyData\":\"K\"") "'",
         "returned a client certificate without its key"},
        {EXEC, "head -c 2000000 /dev/zero", " exceeds 1048576 bytes"},
    };

    CHECK_ROWS (row, rows) {
        struct client_config client_config;
        struct err err = {0};

        write_plugin(row->script);
        CHECK(!load_with_plugin(row->exec, &client_config, &err));
        CHECK_HAS(err.msg, row->want);
        CHECK(!strstr(err.msg, "secret"));
    }
}
