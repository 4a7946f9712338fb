/* The VIPUControllers of the cluster: watches them, creates and removes them with the configuration, writes
 * their status, and hands the cordons of admins to the reconciler. Only the leader has this. What was made by
 * others, people or operators, is never removed. */
#pragma once

#include "operator/vipucontroller/controller_status.h"

struct controller_objects;
struct kube;
struct loop;
struct pool_config;
struct reconciler;

/* Borrowed, as is the reconciler. */
struct controller_objects_options {
    const struct pool_config *controllers;
    const char *operator_ns;
    struct controller_publication publication;
};

struct controller_objects *controller_objects_new(struct loop *loop, struct kube *kube,
                                                  struct reconciler *reconciler,
                                                  const struct controller_objects_options *options);
void controller_objects_free(struct controller_objects *objects); /* before the reconciler; accepts NULL */
