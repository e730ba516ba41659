import type { DeviceTaint, DeviceToleration } from './device-config.ts';

/** Upstream: dynamic-resource-allocation/resourceclaim ToleratesTaint. */
export function toleratesDeviceTaint(
  { key = '', operator, value = '', effect }: DeviceToleration,
  taint: DeviceTaint,
): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (key !== '' && value === (taint.value ?? ''));
}
