/** Quantities and percentages of the configuration as plain numbers. */
import { tryParseQuantity } from '../../../api/quantity.ts';

/** The number a quantity stands for (bytes, cores, pieces), or undefined if the text is none. */
export function quantityNumber(text: string): number | undefined {
  const parsed = tryParseQuantity(text);
  return typeof parsed === 'string' ? undefined : Number(parsed.nanos) / 1e9;
}

/** The share (0 to 1) of a text such as `10%`, or undefined. */
export function percentShare(text: string): number | undefined {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))%$/.exec(text);
  return match === null ? undefined : Number(match[1]) / 100;
}
