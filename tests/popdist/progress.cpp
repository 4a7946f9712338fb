// A program that reports its progress, by the functions for C++ and for C.
#include <popdist/popdist.hpp>

int main()
{
    popdist_error error;

    if (!popdist::progress(100, -1, {"loss=0.5"}) || popdist_progress(100, 0, nullptr, &error) != POPDIST_OK)
        return 1;
    try {
        popdist::progress(101);
    } catch (const popdist::popdist_error &problem) {
        return problem.status() == POPDIST_INVALID ? 0 : 2;
    }
    return 3;
}
