/**
 * Converts CPU requests and limits to and from the values of the kernel's scheduler (upstream: cm/helpers_linux.go).
 */
const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const SHARES_PER_CPU = 1024;
const MIN_QUOTA_US = 1000;

/** CFS shares of thousandths of a CPU. */
export function sharesOfMilliCpu(milliCpu: number): number {
  return Math.min(MAX_SHARES, Math.max(MIN_SHARES, Math.floor((milliCpu * SHARES_PER_CPU) / 1000)));
}

/** CFS quota in microseconds per period; 0 for no limit. */
export function quotaOfMilliCpu(milliCpu: number, periodUs: number): number {
  return milliCpu === 0 ? 0 : Math.max(MIN_QUOTA_US, Math.floor((milliCpu * periodUs) / 1000));
}

/** 0 for shares that mean no request. Rounds up, so that the original request is recovered. */
export function milliCpuOfShares(shares: number): number {
  return shares < MIN_SHARES ? 0 : Math.ceil((shares * 1000) / SHARES_PER_CPU);
}

/** 0 for no limit. */
export function milliCpuOfQuota(quotaUs: number, periodUs: number): number {
  return quotaUs <= 0 || periodUs <= 0 ? 0 : Math.floor((quotaUs * 1000) / periodUs);
}
