/**
 * A whole number, or a percentage of `total` (`25%`), rounded up or down; 0 for an invalid value (upstream:
 * intstr.GetScaledValueFromIntOrPercent).
 */
export function scaledValue(value: number | string | undefined, total: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const percent = /^([0-9]+)%$/.exec(value ?? '');
  if (percent === null) return 0;
  const scaled = (Number(percent[1]) * total) / 100;
  return round === 'up' ? Math.ceil(scaled) : Math.floor(scaled);
}
