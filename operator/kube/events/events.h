/* Events (events.k8s.io/v1) in the namespace of the object they regard. Never blocks and never fails: what
 * cannot be sent is dropped and counted. A repeated event becomes a series on the same Event object, written
 * at a limited rate; each object has a bucket of 25 events that refills by one in five minutes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "operator/kube/events/event.h"

struct events;
struct kube;

struct events *events_new(struct kube *kube, const struct events_options *options);
void events_free(struct events *events); /* drops what is in flight */
void events_send(struct events *events, const struct event *event);
size_t events_in_flight(const struct events *events); /* those that wait to be sent again, too */
uint64_t events_dropped(const struct events *events);
