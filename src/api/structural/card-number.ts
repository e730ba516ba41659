/** First digits of the cards of an issuer, and how many digits its numbers have. */
interface Issuer {
  readonly from: number;
  readonly to: number;
  readonly lengths: readonly number[];
}

const issuers: readonly Issuer[] = [
  { from: 4, to: 4, lengths: [13, 16] },
  { from: 51, to: 55, lengths: [16] },
  { from: 2221, to: 2720, lengths: [16] },
  { from: 6011, to: 6011, lengths: [16] },
  { from: 65, to: 65, lengths: [16] },
  { from: 34, to: 34, lengths: [15] },
  { from: 37, to: 37, lengths: [15] },
  { from: 300, to: 305, lengths: [14] },
  { from: 36, to: 36, lengths: [14] },
  { from: 38, to: 38, lengths: [14] },
  { from: 2131, to: 2131, lengths: [15] },
  { from: 1800, to: 1800, lengths: [15] },
  { from: 35, to: 35, lengths: [15, 16] },
  { from: 62, to: 62, lengths: [16] },
  { from: 67, to: 67, lengths: [16] },
];

/** The number of a credit card of a known issuer, with a valid check digit; spaces and hyphens are ignored. */
export function isCardNumber(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{13,16}$/.test(digits)) return false;
  const isIssued = issuers.some(({ from, to, lengths }) => {
    const first = Number(digits.slice(0, String(from).length));
    return lengths.includes(digits.length) && from <= first && first <= to;
  });
  return isIssued && hasCheckDigit(digits);
}

/** Luhn's algorithm. */
function hasCheckDigit(digits: string): boolean {
  const sum = [...digits].reverse().reduce((all, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return all + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
