/* What PopDist's C++ headers need of Poplar: Poplar's own headers where they are installed. Where they are
 * not, the same names with just enough behind them for programs that use host collectives only. Define
 * POPDIST_WITHOUT_POPLAR to have the latter in any case. */
#ifndef POPDIST_POPLAR_HPP
#define POPDIST_POPLAR_HPP

#if defined(__has_include) && !defined(POPDIST_WITHOUT_POPLAR)
#if __has_include(<poplar/Type.hpp>) && __has_include(<poplar/OptionFlags.hpp>)
#include <poplar/OptionFlags.hpp>
#include <poplar/Type.hpp>
#define POPDIST_HAS_POPLAR 1
#endif
#endif

#ifndef POPDIST_HAS_POPLAR
#include <map>
#include <string>

namespace poplar
{

class Type
{
  public:
    constexpr explicit Type(const char *name) : name_(name)
    {
    }
    std::string toString() const
    {
        return name_;
    }

  private:
    const char *name_;
};

constexpr Type BOOL{"bool"};
constexpr Type CHAR{"char"};
constexpr Type SIGNED_CHAR{"signed char"};
constexpr Type UNSIGNED_CHAR{"unsigned char"};
constexpr Type SHORT{"short"};
constexpr Type UNSIGNED_SHORT{"unsigned short"};
constexpr Type INT{"int"};
constexpr Type UNSIGNED_INT{"unsigned int"};
constexpr Type LONGLONG{"long long"};
constexpr Type UNSIGNED_LONGLONG{"unsigned long long"};
constexpr Type HALF{"half"};
constexpr Type FLOAT{"float"};
constexpr Type DOUBLE{"double"};

class OptionFlags
{
  public:
    void set(const std::string &option, const std::string &value)
    {
        values_[option] = value;
    }
    std::string at(const std::string &option) const
    {
        return values_.at(option);
    }
    bool empty() const
    {
        return values_.empty();
    }

  private:
    std::map<std::string, std::string> values_;
};

} // namespace poplar
#endif

#endif
