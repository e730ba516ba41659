/**
 * CEL counts the characters of a string in code points. JavaScript counts code units: two for each code point above
 * 0xffff.
 */

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

export function countCodePoints(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index += 1)
    if (isLow(text.charCodeAt(index)) && isHigh(text.charCodeAt(index - 1))) count -= 1;
  return count;
}

export const codePoints = (text: string): string[] => [...text];

/** The position of the code point with this index; the length of the string for an index past the end. */
export function unitIndex(text: string, codePoint: number): number {
  let unit = 0;
  for (let count = 0; count < codePoint && unit < text.length; count += 1)
    unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
  return unit;
}

/** The index of the code point that starts at this position. */
export const codePointIndex = (text: string, unit: number): number => countCodePoints(text.slice(0, unit));

/** Compares strings as Go does: by code points. JavaScript compares by code units. */
export function compareTexts(left: string, right: string): -1 | 0 | 1 {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  let index = 0;
  while (index < length && left.charCodeAt(index) === right.charCodeAt(index)) index += 1;
  if (index === length) return left.length < right.length ? -1 : 1;
  const [leftUnit, rightUnit] = [left.charCodeAt(index), right.charCodeAt(index)];
  const isSurrogate = (unit: number): boolean => isHigh(unit) || isLow(unit);
  if (isSurrogate(leftUnit) !== isSurrogate(rightUnit)) return isSurrogate(leftUnit) ? 1 : -1;
  return leftUnit < rightUnit ? -1 : 1;
}
