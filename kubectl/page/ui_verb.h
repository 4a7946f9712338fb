/* kubectl ipu ui: what the person may see, kept up to date by watches, for the pages that are open. */
#pragma once

struct session;

int ui_verb(struct session *session);
