// cpu.weight of cgroup v2 and cpu.shares of v1.

/**
 * Converts shares [2, 262144] to a weight [1, 10000], linearly and rounded down (upstream: cm/cgroup_manager_linux.go,
 * getCPUWeight).
 */
export function cpuWeightOfShares(shares: number): number {
  if (shares >= 262_144) return 10_000;
  return 1 + Math.floor(((Math.max(shares, 2) - 2) * 9_999) / 262_142);
}

/** Converts a weight to shares (upstream: cpuWeightToCPUShares), with the rounding error of the weight. */
export function cpuSharesOfWeight(weight: number): number {
  return Math.floor(((weight - 1) * 262_142) / 9_999) + 2;
}
