/* As much of Poplar's types as PopDist meets: constants of a class whose name comes as a StringRef. */
#ifndef STANDIN_POPLAR_TYPE_HPP
#define STANDIN_POPLAR_TYPE_HPP

#include <string>

namespace poplar
{

class StringRef
{
  public:
    StringRef(const std::string &text) : text_(text)
    {
    }
    StringRef(const char *text) : text_(text)
    {
    }
    operator std::string() const
    {
        return text_;
    }

  private:
    std::string text_;
};

class Type
{
  public:
    explicit Type(const char *name) : name_(name)
    {
    }
    StringRef toString() const
    {
        return name_;
    }

  private:
    const char *name_;
};

static const Type BOOL("bool"), CHAR("char"), SIGNED_CHAR("signed char"), UNSIGNED_CHAR("unsigned char"),
    SHORT("short"), UNSIGNED_SHORT("unsigned short"), INT("int"), UNSIGNED_INT("unsigned int"),
    LONGLONG("longlong"), UNSIGNED_LONGLONG("unsigned longlong"), QUARTER("quarter"), HALF("half"),
    FLOAT("float"), DOUBLE("double");

} // namespace poplar

#endif
