import { readFileSync } from 'node:fs';
import { KubeletError } from '../../../base/errors.ts';

const MAX_LEXEMES = 100_000;
const limits = { maxDepth: 64, maxAliasValues: 10_000 };

/** Parses the text of a file that a flag names. Throws `Invalid` with both names. */
export type YamlReader = (file: string, text: string) => unknown;

/** Loads the YAML reader, only when there is a YAML file. */
export async function loadYamlReader(flag: string, duplicates: 'allowed' | 'refused'): Promise<YamlReader> {
  const [{ parseYaml }, { toPlainValue }] = await Promise.all([
    import('../../../api/manifest/parse-yaml.ts'),
    import('../../../api/manifest/yaml-value.ts'),
  ]);
  return (file, text) => {
    const { document, errors } = parseYaml(text, MAX_LEXEMES);
    const [error] = errors;
    if (document === undefined || error !== undefined)
      throw new KubeletError('Invalid', `--${flag} ${file} is not YAML: ${error?.message ?? 'it is empty'}`);
    const { value, problems } = toPlainValue(document, limits);
    const unusable = problems.find((problem) => !problem.duplicate || duplicates === 'refused');
    if (unusable !== undefined) throw new KubeletError('Invalid', `--${flag} ${file}: ${unusable.message}`);
    return value;
  };
}

/** Reads a YAML file that a flag names. Throws `Invalid` with the flag. */
export async function readYamlFile(flag: string, file: string, duplicates: 'allowed' | 'refused'): Promise<unknown> {
  const read = await loadYamlReader(flag, duplicates);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new KubeletError('Invalid', `--${flag} ${file} cannot be read`, { cause: error });
  }
  return read(file, text);
}
