// On trial: exceptions tested in line.
#define BASALT_TRIAL_INLINE
#include "galp_gpu.cu"
