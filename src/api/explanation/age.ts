/**
 * From this count on, a unit is printed alone. Below it, the next smaller unit is printed too (upstream: apimachinery
 * duration.HumanDuration).
 */
const ages: readonly { seconds: number; unit: string; from: number; aloneFrom: number }[] = [
  { seconds: 365 * 86_400, unit: 'y', from: 2, aloneFrom: 8 },
  { seconds: 86_400, unit: 'd', from: 2, aloneFrom: 8 },
  { seconds: 3600, unit: 'h', from: 3, aloneFrom: 8 },
  { seconds: 60, unit: 'm', from: 2, aloneFrom: 10 },
  { seconds: 1, unit: 's', from: 0, aloneFrom: 0 },
];

/** Formats an age as kubectl does: `119s`, `3m12s`, `4h7m`, `2d3h`. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const index = ages.findIndex((each) => seconds >= each.from * each.seconds);
  const { seconds: size, unit, aloneFrom } = ages[index] as (typeof ages)[number];
  const whole = Math.floor(seconds / size);
  const next = ages[index + 1];
  const rest = next === undefined || whole >= aloneFrom ? 0 : Math.floor((seconds % size) / next.seconds);
  return `${whole}${unit}${rest === 0 ? '' : `${rest}${next?.unit}`}`;
}
