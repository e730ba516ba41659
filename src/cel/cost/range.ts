/** A lowest and a highest cost, or size. Infinity stands for values above 2^64. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

const ABOVE = 2 ** 64;
const bounded = (value: number): number => (value >= ABOVE || Number.isNaN(value) ? Number.POSITIVE_INFINITY : value);

export const fixed = (value: number): Range => ({ min: value, max: value });
export const unbounded: Range = { min: 0, max: Number.POSITIVE_INFINITY };
export const zero = fixed(0);
export const one = fixed(1);

export const add = (...ranges: readonly Range[]): Range => ({
  min: bounded(ranges.reduce((sum, { min }) => sum + min, 0)),
  max: bounded(ranges.reduce((sum, { max }) => sum + max, 0)),
});

/** 0 times Infinity is 0 here. */
const product = (left: number, right: number): number => (left === 0 || right === 0 ? 0 : bounded(left * right));

export const multiply = (left: Range, right: Range): Range => ({
  min: product(left.min, right.min),
  max: product(left.max, right.max),
});

/** Multiplied by a cost per element, rounded up. */
export const scale = ({ min, max }: Range, factor: number): Range => ({
  min: Math.ceil(product(min, factor)),
  max: Math.ceil(product(max, factor)),
});

export const union = (left: Range, right: Range): Range => ({
  min: Math.min(left.min, right.min),
  max: Math.max(left.max, right.max),
});
