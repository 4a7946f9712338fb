/* Any configuration file: either it is rejected, or what is written of it is read again as the same. */
#include <assert.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "launcher/poprun/options/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(settings) struct settings first = {0}, second = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str once = {0}, twice = {0};

    settings_read_file(&first, (struct slice){(const char *)bytes, len}, "x.conf", &problems);
    if (problems.count)
        return 0;
    settings_write(&first, &once);
    if (once.len > SETTINGS_FILE_MAX)
        return 0;
    settings_read_file(&second, str_slice(&once), "y.conf", &problems);
    settings_write(&second, &twice);
    assert(problems.count == 0);
    assert(str_eq(str_text(&once), str_text(&twice)));
    return 0;
}
