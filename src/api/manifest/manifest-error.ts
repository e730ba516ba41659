/** A problem in a manifest and its position. Lines and columns start at 1. */
export interface ManifestError {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The field, in upstream's notation; empty if the problem is not about a field. */
  readonly path: string;
  readonly message: string;
}

/** `web.yaml:12:7: spec.hostNetwork: expected true or false, found the string "yes"`. */
export function formatManifestError(error: ManifestError): string {
  const field = error.path === '' || error.message.includes(JSON.stringify(error.path)) ? '' : `${error.path}: `;
  return `${error.file}:${error.line}:${error.column}: ${field}${error.message}`;
}

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Lines are counted only when needed, because most files have no errors. */
export function positionAt(text: string, offset: number): Position {
  let line = 1;
  let lineStart = 0;
  const end = Math.min(offset, text.length);
  for (let newline = text.indexOf('\n'); newline !== -1 && newline < end; newline = text.indexOf('\n', newline + 1)) {
    line++;
    lineStart = newline + 1;
  }
  return { line, column: end - lineStart + 1 };
}
