/** Whether the text is an IPv4 or IPv6 address, without I/O: the pure layers may not import node:net. */
export function isIpAddress(text: string): boolean {
  return isIpv4(text) || isIpv6(text);
}

function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (!text.includes(':') || halves.length > 2) return false;
  const groupsOf = (half: string | undefined): string[] => (half === undefined || half === '' ? [] : half.split(':'));
  const groups = halves.flatMap(groupsOf);
  const last = groups.at(-1) ?? '';
  const embedsIpv4 = last.includes('.');
  // An IPv4 tail is a tail: nothing may follow it, not even `::`.
  if (embedsIpv4 && !(isIpv4(last) && text.endsWith(last))) return false;
  const plain = embedsIpv4 ? groups.slice(0, -1) : groups;
  const count = plain.length + (embedsIpv4 ? 2 : 0);
  return plain.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group)) && (halves.length === 2 ? count < 8 : count === 8);
}
