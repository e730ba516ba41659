/** One YAML document of a file, with its position. */
export interface DocumentText {
  readonly text: string;
  /** Offset of the document in the file, in UTF-16 units. */
  readonly offset: number;
}

const marker = /^(?:---(?=[ \t\r\n]|$)|\.\.\.(?=[ \t\r]*$))/gm;

/**
 * Splits a file at its document markers. YAML allows no marker at the start of a line inside a value, so an invalid
 * document cannot include its neighbours. Documents with only blank lines, comments and directives are left out. Stops
 * after `max` documents.
 */
export function splitDocuments(text: string, max: number): DocumentText[] {
  const documents: DocumentText[] = [];
  let start = 0;
  marker.lastIndex = 0;
  for (let match = marker.exec(text); match !== null && documents.length <= max; match = marker.exec(text)) {
    addUnlessEmpty(documents, text, start, match.index);
    start = match.index + match[0].length;
  }
  if (documents.length <= max) addUnlessEmpty(documents, text, start, text.length);
  return documents;
}

function addUnlessEmpty(documents: DocumentText[], text: string, start: number, end: number): void {
  const part = text.slice(start, end);
  if (hasContent(part)) documents.push({ text: part, offset: start });
}

function hasContent(text: string): boolean {
  let lineStart = 0;
  while (lineStart < text.length) {
    const newline = text.indexOf('\n', lineStart);
    const lineEnd = newline === -1 ? text.length : newline;
    const first = text.slice(lineStart, Math.min(lineEnd, lineStart + 4096)).trimStart()[0];
    if (first !== undefined && first !== '#' && first !== '%') return true;
    lineStart = lineEnd + 1;
  }
  return false;
}
