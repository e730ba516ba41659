import '../../../base/exact-json.ts';
import { goQuote } from '../../../api/go-quote.ts';
import { measureJson } from '../../../api/measure-json.ts';
import { objectLimits } from '../../../api/object-limits.ts';
import { parseYaml } from '../../../api/manifest/parse-yaml.ts';
import { toPlainValue } from '../../../api/manifest/yaml-value.ts';

/** The result of converting YAML text to JSON. */
export type YamlBody =
  | { readonly json: string; readonly duplicates: readonly string[] }
  | { readonly error: string }
  /** The document is larger than any valid body. */
  | { readonly tooMany: true };

/**
 * The limit of lexemes, which bounds time and memory of the YAML parser: 100,000 take about a fifth of a second. The
 * maximum number of values of a body needs this many.
 */
const MAX_LEXEMES = 200_000;
const MAX_ALIAS_VALUES = 20_000;

/** Reads the value of one document, and its duplicate keys. */
export function readYaml(text: string): YamlBody {
  const { document, errors } = parseYaml(text, MAX_LEXEMES);
  const [error] = errors;
  if (error !== undefined || document === undefined)
    return {
      error: error === undefined ? 'no YAML document' : `yaml: line ${lineAt(text, error.offset)}: ${error.message}`,
    };
  const { value, problems } = toPlainValue(document, {
    maxDepth: objectLimits.depth,
    maxAliasValues: MAX_ALIAS_VALUES,
  });
  const unusable = problems.find((problem) => !problem.duplicate);
  if (unusable !== undefined) return { error: `yaml: line ${lineAt(text, unusable.offset)}: ${unusable.message}` };
  const json = JSON.stringify(value);
  if (measureJson(Buffer.from(json), objectLimits.bodyValues).values > objectLimits.bodyValues)
    return { tooMany: true };
  return {
    json,
    duplicates: problems
      .slice(0, 100)
      .map(
        (problem) =>
          `line ${lineAt(text, problem.valueOffset ?? problem.offset)}: key ${goQuote(String(problem.path.at(-1) ?? ''))} already set in map`,
      ),
  };
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
