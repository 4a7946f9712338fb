/* As much of Poplar's option flags as PopDist meets. */
#ifndef STANDIN_POPLAR_OPTION_FLAGS_HPP
#define STANDIN_POPLAR_OPTION_FLAGS_HPP

#include <map>
#include <string>

#include <poplar/Type.hpp>

namespace poplar
{

class OptionFlags
{
  public:
    void set(StringRef option, StringRef value)
    {
        values_[option] = static_cast<std::string>(value);
    }

  private:
    std::map<std::string, std::string> values_;
};

} // namespace poplar

#endif
