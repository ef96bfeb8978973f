#pragma once
// Names from the macros PARKF_BUILD and PARKF_FORMS, for code that is compiled once for each of their values.

#define PARKF_JOIN(a, b) a##b
#define PARKF_NAME(part, build) PARKF_JOIN(part, build)
#define PARKF_TEXT(a) #a
#define PARKF_QUOTE(a) PARKF_TEXT(a)
