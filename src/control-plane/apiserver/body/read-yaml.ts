import { parseYaml } from '../../../api/manifest/parse-yaml.ts';
import { toPlainValue } from '../../../api/manifest/yaml-value.ts';
import type { WriteBody } from '../../registry/registry.ts';

/** Bounds the time of the YAML parser, which grows with these: 100,000 take about a fifth of a second. */
const maxLexemes = 200_000;
const maxAliasValues = 20_000;

/** The value of one document, and the keys that stand in it twice. Throws what `refuse` makes. */
export function readYaml(
  text: string,
  { refuse, maxDepth }: { readonly refuse: (why: string) => Error; readonly maxDepth: number },
): WriteBody {
  const { document, errors } = parseYaml(text, maxLexemes);
  const [error] = errors;
  if (error !== undefined || document === undefined)
    throw refuse(
      error === undefined ? 'no YAML document' : `yaml: line ${lineAt(text, error.offset)}: ${error.message}`,
    );
  const { value, problems } = toPlainValue(document, { maxDepth, maxAliasValues });
  const unusable = problems.find((problem) => !problem.duplicate);
  if (unusable !== undefined) throw refuse(`yaml: line ${lineAt(text, unusable.offset)}: ${unusable.message}`);
  return {
    value: withoutBigints(value),
    duplicates: problems
      .slice(0, 100)
      .map(
        (problem) =>
          `line ${lineAt(text, problem.offset)}: key ${JSON.stringify(String(problem.path.at(-1) ?? ''))} already set in map`,
      ),
  };
}

/** Whole numbers beyond 2^53 become the nearest double, as in JSON. */
function withoutBigints(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutBigints);
  const copy: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value))
    Object.defineProperty(copy, key, {
      value: withoutBigints(each),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  return copy;
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
