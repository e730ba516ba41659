import assert from 'node:assert/strict';
import type { KubectlResult, TestCluster } from './cluster.ts';

/** Variables beside those that every kubectl gets. */
type Environment = Readonly<Record<string, string>>;

/** kubectl in a namespace of its own, typed as one would; so that tests can share a cluster and run at once. */
export interface ScopedKubectl {
  readonly namespace: string;
  /** Standard output without the newline at its end; fails when kubectl does. */
  run(words: string | readonly string[], input?: string, environment?: Environment): Promise<string>;
  /** What kubectl says when it fails; fails when it does not. */
  refused(words: string | readonly string[], input?: string, environment?: Environment): Promise<string>;
  try(words: string | readonly string[], input?: string, environment?: Environment): Promise<KubectlResult>;
}

/** Words of a string are split at spaces: what has spaces inside goes in a list. */
const split = (words: string | readonly string[]): readonly string[] =>
  typeof words === 'string' ? words.split(' ') : words;

export async function scopedKubectl(cluster: TestCluster, namespace: string): Promise<ScopedKubectl> {
  await cluster.createNamespace(namespace);
  const tried: ScopedKubectl['try'] = (words, input, environment) =>
    cluster.tryKubectl([`--namespace=${namespace}`, ...split(words)], input, environment);
  return {
    namespace,
    try: tried,
    run: async (words, input, environment) =>
      (await cluster.kubectl([`--namespace=${namespace}`, ...split(words)], input, environment)).trimEnd(),
    refused: async (words, input, environment) => {
      const { code, stdout, stderr } = await tried(words, input, environment);
      assert.notEqual(code, 0, `kubectl ${split(words).join(' ')} was not refused: ${stdout}`);
      return stderr.trimEnd();
    },
  };
}
