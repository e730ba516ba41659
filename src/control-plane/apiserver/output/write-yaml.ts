/** YAML as Go's sigs.k8s.io/yaml writes it: keys in order, no folded lines. The library is loaded by the first who asks for YAML. */
export async function writeYaml(value: unknown): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(value, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' });
}
