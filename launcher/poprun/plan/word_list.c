#include "launcher/poprun/plan/word_list.h"

#include "base/core/mem.h"

void word_list_add(struct str *list, const char *word)
{
    for (; *word; word++) {
        if (*word == '\n')
            (void)str_adds(list, "\\n");
        else if (*word == '\\')
            (void)str_adds(list, "\\\\");
        else
            (void)str_addc(list, *word);
    }
    (void)str_addc(list, '\n');
}

void word_list_read(const char *list, struct strv *ret_words)
{
    AUTO(str) struct str word = {0};

    for (; *list; list++) {
        if (*list == '\n') {
            strv_push(ret_words, str_text(&word));
            str_clear(&word);
        } else if (*list == '\\' && list[1]) {
            list++;
            (void)str_addc(&word, *list == 'n' ? '\n' : *list);
        } else {
            (void)str_addc(&word, *list);
        }
    }
}
