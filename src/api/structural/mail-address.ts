import { parseIp } from '../../base/ip-address.ts';

/** A longer text is rejected: the expressions need memory for each character. */
const TEXT_LIMIT = 64 * 1024;
const ATEXT = "A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-\\u0080-\\u{10ffff}";
const DOT_ATOM = `[${ATEXT}]+(?:\\.[${ATEXT}]+)*`;
const QUOTED = '"(?:[^"\\\\\\r\\n]|\\\\[^\\r\\n])*"';
/** `local@domain`. No part of it can match in several ways, so it takes linear time. */
const addressSpec = new RegExp(`^[ \\t]*(?:${DOT_ATOM}|(?!"")${QUOTED})@[ \\t]*(${DOT_ATOM}|\\[[^[\\]\\\\]*\\])$`, 'u');
const displayName = new RegExp(`^(?:${QUOTED}|[${ATEXT}. \\t])*$`, 'u');
const domainLiteral = /^\[(.*)\]$/s;

/**
 * Whether the text is one address of RFC 5322: `local@domain` or `name <local@domain>`. Comments and groups, which the
 * RFC allows too, are refused.
 */
export function isMailAddress(text: string): boolean {
  if (text.length > TEXT_LIMIT) return false;
  const trimmed = withoutBlanks(text);
  if (!trimmed.endsWith('>')) return isAddressSpec(trimmed);
  const open = trimmed.lastIndexOf('<');
  return open >= 0 && displayName.test(trimmed.slice(0, open)) && isAddressSpec(trimmed.slice(open + 1, -1));
}

function withoutBlanks(text: string): string {
  const isBlank = (at: number): boolean => text[at] === ' ' || text[at] === '\t';
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return text.slice(start, end);
}

function isAddressSpec(text: string): boolean {
  const domain = addressSpec.exec(text)?.[1];
  if (domain === undefined) return false;
  const literal = domainLiteral.exec(domain)?.[1];
  return literal === undefined || parseIp(literal) !== undefined;
}
