/** Quantities and percentages of the configuration as plain numbers. */
import { tryParseQuantity } from '../../../api/quantity.ts';

/** The numeric value of a quantity (bytes, cores, pieces); undefined if the text is not a quantity. */
export function quantityNumber(text: string): number | undefined {
  const parsed = tryParseQuantity(text);
  return typeof parsed === 'string' ? undefined : Number(parsed.nanos) / 1e9;
}

/** The share (0 to 1) of a text such as `10%`; undefined for any other text. */
export function percentShare(text: string): number | undefined {
  const match = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))%$/.exec(text);
  return match === null ? undefined : Number(match[1]) / 100;
}
