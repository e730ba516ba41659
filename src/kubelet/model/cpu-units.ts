/**
 * Converts CPU requests and limits to and from the values of the kernel's scheduler (upstream: cm/helpers_linux.go).
 */
const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const SHARES_PER_CPU = 1024;
const MIN_QUOTA_US = 1000;

/** Returns the CFS shares of millicores. */
export function sharesOfMilliCpu(milliCpu: number): number {
  return Math.min(MAX_SHARES, Math.max(MIN_SHARES, Math.floor((milliCpu * SHARES_PER_CPU) / 1000)));
}

/** Returns the CFS quota in microseconds per period; 0 for no limit. */
export function quotaOfMilliCpu(milliCpu: number, periodUs: number): number {
  return milliCpu === 0 ? 0 : Math.max(MIN_QUOTA_US, Math.floor((milliCpu * periodUs) / 1000));
}

/** Returns millicores, rounded up so that the original request is recovered; 0 for shares that mean no request. */
export function milliCpuOfShares(shares: number): number {
  return shares < MIN_SHARES ? 0 : Math.ceil((shares * 1000) / SHARES_PER_CPU);
}

/** Returns millicores; 0 for no limit. */
export function milliCpuOfQuota(quotaUs: number, periodUs: number): number {
  return quotaUs <= 0 || periodUs <= 0 ? 0 : Math.floor((quotaUs * 1000) / periodUs);
}
