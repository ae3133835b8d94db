/* What generated C uses of <math.h>, to compile it for targets whose C library is not installed. */
#ifndef TEST_MATH_H
#define TEST_MATH_H

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

float fmaf(float, float, float);
double fma(double, double, double);
float sqrtf(float);
double sqrt(double);
float floorf(float);
double floor(double);
float ceilf(float);
double ceil(double);
float truncf(float);
double trunc(double);
float rintf(float);
double rint(double);
float nearbyintf(float);
double nearbyint(double);
float fmodf(float, float);
double fmod(double, double);
float fabsf(float);
double fabs(double);
float ldexpf(float, int);
double ldexp(double, int);

#endif
