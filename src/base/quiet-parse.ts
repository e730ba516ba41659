import { parse, YAMLParseError } from 'yaml';

/**
 * The error of a text that cannot be parsed. Its message contains the position and nothing of the text, which may be
 * secret, because errors are logged.
 */
export class UnreadableText extends Error {}

/** Parses JSON like JSON.parse, whose own errors quote the text. Throws UnreadableText. */
export function parseJsonQuietly(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const place = / at position \d+/.exec(error instanceof Error ? error.message : '')?.[0] ?? '';
    throw new UnreadableText(text.trim() === '' ? 'it is empty, not JSON' : `it is not JSON${place}`);
  }
}

/** Parses one YAML document. Aliases are allowed unless they grow exponentially. Throws UnreadableText. */
export function parseYamlQuietly(
  text: string,
  { maxAliasCount = 100 }: { readonly maxAliasCount?: number } = {},
): unknown {
  try {
    return parse(text, { maxAliasCount, logLevel: 'error' }) as unknown;
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw new UnreadableText('it is not YAML');
    const [at] = error.linePos ?? [];
    throw new UnreadableText(
      `it is not YAML: ${error.code}${at === undefined ? '' : ` at line ${at.line}, column ${at.col}`}`,
    );
  }
}
