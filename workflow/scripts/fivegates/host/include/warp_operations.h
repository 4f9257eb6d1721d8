// What lanes of a warp do together: the kernel's side asks, the scheduler answers.
#pragma once

enum FivegatesWarp {
    kWarpSync,
    kShuffleIndex,
    kShuffleUp,
    kShuffleDown,
    kShuffleXor,
    kVoteAny,
    kVoteAll,
    kVoteBallot,
    kMatchAny,
    kActiveMask,
    kYield,
};
