// reduce() lies beside the groups here.
#pragma once
#include <cooperative_groups.h>
