import { parseExactJson } from '../../../base/exact-json.ts';
import { scanJson } from '../../../api/scan-json.ts';
import type { JsonScan } from '../../../api/scan-json.ts';
import type { YamlBody } from '../body/read-yaml.ts';
import { writeYaml, yamlItem } from '../output/write-yaml.ts';

/** Operations on whole texts, for either thread. */
export interface TextTasks {
  readYaml(text: string): Promise<YamlBody>;
  scanJson(text: string): Promise<JsonScan>;
  writeYaml(json: string): Promise<string>;
  /** Writes a value as one item of a sequence. */
  writeYamlItem(json: string): Promise<string>;
  indent(json: string): Promise<string>;
}

/** Runs the operations in this thread. */
export const textTasks: TextTasks = {
  readYaml: async (text) => {
    // It is loaded on demand, because the YAML parser uses megabytes that most servers never need.
    const { readYaml } = await import('../body/read-yaml.ts');
    return readYaml(text);
  },
  scanJson: async (text) => scanJson(text),
  writeYaml: async (json) => writeYaml(parseExactJson(json)),
  writeYamlItem: async (json) => yamlItem(parseExactJson(json)),
  indent: async (json) => JSON.stringify(parseExactJson(json), undefined, 2),
};
