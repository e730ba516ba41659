/** Replaces the text between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. Pure; throws if the marks are missing. */
export function replaceSection(document: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->\n`, `<!-- ${name}:end -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the document has no section ${name}`);
  return `${document.slice(0, from + begin.length)}${text}\n${document.slice(to)}`;
}
