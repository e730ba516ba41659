/** Converts quantities and percentages of the configuration to plain numbers. */
import { tryParseQuantity } from '../../../api/quantity.ts';

/** Returns the numeric value of a quantity (bytes, cores, pieces); undefined if the text is not a quantity. */
export function quantityNumber(text: string): number | undefined {
  const parsed = tryParseQuantity(text);
  return typeof parsed === 'string' ? undefined : Number(parsed.nanos) / 1e9;
}

/** Returns the share (0 to 1) of a text such as `10%`; undefined for other texts. */
export function percentShare(text: string): number | undefined {
  const match = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))%$/.exec(text);
  return match === null ? undefined : Number(match[1]) / 100;
}
