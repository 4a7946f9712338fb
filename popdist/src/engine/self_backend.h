/* The backend of a program that runs alone: one instance, which never gets a message. */
#ifndef POPDIST_ALONE_H
#define POPDIST_ALONE_H

#include "popdist/backend.h"

const struct popdist_backend *self_backend(void);

#endif
