#include "base/text/timefmt.h"

#include <stdio.h>
#include <string.h>

#define MINUTE ((int64_t)60)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (365 * DAY)

struct civil {
    int64_t year;
    int month, day;
};

/* Days since 1970-01-01 to a date and back, by counting years from March in cycles of 400 years (146097
 * days): the leap day is then the last of its year, and every month's length follows from one formula. */
static int64_t days_of_civil(struct civil date)
{
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t month = (date.month + 9) % 12;
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;

    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static struct civil civil_of_days(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct civil date = {.year = year + era * 400,
                         .month = (int)(month < 10 ? month + 3 : month - 9),
                         .day = (int)(day_of_year - (153 * month + 2) / 5 + 1)};

    if (date.month <= 2)
        date.year++;
    return date;
}

/* RFC 3339 has no years outside 0000..9999; they are clamped. */
static int64_t clamp(int64_t seconds)
{
    const int64_t least = -62167219200;
    const int64_t most = 253402300799;

    return seconds < least ? least : seconds > most ? most : seconds;
}

static size_t put_digits(char *out, int64_t value, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return (size_t)width;
}

static size_t put_field(char *out, int64_t value, int width, char after)
{
    out[put_digits(out, value, width)] = after;
    return (size_t)width + 1;
}

static size_t put_seconds(char *out, int64_t seconds)
{
    int64_t days = seconds / DAY - (seconds % DAY < 0);
    int64_t rest = seconds - days * DAY;
    struct civil date = civil_of_days(days);
    size_t at = 0;

    at += put_field(out + at, date.year, 4, '-');
    at += put_field(out + at, date.month, 2, '-');
    at += put_field(out + at, date.day, 2, 'T');
    at += put_field(out + at, rest / HOUR, 2, ':');
    at += put_field(out + at, rest % HOUR / MINUTE, 2, ':');
    at += put_digits(out + at, rest % MINUTE, 2);
    return at;
}

const char *timefmt_rfc3339(int64_t unix_seconds, char out[TIMEFMT_RFC3339_SIZE])
{
    memcpy(out + put_seconds(out, clamp(unix_seconds)), "Z", sizeof "Z");
    return out;
}

const char *timefmt_rfc3339_micro(int64_t unix_micros, char out[TIMEFMT_RFC3339_SIZE])
{
    int64_t seconds = unix_micros / 1000000 - (unix_micros % 1000000 < 0);
    int64_t micros = unix_micros - seconds * 1000000;
    size_t at = put_seconds(out, clamp(seconds));

    out[at++] = '.';
    at += put_digits(out + at, micros, 6);
    memcpy(out + at, "Z", sizeof "Z");
    return out;
}

static bool take_digits(const char **at, int width, int max, int *ret)
{
    int value = 0;

    for (int i = 0; i < width; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret = value;
    return value <= max;
}

static bool take_char(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static bool take_date(const char **at, struct civil *ret)
{
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year;

    if (!take_digits(at, 4, 9999, &year) || !take_char(at, '-') || !take_digits(at, 2, 12, &ret->month) ||
        !take_char(at, '-') || !take_digits(at, 2, 31, &ret->day))
        return false;
    ret->year = year;
    if (ret->month < 1 || ret->day < 1 || ret->day > month_days[ret->month - 1])
        return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return leap || ret->month != 2 || ret->day <= 28;
}

static bool take_clock(const char **at, int64_t *ret)
{
    int hours;
    int minutes;
    int seconds;

    if (!take_digits(at, 2, 23, &hours) || !take_char(at, ':') || !take_digits(at, 2, 59, &minutes) ||
        !take_char(at, ':') || !take_digits(at, 2, 60, &seconds))
        return false;
    *ret = hours * HOUR + minutes * MINUTE + seconds;
    if (!take_char(at, '.'))
        return true;
    if (**at < '0' || **at > '9')
        return false;
    while (**at >= '0' && **at <= '9')
        (*at)++;
    return true;
}

static bool take_zone(const char **at, int64_t *ret)
{
    int hours;
    int minutes;
    int sign = **at == '-' ? -1 : 1;

    *ret = 0;
    if (take_char(at, 'Z') || take_char(at, 'z'))
        return true;
    if (!take_char(at, '+') && !take_char(at, '-'))
        return false;
    if (!take_digits(at, 2, 23, &hours) || !take_char(at, ':') || !take_digits(at, 2, 59, &minutes))
        return false;
    *ret = sign * (hours * HOUR + minutes * MINUTE);
    return true;
}

bool timefmt_parse_rfc3339(const char *text, int64_t *ret_unix_seconds)
{
    struct civil date;
    int64_t clock;
    int64_t zone;

    if (!text || !take_date(&text, &date) || !(take_char(&text, 'T') || take_char(&text, 't')) ||
        !take_clock(&text, &clock) || !take_zone(&text, &zone) || *text)
        return false;
    *ret_unix_seconds = days_of_civil(date) * DAY + clock - zone;
    return true;
}

static const char *two_units(char *out, int64_t big, char big_unit, int64_t small, char small_unit)
{
    if (small == 0)
        (void)snprintf(out, TIMEFMT_RFC3339_SIZE, "%lld%c", (long long)big, big_unit);
    else
        (void)snprintf(out, TIMEFMT_RFC3339_SIZE, "%lld%c%u%c", (long long)big, big_unit, (unsigned)small,
                       small_unit);
    return out;
}

const char *timefmt_age(int64_t seconds, char out[TIMEFMT_RFC3339_SIZE])
{
    if (seconds < 0)
        seconds = 0;
    if (seconds < 2 * MINUTE)
        return two_units(out, seconds, 's', 0, 0);
    if (seconds < 10 * MINUTE)
        return two_units(out, seconds / MINUTE, 'm', seconds % MINUTE, 's');
    if (seconds < 3 * HOUR)
        return two_units(out, seconds / MINUTE, 'm', 0, 0);
    if (seconds < 8 * HOUR)
        return two_units(out, seconds / HOUR, 'h', seconds % HOUR / MINUTE, 'm');
    if (seconds < 2 * DAY)
        return two_units(out, seconds / HOUR, 'h', 0, 0);
    if (seconds < 8 * DAY)
        return two_units(out, seconds / DAY, 'd', seconds % DAY / HOUR, 'h');
    if (seconds < 2 * YEAR)
        return two_units(out, seconds / DAY, 'd', 0, 0);
    if (seconds < 8 * YEAR)
        return two_units(out, seconds / YEAR, 'y', seconds % YEAR / DAY, 'd');
    return two_units(out, seconds / YEAR, 'y', 0, 0);
}
