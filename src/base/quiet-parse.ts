import { parse, YAMLParseError } from 'yaml';

/**
 * The error of a text that is not what it should be. Its message tells where, and quotes nothing of the text: that may
 * be a secret, and errors go into logs.
 */
export class UnreadableText extends Error {}

/** As JSON.parse, whose own errors quote what they stumble over. Throws UnreadableText. */
export function parseJsonQuietly(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const place = / at position \d+/.exec(error instanceof Error ? error.message : '')?.[0] ?? '';
    throw new UnreadableText(text.trim() === '' ? 'it is empty, not JSON' : `it is not JSON${place}`);
  }
}

/** One YAML document. Aliases count as long as they do not multiply. Throws UnreadableText. */
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
