#include "lib/check.h"

#include <stddef.h>

#include "base/core/mem.h"
#include "base/options/opts_man.h"

struct sample {
    char *host;
    bool quiet;
};

static const struct opt rows[] = {
    OPT_VALUE("api-host", OPT_STR, offsetof(struct sample, host), "HOST", "where it listens", .letter = 'H',
              .env = "T_HOST", .fallback = "localhost"),
    OPT_SWITCH("quiet", offsetof(struct sample, quiet), "say less"),
    OPT_VALUE("host", OPT_STR, offsetof(struct sample, host), NULL, NULL), /* an old spelling */
    {0},
};

static const struct opts_spec spec = {
    .program = "a-tool", .usage = "a-tool [-H HOST]", .about = "Shows pages.", .rows = rows};

TEST(a_page)
{
    AUTO(str) struct str out = {0};

    opts_man(&spec, &(struct opts_man){"shows", "sample 1", ".SH COMMANDS\nnone\n", ".SH END\n"}, &out);
    CHECK_STR_EQ(str_text(&out), ".TH A-TOOL 1 \"\" \"sample 1\"\n"
                                 ".SH NAME\na\\-tool \\- shows\n"
                                 ".SH SYNOPSIS\n.nf\na\\-tool [\\-H HOST]\n.fi\n"
                                 ".SH DESCRIPTION\nShows pages.\n"
                                 ".SH COMMANDS\nnone\n"
                                 ".SH OPTIONS\n"
                                 ".TP\n\\fB\\-H, \\-\\-api\\-host HOST\\fR\n"
                                 "where it listens (default localhost) [T_HOST]\n"
                                 ".TP\n\\fB\\-\\-quiet\\fR\nsay less\n"
                                 ".TP\n\\fB\\-h, \\-\\-help\\fR\nprint this text and exit\n"
                                 ".TP\n\\fB\\-\\-version\\fR\nprint the version and exit\n"
                                 ".SH ENVIRONMENT\n"
                                 ".TP\n\\fBT_HOST\\fR\nthe same as \\-\\-api\\-host\n"
                                 ".SH END\n");
}

TEST(text_is_no_request)
{
    AUTO(str) struct str out = {0};

    roff_text(".nf\n'x' a.b \\n\n.", &out);
    CHECK_STR_EQ(str_text(&out), "\\&.nf\n\\&'x' a.b \\en\n\\&.");
}
